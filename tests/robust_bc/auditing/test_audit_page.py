"""The page of an audit says what the numbers say, for whole episodes and for single pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robust_bc.auditing.audit import Audit
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.showing.page import (
    ROWS,
    WINDOWS,
    agreement_matrix,
    audit_page,
    histogram,
    ranking,
    window_chart,
)
from robust_bc.auditing.showing.tables import episode_table, finding_table, pair_table
from robust_bc.auditing.showing.windows import worst_windows
from robust_bc.auditing.truth import compare
from robust_bc.report import Command, Page, Table, page_as_html
from robust_bc.report.blocks import walk
from tests.robust_bc.auditing.audits import agreement_of, make_audit


def many_episodes(count: int = 60, length: int = 25, **more: Any) -> Audit:
    """Every third episode is bad, and among those a later one is worse."""
    places = np.arange(count)
    levels = np.where(places % 3 == 0, 0.04 - 0.0005 * places, 0.99)
    agreement = agreement_of((places % 3 == 0).tolist())
    return make_audit(np.repeat(levels, length), np.repeat(places, length), **{"agreement": agreement, **more})


def titles(page: Page) -> list[str]:
    return [title for block in walk(page.blocks) if (title := getattr(block, "title", ""))]


def test_the_page_opens_with_the_verdict_and_what_to_run() -> None:
    audit = many_episodes(sources=["bob" if e % 3 == 0 else "ann" for e in range(60)])
    page = audit_page(audit, command="robust-bc audit", truth=compare(audit, audit.episodes % 3 == 0))
    assert page.lead.startswith("20 of 60 episodes are bad")
    assert page.tone == "bad"
    assert [type(block) for block in page.blocks[1:3]] == [Command, Command]
    assert [title for title in titles(page) if not title.startswith("Episode ")] == [
        "What to do next",
        "How well the audit did",
        "Who agrees with whom",
        "Disagreement of the episodes",
        "How far each episode is from the majority",
        "Episodes, worst first",
        "Worst windows",
        "Sources",
    ]
    assert sum(title.startswith("Episode ") for title in titles(page)) == WINDOWS
    html = page_as_html(page)
    assert html.count('class="verdict bad"') == 20
    assert html.count('class="marked"') == WINDOWS


def test_an_audit_that_cannot_tell_shows_no_windows() -> None:
    half = make_audit(np.full(100, 0.5), np.repeat(np.arange(4), 25), conflict=np.zeros(100), undecided="a tie.")
    page = audit_page(half)
    assert (page.lead, page.tone) == ("The audit cannot tell good from bad: a tie.", "unsure")
    assert titles(page) == ["What to do next", "Episodes, worst first"]
    assert audit_page(make_audit(np.ones(100), np.repeat(np.arange(4), 25))).tone == "good"


def test_the_matrix_is_ordered_by_groups() -> None:
    audit = many_episodes(6)
    assert audit.agreement is not None
    matrix = agreement_matrix(audit, audit.agreement)
    assert list(matrix.names) == ["1", "2", "4", "5", "0", "3"]
    assert [(group.name, group.rows) for group in matrix.groups] == [
        ("the majority: 4 episodes", 4),
        ("the others: 2 episodes", 2),
    ]
    assert list(matrix.suspects) == [False] * 4 + [True] * 2
    values = [list(row) for row in matrix.values]
    assert values[4][5] == audit.agreement.disagreement[0, 3]
    assert all(values[place][place] is None for place in range(6))
    assert {values[row][column] for row in range(4) for column in range(4) if row != column} == {0.2}


def test_episodes_are_ranked_and_the_rest_is_counted() -> None:
    audit = many_episodes(60)
    table = episode_table(audit, 15)
    assert [row[0].text for row in table.rows[:2]] == ["57", "54"]
    assert {row[1].text for row in table.rows} == {"bad"}
    assert "45 more episodes not shown, 5 of them bad" in table.note
    assert "not shown" not in episode_table(audit, 60).note
    drawn = {series.name: list(series.x) for series in ranking(audit).series}
    assert drawn == {"clean": list(range(21, 61)), "bad": list(range(1, 21))}


def test_a_window_is_drawn_with_what_was_expected() -> None:
    audit = many_episodes(6)
    (window,) = worst_windows(audit, 1)
    chart = window_chart(audit, window)
    shown, expected = chart.series
    assert (shown.name, expected.name, chart.y_label) == ("shown", "expected", "action 1")
    rows = audit.grouping.pairs_of(window.episode)[int(shown.x[0]) : int(shown.x[-1]) + 1]
    assert shown.y == audit.shown[rows, 1].tolist()
    assert expected.y == audit.expected[rows, 1].tolist()
    assert chart.marked == (window.first, window.last)
    assert shown.x[0] <= window.first < window.last <= shown.x[-1]


def test_bad_pairs_of_good_episodes_have_windows_of_their_own() -> None:
    clean = np.repeat([0.0, 1.0, 1.0, 1.0], 25)
    clean[60:65] = 0.0
    audit = make_audit(clean, np.repeat(np.arange(4), 25), episode_clean=np.array([0.0, 1.0, 1.0, 1.0]))
    found = titles(audit_page(audit))
    first, second = found.index("Worst windows"), found.index("Worst windows of other episodes")
    assert all(title.startswith("Episode 0,") for title in found[first + 1 : second])
    assert found[second + 1].startswith("Episode 2,")


def test_findings_tell_where_they_are() -> None:
    findings = [
        Finding("saturation", None, None, "a third of action 1 is on its bound", False),
        Finding("not-a-number", 2, 7, "observation 3 is no number", True),
    ]
    table = finding_table(many_episodes(6, findings=tuple(findings)), 1)
    assert [cell.text for cell in table.rows[0]] == ["not-a-number", "2", "7", "bad", "observation 3 is no number"]
    assert "1 more finding not shown" in table.note
    whole = finding_table(many_episodes(6, findings=tuple(findings)), 9)
    assert [cell.text for cell in whole.rows[1][:4]] == ["saturation", "all", "all", "look at it"]


def test_single_pairs_have_a_histogram_and_their_actions() -> None:
    clean = np.r_[np.full(30, 0.0), np.full(10, 0.5), np.full(60, 1.0)]
    audit = make_audit(clean, np.arange(100)[::-1])
    page = audit_page(audit)
    assert titles(page) == ["What to do next", "Probability of being clean", "Pairs, worst first"]
    counts = {series.name: max(y for y in series.y if y is not None) for series in histogram(audit).series}
    assert counts == {"clean": 60, "bad": 30, "cannot tell": 10}
    table = pair_table(audit, ROWS)
    assert isinstance(table, Table)
    names = [column.name for column in table.columns]
    for row in table.rows[:5]:
        pair, action = (int(row[names.index(name)].text) for name in ("pair", "action"))
        assert clean[pair] == 0.0
        assert action == 1
        assert row[names.index("shown")].value == audit.shown[pair, 1]
        assert row[names.index("expected")].value == audit.expected[pair, 1]


@pytest.mark.parametrize("episodes", [[0, 0], [0, 1]])
def test_the_smallest_audit_has_a_page(episodes: list[int]) -> None:
    audit = make_audit([0.5, 0.5], episodes, undecided="there are 2 pairs only.", dataset=None)
    assert "cannot tell" in page_as_html(audit_page(audit))
