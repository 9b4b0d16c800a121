from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import RobustBCError
from robust_bc_benchmarks.housing import settings as housing_settings
from robust_bc_benchmarks.housing.data import Districts, HousingData, HousingTask, load_districts, make_housing_task
from robust_bc_benchmarks.housing.running import run_housing
from robust_bc_benchmarks.housing.settings import (
    CANDIDATES,
    CHOSEN,
    SETTINGS,
    best_candidate,
    divide,
    judge_candidates,
)
from robust_bc_benchmarks.housing.tables import housing_cells, housing_figure, housing_markdown
from robust_bc_benchmarks.rows import summarise
from tests.conftest import QUICK

pytest.importorskip("mlxtend")


@pytest.fixture(scope="module")
def districts() -> Districts:
    return load_districts()


@dataclass(frozen=True, eq=False)
class Off:
    """A policy that is always wrong by so much."""

    task: HousingTask
    by: NDArray[np.float64]  # (T, 1)

    def predict(self, observations: NDArray[np.float64]) -> tuple[NDArray[np.float64], None]:
        assert np.array_equal(observations, self.task.observations)
        return self.task.prices + self.by, None


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.25, 0.4])
def test_wrong_prices_are_exact_in_number_and_range(districts: Districts, rate: float) -> None:
    clean, task = (make_housing_task(districts, share, 7) for share in (0.0, rate))
    right, given, corrupt = clean.demonstrations.actions, task.demonstrations.actions, task.demonstrations.corrupt
    assert (len(given), len(task.prices)) == (405, 101)
    assert corrupt is not None
    assert corrupt.sum() == round(rate * 405)
    assert np.array_equal(given[~corrupt], right[~corrupt])
    wrong = given[corrupt]
    assert ((wrong >= right.min()) & (wrong <= right.max())).all()
    if rate > 0.2:  # uniform over the whole range, not around the prices
        assert wrong.mean() == pytest.approx((right.min() + right.max()) / 2, abs=5)
        assert wrong.std() == pytest.approx((right.max() - right.min()) / np.sqrt(12), rel=0.2)


def test_the_test_split_is_clean_and_apart(districts: Districts) -> None:
    task, other = make_housing_task(districts, 0.4, 0), make_housing_task(districts, 0.4, 1)
    everything = np.concatenate([task.demonstrations.observations, task.observations])
    assert np.array_equal(np.sort(everything, axis=0), np.sort(districts.observations, axis=0))
    truth = {tuple(row): price for row, price in zip(districts.observations, districts.prices, strict=True)}
    assert all(truth[tuple(row)] == price for row, price in zip(task.observations, task.prices, strict=True))
    assert not np.array_equal(task.observations, other.observations)


def test_rates_corrupt_nested_sets_of_the_same_split(districts: Districts) -> None:
    few, many = (make_housing_task(districts, rate, 3) for rate in (0.1, 0.4))
    assert np.array_equal(few.observations, many.observations)
    assert few.demonstrations.corrupt is not None
    assert many.demonstrations.corrupt is not None
    both = few.demonstrations.corrupt & many.demonstrations.corrupt
    assert np.array_equal(both, few.demonstrations.corrupt)
    assert np.array_equal(few.demonstrations.actions[both], many.demonstrations.actions[both])


def test_the_error_is_the_root_mean_square_in_thousands(districts: Districts) -> None:
    task = make_housing_task(districts, 0.3, 0)
    by = np.random.default_rng(0).normal(size=task.prices.shape)
    assert task.error(Off(task, by)) == pytest.approx(np.sqrt((by**2).mean()))  # type: ignore[arg-type]


def test_bad_rates_and_missing_data(districts: Districts, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RobustBCError, match="a rate must be at least 0 and below 1, but it is 1"):
        make_housing_task(districts, 1.0, 0)
    with pytest.raises(RobustBCError, match="leaves the oracle fewer than 2 of 405 pairs"):
        make_housing_task(districts, 0.999, 0)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)  # as if it were not installed
    with pytest.raises(RobustBCError, match=r'mlxtend.*pip install "robust-bc\[housing\]"'):
        load_districts()


def test_run_pairs_all_methods_and_sums_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_bc_benchmarks.housing.running.SETTINGS", QUICK)
    result = run_housing(HousingData.make((0.0, 0.4), (0, 1, 2)), ["mlp", "choicenet"], "cpu")
    errors = {(fit.rate, fit.method, fit.seed): fit.error for fit in result.fits}
    assert len(errors) == 2 * 3 * 3
    for row in result.rows:
        mine = [errors[row.rate, row.method, seed] for seed in range(3)]
        assert (row.task, row.n, row.worst) == ("boston", 3, max(mine))
        assert row.mean == pytest.approx(np.mean(mine))
    # The oracle is least squares, so without wrong prices it is `mlp` itself.
    for seed in range(3):
        assert errors[0.0, "oracle", seed] == pytest.approx(errors[0.0, "mlp", seed], rel=1e-4)


def test_the_budget_is_chosen_by_held_out_corrupt_prices(districts: Districts, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CANDIDATES[CHOSEN] is SETTINGS
    assert not set(housing_settings.SEEDS) & set(range(10))  # never the seeds of the published table
    assert best_candidate({"a": {"x": 1.0, "y": 4.0}, "b": {"x": 2.0, "y": 2.0}}) == "b"
    task = make_housing_task(districts, 0.4, 100)
    kept, out = divide(task.demonstrations, 100)
    assert (len(kept), len(out)) == (324, 81)
    assert out.corrupt is not None
    assert out.corrupt.any()  # judged as the data are
    # The test split has no part in it.
    monkeypatch.setattr(HousingTask, "error", None)
    monkeypatch.setitem(CANDIDATES, "quick", QUICK)
    found = judge_candidates(["quick"], ["mlp"], (0.2,), (100, 101), "cpu")
    assert found["quick"]["mlp"] > 0
    assert found == judge_candidates(["quick"], ["mlp"], (0.2,), (100, 101), "cpu")


def test_the_table_shows_the_papers_numbers_where_it_has_some() -> None:
    rows = [
        summarise([error, error + 1], task="boston", how="uniform", rate=rate, method="choicenet", metric="rmse")
        for rate, error in ((0.1, 3.0), (0.25, 4.0))
    ]
    cells = {line[0]: line[1:] for line in housing_cells(rows, interval=False)}
    assert cells["choicenet"] == ["3.50 (4.00)", "4.50 (5.00)"]
    assert cells["paper: ChoiceNet"] == ["3.99", "–"]
    assert cells["paper: MDN"] == ["6.50", "–"]
    assert "| choicenet | 3.50 [3.00, 4.00] 4.00 |" in housing_markdown(rows)
    assert [axis.get_title() for axis in housing_figure(rows).axes] == ["10% wrong prices", "25% wrong prices"]
