"""Results that are known, summed up and shown."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy import stats

from robust_bc_benchmarks.core.cells import Cell, Key
from robust_bc_benchmarks.core.plan import Plan
from robust_bc_benchmarks.core.running import Results
from robust_bc_benchmarks.core.summaries import SHARE, differences, share_interval, share_of_oracle, summarise
from robust_bc_benchmarks.showing.grids import RETURNS, WHO_SHARED, grids
from robust_bc_envs.tasks import CARDS
from tests.robust_bc_benchmarks.known import SIX, results, returns, row


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
