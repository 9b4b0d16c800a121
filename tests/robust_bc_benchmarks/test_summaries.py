"""Results that are known, summed up and shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy import stats

from robust_bc.report import page_as_html, table_as_markdown
from robust_bc_benchmarks.core.cells import Cell, Key
from robust_bc_benchmarks.core.contenders import is_oracle, with_oracles
from robust_bc_benchmarks.core.plan import Plan
from robust_bc_benchmarks.core.running import Results
from robust_bc_benchmarks.core.summaries import SHARE, differences, share_interval, share_of_oracle, summarise
from robust_bc_benchmarks.showing import audit_tables
from robust_bc_benchmarks.showing.bar import bar_table
from robust_bc_benchmarks.showing.documents import Documents, assumptions
from robust_bc_benchmarks.showing.grids import DRIVING, RETURNS, WHO, WHO_SHARED, grids
from robust_bc_benchmarks.showing.run_pages import make_page
from robust_bc_envs.tasks import CARDS

SIX = tuple(range(6))


def results(
    number: Callable[[Key], dict[str, float]], task: str = "halfcheetah", seeds: tuple[int, ...] = (0, 1)
) -> Results:
    plan = Plan((task,), ("flip", "uniform"), (0.0, 0.3), ("choicenet", "mdn", "mlp"), seeds)
    asked = [(place, name, seed) for place in plan.places() for name in with_oracles(plan.methods) for seed in seeds]
    keys = dict.fromkeys(plan.key(*place, name, seed) for place, name, seed in asked)
    keys[plan.key(task, "clean", 0.0, "expert", 0)] = None
    return Results(plan, {key: Cell(key, number(key)) for key in keys})


def returns(key: Key) -> dict[str, float]:
    """Every method loses with the rate, and no oracle does; seeds differ by 10."""
    method = key.method.removesuffix("+oracle")
    best = {"expert": 1100.0, "mlp": 900.0, "choicenet": 800.0, "mdn": 500.0}[method]
    lost = 0.0 if key.method != method else 1000 * (key.rate or 0) * (1 if method == "choicenet" else 2)
    return {"return": best - lost + 10 * key.seed, "episodes": 2.0}


def row(summary: pandas.DataFrame, kind: str, rate: float, method: str, metric: str = "return") -> Any:
    place = (summary.kind == kind) & (summary.rate == rate) & (summary.method == method) & (summary.metric == metric)
    (found,) = summary[place].itertuples()
    return found


def test_means_over_seeds_in_every_place_that_shows_them() -> None:
    found = results(returns)
    summary = summarise(found.table(), found.plan.kinds, {"halfcheetah": -100.0})
    ours = row(summary, "flip", 0.3, "choicenet")
    assert (ours.mean, ours.worst, ours.low, ours.high, ours.seeds) == (505, 500, 500, 510, 2)
    for kind in ("flip", "uniform"):  # at rate 0 all kinds show the same cells, and a method is its own oracle
        assert [row(summary, kind, 0.0, method).mean for method in ("mdn+oracle", "mdn")] == [505, 505]
        assert row(summary, kind, 0.3, "mlp+oracle").mean == 905
        assert row(summary, kind, 0.3, "expert").mean == 1100
    for method, mine, oracle in (("mlp", 300, 900), ("choicenet", 500, 800)):  # each beside its own oracle
        share = row(summary, "flip", 0.3, method, SHARE)
        assert share.mean == pytest.approx((mine + 5 + 100) / (oracle + 5 + 100))
        assert share.worst == pytest.approx((mine + 100) / (oracle + 100))  # that of the same seed
    assert set(summary[summary.metric == SHARE].method) == {"choicenet", "mdn", "mlp"}


def test_who_cleans_by_itself_has_an_oracle_of_its_own_where_no_pair_is_bad() -> None:
    rows = [("auto", 8.0), ("auto+oracle", 10.0), ("mlp", 9.0)]
    table = pandas.DataFrame(rows, columns=["method", "value"]).assign(task="t", kind="clean", rate=0.0, seed=0)
    summary = summarise(table.assign(metric="return"), ("flip",), {"t": 0.0}, ("auto", "mlp"))
    shares = summary[summary.metric == SHARE].set_index("method")["mean"]
    assert shares.to_dict() == {"auto": 0.8, "mlp": 1.0}


def test_older_results_have_one_oracle_for_all() -> None:
    table = results(returns).table()
    table = table[~table.method.isin(["choicenet+oracle", "mdn+oracle"])].replace("mlp+oracle", "oracle")
    summary = summarise(table, ("flip",))
    assert set(summary.method) == {"choicenet", "mdn", "mlp", "oracle", "expert"}
    assert [row(summary, "flip", rate, "oracle").mean for rate in (0.0, 0.3)] == [905, 905]
    random = CARDS["halfcheetah"].reference
    assert random is not None
    share = row(summary, "flip", 0.3, "choicenet", SHARE).mean
    assert share == pytest.approx((505 - random.random) / (905 - random.random))
    (grid,) = grids(summary, RETURNS[:1], paper=False)
    assert (grid.who, grid.methods[-2:]) == (WHO_SHARED, ["oracle", "expert"])


@pytest.mark.parametrize(("mine", "share"), [(-150.0, 1.0), (-1250.0, 0.0), (-260.0, 0.9), (-1360.0, -0.1)])
def test_shares_of_negative_returns_are_measured_from_random_actions(mine: float, share: float) -> None:
    assert share_of_oracle(mine, -150.0, -1250.0) == pytest.approx(share)


def test_a_seed_whose_oracle_is_worth_nothing_has_no_share() -> None:
    rows = [("mlp", 0, 5.0), ("mlp", 1, 4.0), ("mlp+oracle", 0, 10.0), ("mlp+oracle", 1, -1.0)]
    table = pandas.DataFrame(rows, columns=["method", "seed", "value"])
    table = table.assign(task="t", kind="flip", rate=0.3, metric="return")
    share = row(summarise(table, ("flip",), {"t": 0.0}), "flip", 0.3, "mlp", SHARE)
    assert (share.mean, share.worst) == (1.0, 0.5)


def whole_episodes(task: str) -> tuple[Plan, pandas.DataFrame]:
    """Two kinds at 30 %, a graded mix, and rate 0, where a method is its own oracle."""
    random = CARDS[task].reference
    assert random is not None
    zero = random.random

    def number(key: Key) -> float:
        if is_oracle(key.method) or not key.rate:
            return 1300.0 if key.method == "mlp" and key.rate == 0 else 1000.0
        kept = {("choicenet", "flip"): 0.96, ("choicenet", "uniform"): 0.97, ("mlp", "flip"): 0.5}
        worse = 400.0 if (key.method, key.kind, key.seed) == ("choicenet", "uniform", 0) else 0.0
        return 1000.0 * kept.get((key.method, key.kind), 0.98) - worse + key.seed

    plan = Plan((task,), ("flip", "uniform", "graded"), (0.0, 0.3), ("choicenet", "mlp"), SIX)
    asked = [(place, name, seed) for place in plan.places() for name in with_oracles(plan.methods) for seed in SIX]
    keys = dict.fromkeys(plan.key(*place, name, seed, uneven=("graded",)) for place, name, seed in asked)
    assert Key(task, "graded", None, "mlp+oracle", 0) in keys
    cells = {key: Cell(key, {"return": number(key) + zero, "collision": 0.0}) for key in keys}
    return plan, Results(plan, cells).table()


def test_the_bar_by_hand() -> None:
    plan, table = whole_episodes("pendulum")
    found = bar_table(table, plan.kinds, plan.methods)
    assert [[cell.text for cell in line] for line in found.rows] == [
        # Of uniform, five seeds keep 97 % and one 57 %, and the mlp has 98 %.
        ["choicenet", "2 of 3", "2 of 3", "1 of 3", "1 of 1"],
        ["mlp", "2 of 3", "2 of 3", "–", "–"],
    ]
    few = bar_table(table[table.seed < 3], plan.kinds, plan.methods)
    assert [cell.text for cell in few.rows[0]][3:] == ["–", "–"]
    failed = table[(table.method != "choicenet") | (table.kind != "flip") | (table.seed > 0)]
    assert [cell.text for cell in bar_table(failed, plan.kinds, plan.methods).rows[0]][1:3] == ["2 of 3", "1 of 3"]


def test_pages_of_whole_episodes_come_with_their_results(tmp_path: Path) -> None:
    docs = Path(__file__).parent.parent.parent / "docs"
    shutil.copytree(docs / "results", tmp_path / "results", ignore=shutil.ignore_patterns("*-episodes.*"))
    assert not {name for name in Documents(tmp_path).texts() if "episodes" in name}
    for name, task in (("mujoco", "pendulum"), ("driving", "lane-driving")):
        plan, table = whole_episodes(task)
        table.to_csv(tmp_path / "results" / f"{name}-episodes.csv", index=False)
        about = json.loads((docs / "results" / "mujoco.json").read_text()) | {"methods": plan.methods}
        (tmp_path / "results" / f"{name}-episodes.json").write_text(json.dumps(about))
    texts = Documents(tmp_path).texts()
    assert "| choicenet | 2 of 3 | 2 of 3 | 1 of 3 | 1 of 1 |" in texts["mujoco-episodes.md"]
    assert "| pendulum | 30 % | – | 96 % (96 %) | 91 % (57 %) |" in texts["mujoco-episodes.md"]
    assert "oracle of choicenet" in texts["mujoco-episodes.md"]
    assert WHO in texts["driving-episodes.md"]
    assert texts["results.md"].index("mujoco-episodes.md") < texts["results.md"].index("driving-episodes.md")
    assert texts["results.md"].index("driving-episodes.md") < texts["results.md"].index("mujoco.md")
    assert texts["mujoco.md"] == (docs / "mujoco.md").read_text()


def test_a_graded_mix_stands_behind_the_rates() -> None:
    keys = [Key("pendulum", "graded", None, name, 0) for name in ("mlp", "mlp+oracle")]
    keys += [Key("pendulum", "clean", 0.0, name, 0) for name in ("mlp", "expert")]
    plan = Plan(("pendulum",), ("graded",), (0.0,), ("mlp",), (0,))
    found = Results(plan, {key: Cell(key, {"return": -200.0}) for key in keys})
    (grid, share) = grids(summarise(found.table(), plan.kinds), RETURNS, paper=False)
    assert [column.name for column in grid.as_table().columns] == ["method", "0 %", "graded"]
    assert [line[0] for line in grid.as_lines()] == ["mlp", "oracle of mlp", "expert"]
    assert share.as_lines() == [["mlp", "100 %", "100 %"]]


def test_an_expert_brings_no_rate_of_its_own() -> None:
    table = results(returns).table()
    summary = summarise(table[(table.rate == 0.3) | (table.method == "expert")], ("flip",))
    assert set(summary.rate) == {0.3}
    assert row(summary, "flip", 0.3, "expert").mean == 1100


def test_who_was_not_asked_for_is_shown_as_the_oracle_only() -> None:
    table = results(returns).table()
    table = table[(table.method != "mlp") | (table.rate == 0)].replace("choicenet", "mlp+clean")
    table = table[~table.method.isin(["choicenet+oracle", "mdn+oracle"])]
    summary = summarise(table, ("flip",), methods=("mlp+clean", "mdn"))
    assert set(summary.method) == {"mlp+clean", "mdn", "mlp+oracle", "mdn+oracle", "expert"}
    assert row(summary, "flip", 0.0, "mlp+oracle").mean == 905


def test_a_kind_with_clean_cells_of_its_own_shows_no_others() -> None:
    rows = [("t", "clean", 0.0, "mlp", 1.0), ("t", "own", 0.0, "mlp", 2.0), ("t", "own", 0.3, "mlp", 3.0)]
    rows += [("t", "flip", 0.3, "mlp", 4.0)]
    columns = ["task", "kind", "rate", "method", "value"]
    table = pandas.DataFrame(rows, columns=columns).assign(seed=0, metric="rmse")
    summary = summarise(table, ("own", "flip"))
    assert row(summary, "own", 0.0, "mlp+oracle", "rmse").mean == 2
    assert row(summary, "flip", 0.0, "mlp+oracle", "rmse").mean == 1


def test_intervals_cover_as_often_as_they_say() -> None:
    """A 95 % percentile bootstrap of 20 values covers a little less than 95 %."""
    generator = np.random.default_rng(0)
    rows = [("t", "k", 0.1, f"m{m}", s, "rmse", v) for m in range(100) for s, v in enumerate(generator.normal(size=20))]
    table = pandas.DataFrame(rows, columns=["task", "kind", "rate", "method", "seed", "metric", "value"])
    summary = summarise(table, ("k",))
    assert 85 <= ((summary.low <= 0) & (summary.high >= 0)).sum() <= 99


def test_a_share_is_a_ratio_of_means_and_has_no_interval_where_the_oracle_can_be_worth_nothing() -> None:
    mine, oracle = np.array([3.0, 5.0, 4.0]), np.array([4.0, 6.0, 5.0])
    low, high = share_interval(mine, oracle)
    draws = np.array(np.meshgrid(*[[0, 1, 2]] * 3)).reshape(3, -1).T  # all resamplings of three seeds
    ratios = mine[draws].mean(1) / oracle[draws].mean(1)
    assert ratios.min() <= low < 0.8 < high <= ratios.max()
    assert np.isnan(share_interval(mine, np.array([-1.0, 6.0, 5.0]))).all()


def test_no_collision_of_all_seeds_is_no_proof() -> None:
    found = results(lambda key: {"collision": 0.0, "episodes": 10.0}, task="lane-driving")
    summary = summarise(found.table(), found.plan.kinds)
    literal = stats.binomtest(0, 20).proportion_ci(0.95, "wilson")
    ours = row(summary, "flip", 0.3, "mlp", "collision")
    assert (ours.low, ours.high) == pytest.approx((literal.low, literal.high))


def test_a_verdict_needs_a_clear_paired_difference_of_enough_seeds() -> None:
    def verdicts(seeds: tuple[int, ...]) -> dict[str, str]:
        table = results(lambda key: {**returns(key), "rmse": returns(key)["return"]}, seeds=seeds).table()
        found = differences(table, ("flip",), "choicenet")
        here = found[(found.kind == "flip") & (found.rate == 0.3) & (found.method == "mlp")]
        return dict(zip(here.metric, here.verdict, strict=True))

    assert verdicts(SIX) == {"return": "worse", "rmse": "better"}  # a small error is a good one
    assert verdicts((0, 1)) == {"return": "", "rmse": ""}


def test_the_best_is_strong_and_who_is_told_wins_no_table() -> None:
    rows = [
        ("t", "flip", 0.3, m, "return", v, v, v, v, 1) for m, v in (("mlp", 1), ("trimmed@rate=true", 9), ("l1", 2))
    ]
    columns = ["task", "kind", "rate", "method", "metric", "mean", "low", "high", "worst", "seeds"]
    (grid,) = grids(pandas.DataFrame(rows, columns=columns), RETURNS, paper=False)
    assert grid.best(0.3) == {"l1"}
    assert "| l1 | **2** |" in table_as_markdown(grid.as_table())


def test_the_papers_numbers_stand_beside_ours_in_its_own_setting() -> None:
    plan = Plan(("lane-driving",), ("rollout",), (0.4,), ("mlp",), (0,))
    cells = [Cell(Key("lane-driving", "rollout", 0.4, m, 0), {"collision": 0.1}) for m in ("mlp", "choicenet")]
    summary = summarise(Results(plan, {cell.key: cell for cell in cells}).table(), plan.kinds)
    (ours,), (alone,) = (list(grids(summary, DRIVING, paper)) for paper in (True, False))
    assert ours.as_lines()[-1] == ["paper: ChoiceNet", "0.83 %"]
    assert len(alone.as_lines()) == 2


def test_the_page_of_a_run() -> None:
    found = results(returns, seeds=SIX)
    found.cells[Key("halfcheetah", "flip", 0.3, "mdn", 0)] = Cell(
        Key("halfcheetah", "flip", 0.3, "mdn", 0), failure="training <diverged>."
    )
    summary = summarise(found.table(), found.plan.kinds, {"halfcheetah": 0.0})
    page = page_as_html(make_page("x", "robust-bc x", found, summary, RETURNS, True, {}, lambda results, kind: ()))
    for text in ("halfcheetah, flip", "5 of 6 seeds", "What failed", "training &lt;diverged&gt;", "worse"):
        assert text in page, text


def audit_rows(kind: str, rate: float | None, seed: int, **numbers: float) -> list[tuple[Any, ...]]:
    return [("pendulum", kind, rate, "audit", seed, metric, value) for metric, value in numbers.items()]


def test_the_audits_tables_by_hand() -> None:
    numbers = [
        *audit_rows("clean", 0, 0, true_rate=0, estimated_rate=0.0, false_alarm=0),
        *audit_rows("clean", 0, 1, true_rate=0, estimated_rate=0.2, false_alarm=1),
        *audit_rows("graded", None, 0, spearman=0.9),
    ]
    for seed in range(5):
        numbers += audit_rows("flip", 0.3, seed, auroc=[1, 1, 0.7, 0.9, 0.9][seed], true_rate=0.3, estimated_rate=0.3)
        numbers += audit_rows("flip", 0.3, seed, return_all=-200.0, return_cleaned=-300.0 + seed, return_oracle=-200.0)
    table = pandas.DataFrame(numbers, columns=["task", "kind", "rate", "method", "seed", "metric", "value"])
    glance = audit_tables.at_a_glance(table)["Test tasks"]
    assert glance.to_dict() == {
        "places with a mean AUROC of 0.98 or more": "0 of 1",
        "mixes with a rate within 5 points": "5 of 5",
        "bad pairs that are dropped": "",
        "good pairs that are dropped": "",
        "clean sets with a false alarm": "1 of 2",
        "tasks with a graded Spearman of 0.95 or more": "0 of 1",
        "places that keep the oracle's return with cleaning": "0 of 1",
        "places that keep the oracle's return without cleaning": "1 of 1",
        "places where cleaning does harm": "1",
    }
    auroc = audit_tables.pivot(audit_tables.metric(table, "auroc"), "task", "kind", worst=True)
    assert "| pendulum | 0.9 (0.7) |" in audit_tables.as_markdown(auroc)
    random = CARDS["pendulum"].reference
    assert random is not None
    shares = audit_tables.shares_of_oracle(table)
    assert shares[shares["of"] == "cleaned"].value.tolist() == [
        pytest.approx((-298 - random.random) / (-200 - random.random))
    ]
    (harm,) = audit_tables.harm(table).itertuples()
    assert harm.mean == -98
    assert -100 <= harm.low <= -98 <= harm.high <= -96
    few = table[table.seed < 3]  # an interval of three numbers is their range
    assert audit_tables.harm(few).empty
    assert "places where cleaning does harm" not in audit_tables.at_a_glance(few).index
    assert audit_tables.alarms(table).value.tolist() == [0, 1]


def test_detectors_are_compared_on_the_mixes_that_all_have_seen() -> None:
    cells = [("audit", 0.1), ("audit", 0.3), ("loss", 0.3)]
    table = pandas.DataFrame(
        [("t", "k", r, 0, m) for m, r in cells], columns=["task", "kind", "rate", "seed", "method"]
    )
    assert audit_tables.compared(table).rate.tolist() == [0.3, 0.3]


def test_the_pages_of_docs_are_what_their_results_say() -> None:
    """Whoever changes results or templates runs `make docs`; figures differ by the fonts of a machine."""
    docs = Path(__file__).parent.parent.parent / "docs"
    for name, text in Documents(docs).texts().items():
        assert (docs / name).read_text() == text, f"{name}: run make docs"
    assert "- **choicenet**:" in assumptions()
