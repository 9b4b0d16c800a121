"""The page of an audit says what the numbers say, for whole episodes and for single pairs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from robust_bc.auditing.page import BINS, CURVES, ROWS, audit_page, course, histogram, ranking
from robust_bc.auditing.results import Audit, Estimate
from robust_bc.auditing.tables import episode_table, pair_table
from robust_bc.auditing.truth import compare
from robust_bc.report import Group, Lines, Page, Table, page_as_html
from robust_bc.report.blocks import walk
from tests.auditing.audits import make_audit


def many_episodes(count: int = 60, length: int = 25, **more: Any) -> Audit:
    """Every third episode is bad, and among those a later one is worse."""
    levels = np.where(np.arange(count) % 3 == 0, 0.3 - 0.004 * np.arange(count), 0.9)
    return make_audit(np.repeat(levels, length), np.repeat(np.arange(count), length), **more)


def titles(page: Page) -> list[str]:
    return [getattr(block, "title", "") for block in walk(page.blocks)]


def test_whole_episodes_are_ranked_with_their_course() -> None:
    audit = many_episodes(sources=["bob" if e % 3 == 0 else "ann" for e in range(60)])
    page = audit_page(audit, {"command": "robust-bc audit"})
    assert page.lead.startswith("20 of 60 episodes and 500 of 1500 pairs are suspect; an estimated ")
    assert titles(page)[:4] == [
        "Sources",
        "Episodes from the worst to the best",
        "Episodes, worst first",
        "Worst moments",
    ]
    tables = {block.title: block for block in page.blocks if isinstance(block, Table)}
    assert [row[0].text for row in tables["Sources"].rows] == ["bob", "ann"]
    listed = tables["Episodes, worst first"]
    assert [row[0].text for row in listed.rows[:2]] == ["57", "54"]
    assert len(listed.rows) == ROWS
    assert "10 more episodes are better than these, none of them suspect" in listed.note
    assert [row[0].text for row in tables["Worst moments"].rows[:4]] == ["57", "57", "54", "54"]
    (curves,) = (block for block in page.blocks if isinstance(block, Group))
    assert sum(isinstance(block, Lines) for block in curves.blocks) == CURVES
    html = page_as_html(page)
    assert "Episode 57 of bob" in html
    assert not re.search(r"\bnan\b|None|inf\b", re.sub(r"<(script|style).*?</\1>", "", html, flags=re.S))


def test_few_episodes_are_all_there() -> None:
    table = episode_table(many_episodes(4), ROWS)
    assert len(table.rows) == 4
    assert "more episodes" not in table.note


def test_dots_have_their_rank_and_interval() -> None:
    audit = many_episodes(6, sources=None)
    chart = ranking(audit)
    assert [series.name for series in chart.series] == ["not suspect", "suspect"]
    drawn = [(point.x, point.y) for series in chart.series for point in series.points if point.y is not None]
    assert sorted(drawn) == [(rank, row.quality.value) for rank, row in enumerate(audit.episode_table(), start=1)]


def test_a_long_course_is_drawn_in_means() -> None:
    quality = np.linspace(0, 1, 1001)
    audit = make_audit(quality, np.zeros(1001, np.int64))
    chart = course(audit, audit.episode_table()[0])
    line = chart.series[0]
    assert len(line.x) == 167  # of 6 steps each, the last of 5
    assert line.y[0] == np.mean(quality[:6])
    assert np.isclose(line.y[-1] or 0, np.mean(quality[996:]))
    assert "mean of 6 steps" in chart.note
    short = make_audit(quality[:150], np.zeros(150, np.int64))
    assert list(course(short, short.episode_table()[0]).series[0].y) == quality[:150].tolist()


def test_single_pairs_have_a_histogram_and_no_course() -> None:
    quality = np.random.default_rng(0).permutation(np.linspace(0.01, 0.99, 500))
    audit = make_audit(quality, rate=Estimate(0.5, 0.45, 0.55))
    page = audit_page(audit, {}, truth=compare(audit, quality < 0.3))
    assert titles(page) == ["How well the audit did", "How the quality is spread", "Pairs, worst first"]
    assert page.lead.startswith("250 of 500 pairs are suspect; an estimated 50 %")
    table = pair_table(audit, ROWS)
    assert table.rows[0][0].text == str(int(np.argmin(quality)))
    assert "450 more pairs" in table.note
    words = page_as_html(page)
    assert "episode" not in re.sub(r"<(script|style).*?</\1>", "", words, flags=re.S)


def test_a_histogram_counts_every_pair_once() -> None:
    quality = np.array([0.0, 0.49, 0.5, 0.51, 1.0])
    good, suspect = histogram(quality).series
    # An outline: up at its left end, flat over each bin, down at its right end.
    assert (sum(y or 0 for y in suspect.y) / 2, sum(y or 0 for y in good.y) / 2) == (2, 3)
    assert (suspect.x[0], suspect.x[-1], good.x[0], good.x[-1]) == (0, 0.5, 0.5, 1)
    assert len(suspect.x) + len(good.x) == 2 * BINS + 4
