"""Rows, tables and sentences of results that are known."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from robust_bc.report import Page, page_as_html
from robust_bc_benchmarks.control.cells import Key
from robust_bc_benchmarks.control.page import make_page
from robust_bc_benchmarks.control.rows import (
    SHARE,
    ControlRow,
    Results,
    cells_as_csv,
    difference,
    make_rows,
    rows_as_csv,
    share_of,
)
from robust_bc_benchmarks.control.sentences import hero, in_sentences, verdicts
from robust_bc_benchmarks.control.tables import DRIVING, MUJOCO, grids, percent, tables_as_markdown, without_paper
from tests.robust_bc_benchmarks.control.fakes import driving, results

SIX = tuple(range(6))


def made(key: Key) -> float | None:
    """Every method loses with the rate; seeds differ by 10."""
    best = {"expert": 1100.0, "oracle": 900.0, "mlp": 900.0, "choicenet": 800.0, "mdn": 500.0}[key.method]
    lost = 0.0 if key.method == "oracle" else 1000 * key.rate * (1 if key.method == "choicenet" else 2)
    return best - lost + 10 * key.seed


def found(rows: list[ControlRow], how: str, rate: float, method: str, metric: str) -> ControlRow:
    (row,) = [row for row in rows if (row.how, row.rate, row.method, row.metric) == (how, rate, method, metric)]
    return row


def test_rows_are_means_over_seeds() -> None:
    rows = make_rows(results(made))
    row = found(rows, "flip", 0.3, "choicenet", "return")
    assert (row.mean, row.worst, row.low, row.high) == (505, 500, 500, 510)
    assert (row.seeds, row.asked, row.episodes, row.hits) == (2, 2, 4, None)
    # At rate 0 all ways show the same cells, and the oracle is the mlp.
    for how in ("flip", "uniform"):
        for method in ("oracle", "mlp"):
            assert found(rows, how, 0.0, method, "return").mean == 905
        assert found(rows, how, 0.3, "oracle", "return").mean == 905
        assert found(rows, how, 0.3, "expert", "return").mean == 1100
    assert found(rows, "flip", 0.3, "mlp", "x_velocity").mean == 2


def test_the_share_of_the_oracle_is_the_closed_form() -> None:
    mine, oracle, random = np.array([100.0, 300.0, 500.0]), np.array([500.0, 700.0, 600.0]), -100.0
    share = share_of(mine, oracle, random)
    assert share is not None
    assert share[0] == pytest.approx((300 + 100) / (600 + 100))
    assert share[1] is not None
    assert share[2] is not None
    # Every resample lies between the extremes of the pairs, and the same pairs give the same interval.
    assert 200 / 800 <= share[1] < share[0] < share[2] <= 1.0
    assert share_of(mine, oracle, random) == share
    assert share_of(oracle, oracle, random) == (1.0, 1.0, 1.0)
    assert share_of(np.full(3, random), oracle, random) == (0.0, 0.0, 0.0)
    proportional = share_of(0.5 * oracle, oracle, 0.0)
    assert proportional == pytest.approx((0.5, 0.5, 0.5))  # pairs are drawn together, so nothing is left to chance
    assert share_of(mine, np.full(3, -100.0), random) is None
    assert share_of(mine, np.array([-500.0, 700.0, 600.0]), random) == (400 / (800 / 3 + 100), None, None)
    rows = make_rows(results(made))
    assert found(rows, "flip", 0.3, "choicenet", SHARE).mean == pytest.approx((505 + 100) / (905 + 100))
    assert not [row for row in rows if row.metric == SHARE and row.method in ("oracle", "expert")]


def test_differences_are_paired() -> None:
    noise = np.random.default_rng(0).normal(scale=1000, size=8)
    mean, low, high = difference(noise + 5, noise)
    assert (mean, low, high) == pytest.approx((5, 5, 5))


def test_a_failed_cell_is_shown_and_counts_in_no_mean() -> None:
    got = results(
        lambda key: None if (key.method, key.seed, key.rate) == ("mdn", 1, 0.3) else made(key), methods=("mdn",)
    )
    rows = make_rows(got)
    row = found(rows, "flip", 0.3, "mdn", "return")
    assert (row.mean, row.seeds, row.asked) == (-100, 1, 2)
    assert found(rows, "flip", 0.3, "mdn", SHARE).mean == 0  # of the oracle's same seed
    assert "1 of 2 seeds" in tables_as_markdown(rows, MUJOCO)
    assert got.failures() == [
        "halfcheetah flip 30% mdn seed 1: training diverged.",
        "halfcheetah uniform 30% mdn seed 1: training diverged.",
    ]
    lines = list(csv.DictReader(io.StringIO(cells_as_csv(got))))
    assert len(lines) == len(got.cells)
    assert [line["return"] for line in lines if line["failure"]] == ["", ""]


def test_all_seeds_may_fail() -> None:
    got = results(lambda key: None if key.method == "mdn" else made(key), methods=("mdn", "mlp"))
    rows = make_rows(got)
    assert not [row for row in rows if row.method == "mdn"]
    assert "mlp" in tables_as_markdown(rows, MUJOCO)
    assert page_as_html(page(got, rows))


def test_markdown_and_csv() -> None:
    rows = make_rows(results(made))
    text = tables_as_markdown(rows, MUJOCO)
    assert "## halfcheetah, flip" in text
    assert "| method | 0 % | 30 % |" in text
    assert "| choicenet | 805 [800 to 810, worst 800] | **505** [500 to 510, worst 500] |" in text
    assert "| expert | 1,100 [1,099 to 1,101] | 1,100 [1,099 to 1,101] |" in text
    assert "paper" not in text
    back = list(csv.DictReader(io.StringIO(rows_as_csv(rows))))
    assert len(back) == len(rows)
    assert float(back[0]["mean"]) == rows[0].mean
    assert [grid.as_lines()[0] for grid in grids(rows, "halfcheetah", "flip", MUJOCO)] == [
        ["choicenet", "805 (800)", "505 (500)"],
        ["choicenet", "90 % (90 %)", "60 % (60 %)"],
    ]


def test_the_papers_row() -> None:
    rows = make_rows(results(made, hows=("rollout",), rates=(0.0, 0.1, 0.2, 0.3)))
    assert "| paper's ChoiceNet | – | 2,068 | 1,499 | 2,036 |" in tables_as_markdown(rows, MUJOCO)


def test_rates_have_counts_and_an_interval_over_seeds() -> None:
    got = driving(lambda key: key.seed if key.method == "mlp" and key.rate else 0, hows=("rollout",), seeds=(0, 1, 2))
    row = found(make_rows(got), "rollout", 0.3, "mlp", "collision")
    assert (row.hits, row.episodes, row.worst) == (3, 30, 0.2)
    assert (row.mean, row.low, row.high) == pytest.approx((0.1, 0.0, 0.2))  # seeds are what is drawn, not episodes
    text = tables_as_markdown(make_rows(got), DRIVING)
    assert "10.00 % [0.00 % to 20.00 %, worst 20.00 %, 3 of 30]" in text
    assert "| paper's ChoiceNet | 0.314 | 0.368 |" in text


def test_no_collision_at_all_is_no_proof() -> None:
    got = driving(lambda key: 0, hows=("rollout",), seeds=(0, 1, 2))
    rows = make_rows(got)
    row, expert = (found(rows, "rollout", 0.3, method, "collision") for method in ("mlp", "expert"))
    # Wilson's interval without a hit ends at z² / (n + z²).
    assert (row.mean, row.low, row.high) == pytest.approx((0, 0, 3.8415 / 33.8415), abs=1e-4)
    assert (expert.low, expert.high) == pytest.approx((0, 3.8415 / 13.8415), abs=1e-4)
    assert "interval is Wilson's over these episodes" in tables_as_markdown(rows, DRIVING)
    alone = found(make_rows(driving(lambda key: 0, seeds=(0,))), "flip", 0.3, "mlp", "collision")
    assert (alone.low, alone.high) == (0, 0)  # one seed has no interval, and none is shown


def test_another_setting_is_not_compared_with_the_paper() -> None:
    got = results(lambda key: 2000.0, hows=("rollout",), rates=(0.2, 0.3))
    rows = make_rows(got)
    for shown, expected in ((MUJOCO, True), (without_paper(MUJOCO), False)):
        assert ("paper" in tables_as_markdown(rows, shown)) is expected
        assert ("paper" in " ".join(in_sentences(got, rows, shown))) is expected


def test_sentences_say_who_is_ahead_and_who_is_not() -> None:
    got = results(made, hows=("flip",), rates=(0.0, 0.3), methods=("choicenet", "mdn"), seeds=SIX)
    corrupt, clean = verdicts(got, "return")
    assert (corrupt.place, corrupt.ahead, corrupt.behind) == ("halfcheetah flip 30 %", True, ())
    assert (clean.place, clean.rate) == ("halfcheetah clean", 0)
    said = " ".join(in_sentences(got, make_rows(got), MUJOCO))
    assert "in 1 of 1 places with corrupt pairs (halfcheetah flip 30 %)" in said
    assert "nowhere worse" in said
    lost = results(lambda key: -(made(key) or 0), hows=("flip",), methods=("choicenet", "mdn"), seeds=SIX)
    assert [(verdict.ahead, verdict.behind) for verdict in verdicts(lost, "return")] == [(False, ("mdn",))] * 2
    assert "worse than another beyond that interval in 1 (halfcheetah flip 30 % (mdn))" in " ".join(
        in_sentences(lost, make_rows(lost), MUJOCO)
    )
    crashes = driving(lambda key: 5 if key.method == "mdn" else 0, methods=("choicenet", "mdn"), seeds=SIX)
    assert all(verdict.ahead for verdict in verdicts(crashes, "collision"))  # fewer collisions are better
    few = results(made)
    assert "Nobody is said to be ahead by return" in in_sentences(few, make_rows(few), MUJOCO)[0]
    none = results(made, methods=("mlp",))
    assert "nothing is said about them" in in_sentences(none, make_rows(none), MUJOCO)[0]


def test_whoever_loses_on_clean_pairs_is_told() -> None:
    hows, methods = ("flip", "uniform"), ("choicenet+clean", "mlp", "mdn")
    for worse, said in (
        (
            {"choicenet+clean"},
            "With clean pairs it is worse than another, beyond that interval, in 1 of 1 tasks"
            " (halfcheetah clean (mlp, mdn)).",
        ),
        (
            {"choicenet+clean", "mdn"},
            "With clean pairs it is worse than another, beyond that interval, in 1 of 1 tasks"
            " (halfcheetah clean (mlp)).",
        ),
        ({"mlp"}, "With clean pairs it is worse than another, beyond that interval, in 0 of 1 tasks."),
    ):

        def value(key: Key, worse: set[str] = worse) -> float:
            return key.seed + (5.0 if key.method in worse else 9.0)

        got = results(value, hows=hows, rates=(0.0, 0.3), methods=methods, seeds=SIX)
        assert said in in_sentences(got, make_rows(got), MUJOCO)
        assert "clean" not in in_sentences(got, make_rows(got), MUJOCO)[0].split("in ", 1)[1]


def test_our_methods_are_no_rivals_of_each_other() -> None:
    both = ("choicenet", "choicenet+clean", "choicenet+restarts", "mdn")
    got = results(lambda key: 90.0 if key.method in both[:3] else made(key), hows=("flip",), methods=both, seeds=SIX)
    said = " ".join(in_sentences(got, make_rows(got), MUJOCO))
    assert hero(got) == "choicenet+clean"
    assert all(not set(both[:3]) & set(verdict.behind) for verdict in verdicts(got, "return"))
    assert "choicenet+clean keeps this share" in said
    assert "choicenet keeps this share" in said
    assert "Its lowest mean share" in said


def test_our_methods_are_compared_with_each_other_in_a_sentence_of_their_own() -> None:
    methods = ("choicenet", "gpr+clean", "mlp")
    for mine, said in (
        (9.0, "in 2 of 2 places (halfcheetah flip 20 %; halfcheetah flip 30 %), and worse in 0."),
        (5.0, "in 0 of 2 places, and worse in 2 (halfcheetah flip 20 %; halfcheetah flip 30 %)."),
    ):

        def value(key: Key, mine: float = mine) -> float:
            return key.seed + (mine if key.method == "gpr+clean" else 7.0)

        got = results(value, hows=("flip",), rates=(0.2, 0.3), methods=methods, seeds=SIX)
        beside = "gpr+clean is better than choicenet beyond the interval of the paired difference "
        assert beside + said in " ".join(in_sentences(got, make_rows(got), MUJOCO))


def test_the_paper_is_met_or_missed() -> None:
    got = results(lambda key: 2000.0 if key.method == "choicenet" else made(key), hows=("rollout",), rates=(0.2, 0.3))
    said = " ".join(in_sentences(got, make_rows(got), MUJOCO))
    assert "Of the paper's 2 numbers for ChoiceNet, choicenet reaches or exceeds 1 by return." in said
    assert "falls short in halfcheetah 30 %: 2,000 against 2,036." in said


def page(got: Results, rows: list[ControlRow]) -> Page:
    return make_page("title", "robust-bc benchmark mujoco", got, rows, MUJOCO, ["A sentence."], {"seeds": "2"})


def test_the_page_has_every_figure() -> None:
    got = results(made)
    text = page_as_html(page(got, make_rows(got)))
    for title in ("halfcheetah, flip", "Learning curves with 30 %", "ρ of choicenet over its data with 30 %"):
        assert title in text, title


def test_percent_is_as_a_person_writes_it() -> None:
    assert [percent(rate) for rate in (0.0, 0.1, 0.3, 0.145)] == ["0 %", "10 %", "30 %", "14.5 %"]
