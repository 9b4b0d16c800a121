"""Rows, tables, sentences and figures of the audit benchmark, from cells whose numbers are known."""

from __future__ import annotations

from typing import Any

import pytest

from robust_bc.benchmark import detectors
from robust_bc.benchmark.audit_cells import EPISODE_AUROC, PAIR_AUROC
from robust_bc.benchmark.audit_figure import audit_figure, shown_rate
from robust_bc.benchmark.audit_headlines import headlines
from robust_bc.benchmark.audit_page import make_page
from robust_bc.benchmark.audit_rows import AuditResults, cells_as_csv, make_rows, rate_rows
from robust_bc.benchmark.audit_tables import all_tables, detection_tables, rate_table, tables_as_markdown
from robust_bc.benchmark.control_cells import Key
from robust_bc.benchmark.detectors import AUDIT
from robust_bc.report import page_as_html
from tests.benchmark_audit.fakes import DETECTORS, estimated, results


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors, "DETECTORS", DETECTORS)


def numbers(key: Key) -> dict[str, float | None]:
    """The audit is right in flip and wrong in uniform; the blind one knows nothing but is better there."""
    auroc = None if key.rate == 0 else {"flip": 0.96, "uniform": 0.70}[key.how] + 0.02 * key.seed
    if key.method != AUDIT:
        return {PAIR_AUROC: None if auroc is None else 0.8, "true_rate": key.rate}
    error = 0.06 if key.how == "uniform" and key.seed else 0.01
    return {**estimated(key.rate, error, auroc), EPISODE_AUROC: None if auroc is None else 1.0}


def text(found: AuditResults) -> str:
    return " ".join(headlines(found, make_rows(found)))


def test_rows_over_seeds() -> None:
    rows = make_rows(results(numbers, train=(0.3,)))
    found = {(row.how, row.rate, row.method, row.metric): row for row in rows}
    row = found["flip", 0.3, AUDIT, PAIR_AUROC]
    assert [row.mean, row.worst, row.seeds, row.asked] == pytest.approx([0.97, 0.96, 2, 2])
    assert row.low is not None
    assert row.high is not None
    assert 0.96 <= row.low <= row.mean <= row.high <= 0.98
    assert ("clean", 0.0, AUDIT, PAIR_AUROC) not in found
    assert found["uniform", 0.3, AUDIT, "rate_error"].worst == pytest.approx(0.06)
    assert found["uniform", 0.3, AUDIT, "rate_error"].mean == pytest.approx(0.035)
    assert ("flip", 0.3, "blind", "rate_error") not in found
    share = found["flip", 0.3, "mlp-filtered", "share_of_oracle"]
    assert [share.mean, share.worst] == pytest.approx([0.91, 0.90])
    assert found["flip", 0.3, "mlp", "share_of_oracle"].mean == pytest.approx(0.4)
    assert found["flip", 0.3, "oracle", "return"].mean == 100


def test_rates_against_the_truth() -> None:
    rows = {(row.how, row.rate): row for row in rate_rows(results(numbers))}
    assert set(rows) == {("clean", 0.0), ("flip", 0.3), ("uniform", 0.3)}
    uniform = rows["uniform", 0.3]
    assert [uniform.true, uniform.estimated] == pytest.approx([0.3, 0.335])
    assert [uniform.error, uniform.largest] == pytest.approx([0.035, 0.06])
    assert (uniform.within, uniform.covered, uniform.seeds) == (1, 1, 2)
    assert uniform.width == pytest.approx(0.04)


def test_sentences_follow_the_numbers() -> None:
    said = text(results(numbers, train=(0.3,)))
    assert (
        "0.95 in finding corrupt pairs (the audit's mean over seeds) is reached in 1 of 2: halfcheetah flip (0.970,"
        in said
    )
    assert "missed in halfcheetah uniform (0.710, worst seed 0.700)" in said
    assert "0.99 in finding corrupt episodes (the audit's mean over seeds) is reached everywhere" in said
    assert "no other detector is better in 1 of 2 kinds of mixes; another is ahead in 1" in said
    assert "halfcheetah uniform 30 %: 0.710, blind 0.800" in said
    assert "within 5 points of the true one in 5 of 6 mixes; the mean error is 1.8 points, the largest 6.0" in said
    assert "(halfcheetah uniform 30 %, seed 1). It is missed in halfcheetah uniform 30 % (1)." in said
    assert "Of 2 clean datasets, 2 have an estimated rate under 5 %; the highest is 1.0 %." in said
    assert "95 % of the oracle's return, by a plain MLP on what the audit keeps, is missed everywhere" in said


def test_the_other_way_round() -> None:
    def better(key: Key) -> dict[str, float | None]:
        return {**estimated(key.rate, 0.2, 0.999 if key.rate else None), EPISODE_AUROC: 0.5 if key.rate else None}

    said = text(results(better, detectors=(AUDIT,)))
    assert "in finding corrupt episodes (the audit's mean over seeds) is missed everywhere" in said
    assert "in finding corrupt pairs (the audit's mean over seeds) is reached everywhere" in said
    assert "in 0 of 6 mixes" in said
    assert "Of 2 clean datasets, 0 have an estimated rate under 5 %; the highest is 20.0 %." in said
    assert "no other detector" not in said
    assert text(results(numbers, detectors=("blind",))).startswith("'audit' has no part")


def test_tables() -> None:
    found = results(numbers, train=(0.3,))
    rows = make_rows(found)
    pairs, *_ = detection_tables(rows, "halfcheetah", (AUDIT, "blind"))
    assert pairs.title == "AUROC of corrupt pairs"
    assert pairs.as_lines() == [
        ["flip 30 %", "0.970 (0.960)", "0.800 (0.800)"],
        ["uniform 30 %", "0.710 (0.700)", "0.800 (0.800)"],
    ]
    table = pairs.as_table()
    assert [[cell.strong for cell in row[1:]] for row in table.rows] == [[True, False], [False, True]]
    episodes = detection_tables(rows, "halfcheetah", (AUDIT, "blind"))[1].as_lines()
    assert [line[2] for line in episodes] == ["–", "–"]  # nobody asked the blind one about episodes
    markdown = tables_as_markdown(all_tables(rows, rate_rows(found), "halfcheetah", (AUDIT, "blind")))
    assert "| clean 0 % | 0.0 % | 1.0 % [1.0 % to 1.0 %] | 1.0 | 1.0 | 2 of 2 | 2 of 2 | 4.0 |" in markdown
    assert "| flip 30 % | 91 % [90 % to 92 %, worst 90 %] | 40 % [40 % to 40 %, worst 40 %] | 91 [" in markdown
    assert rate_table([], "halfcheetah") is None


def test_episode_tables_say_how_many_there_are_to_be_found() -> None:
    def few(key: Key) -> dict[str, float | None]:
        return {**numbers(key), "episodes": 9.0, "corrupt_episodes": 2.0 + key.seed}

    found = results(few)
    pairs, episodes, *_ = all_tables(make_rows(found), rate_rows(found), "halfcheetah", (AUDIT, "blind"))
    assert [row[0].note for row in pairs.rows] == ["", ""]
    assert [row[0].note for row in episodes.rows] == ["2.5 of 9 episodes"] * 2
    assert "few episodes tell little" in episodes.note
    assert "few episodes tell little" not in pairs.note


def test_a_failure_counts_in_no_mean() -> None:
    found = results(lambda key: {} if key.seed else numbers(key))
    rows = make_rows(found)
    assert {row.seeds for row in rows} == {1}
    assert len(found.failures()) == 6
    assert "halfcheetah flip 30% audit seed 1: it gave up." in found.failures()
    (first, *_) = all_tables(rows, rate_rows(found), "halfcheetah", (AUDIT,))
    assert first.rows[0][1].note == "1 of 2 seeds"
    assert cells_as_csv(found).count("it gave up.") == 6


@pytest.mark.parametrize(
    "changes", [{}, {"rates": (0.0,)}, {"rates": (0.3,), "detectors": ("blind",)}, {"seeds": (4,)}]
)
def test_pages_and_figures_of_whatever_there_is(changes: dict[str, Any]) -> None:
    found = results(numbers, **changes)
    rows, rates = make_rows(found), rate_rows(found)
    audit_figure(found, rows).canvas.draw()
    page = page_as_html(make_page("audit benchmark", "command", found, rows, rates, headlines(found, rows), {}))
    assert ("AUROC of corrupt pairs" in page) == (0.3 in found.plan.rates)
    assert ("Estimated against true rate" in page) == (AUDIT in found.plan.detectors)
    assert "knows the teacher" in page or AUDIT not in found.plan.detectors


def test_the_rate_that_is_looked_at() -> None:
    rates = {(0.0,): None, (0.0, 0.1, 0.3, 0.45): 0.3, (0.1, 0.2, 0.4): 0.2, (0.0, 0.45, 0.4): 0.4}
    assert {given: shown_rate(results(lambda key: {}, rates=given)) for given in rates} == rates
