"""Functions, random teachers and house prices: what is bad in them, and how a policy is judged."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import Demonstrations, RobustBCError
from robust_bc_benchmarks.core.cells import Key
from robust_bc_benchmarks.core.contenders import is_oracle
from robust_bc_benchmarks.core.plan import Plan
from robust_bc_benchmarks.suites.functions import FUNCTIONS, corrupt_region, get_function, uniform_outliers
from robust_bc_benchmarks.suites.housing import Districts, load_districts, make_housing_problem
from robust_bc_benchmarks.suites.problems import Problem, held_out_distance
from robust_bc_benchmarks.suites.random_teachers import KINDS, make_teacher_problem
from robust_bc_benchmarks.suites.regression import RegressionSuite
from tests.conftest import QUICK
from tests.robust_bc_benchmarks.small import run


@dataclass(frozen=True, eq=False)
class Fixed:
    """A policy that says what it was told to say."""

    actions: NDArray[np.floating[Any]]

    def predict(self, observations: NDArray[np.floating[Any]]) -> tuple[NDArray[np.floating[Any]], None]:
        return self.actions, None


def error(problem: Problem, actions: NDArray[np.floating[Any]]) -> float:
    return problem.error(Fixed(actions))  # type: ignore[arg-type]


def test_the_functions_at_known_points() -> None:
    x = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(FUNCTIONS["linear"].formula(x), x / 2)
    assert FUNCTIONS["step"].formula(x).tolist() == [-1, -1, 1, 1, -1, -1]
    np.testing.assert_allclose(FUNCTIONS["cosexp"].formula(x)[[0, 1, 2]], [-np.exp(-1), 0, 1], atol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rate", [0.0, 0.333, 0.8])
def test_outliers_are_exact_in_number_and_range(name: str, rate: float) -> None:
    function = get_function(name)
    data = uniform_outliers(function, rate, seed=3)
    assert data.corrupt is not None
    assert data.corrupt.sum() == round(rate * 1000)
    truth = function.formula(data.observations.astype(np.float64))
    assert np.abs((data.actions - truth)[~data.corrupt]).max() < 0.006
    bad = data.actions[data.corrupt]
    assert ((bad >= function.outliers[0]) & (bad <= function.outliers[1])).all()
    if rate:
        assert bad.min() < function.outliers[0] + 0.1
        assert bad.max() > function.outliers[1] - 0.1


@pytest.mark.parametrize("kind", ["region-flip", "region-uniform"])
def test_half_of_the_region_is_corrupt_and_nothing_else(kind: str) -> None:
    data = corrupt_region(FUNCTIONS["cosexp"], kind, 0.5, seed=0)
    assert data.corrupt is not None
    x = data.observations[:, 0].astype(np.float64)
    inside = (x >= 0) & (x <= 2)
    assert not data.corrupt[~inside].any()
    assert data.corrupt.sum() == round(inside.sum() / 2)
    if kind == "region-flip":
        flipped = -FUNCTIONS["cosexp"].formula(x[data.corrupt])
        np.testing.assert_allclose(data.actions[data.corrupt, 0], flipped, atol=0.006)


@pytest.mark.parametrize("kind", KINDS)
def test_teachers_are_corrupted_as_they_say(kind: str) -> None:
    clean, task = make_teacher_problem(kind, 0.0, 5), make_teacher_problem(kind, 0.3, 5)
    shown, given, corrupt = clean.demonstrations.actions, task.demonstrations.actions, task.demonstrations.corrupt
    assert corrupt is not None
    assert corrupt.sum() == 150
    np.testing.assert_array_equal(given[~corrupt], shown[~corrupt])
    agreement = np.corrcoef(given[corrupt].ravel(), shown[corrupt].ravel())[0, 1]
    low, high = {"flip": (-1.0, -0.999), "relabel": (-0.5, 0.5), "uniform": (-0.15, 0.15)}[kind]
    assert low <= round(float(agreement), 6) <= high
    assert error(task, task.actions) == 0
    assert error(task, np.full_like(task.actions, task.actions.mean())) == pytest.approx(1)


def districts() -> Districts:
    pytest.importorskip("mlxtend")
    return load_districts()


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.4])
def test_wrong_prices_are_exact_in_number_and_range(rate: float) -> None:
    clean, task = (make_housing_problem(districts(), share, 7) for share in (0.0, rate))
    right, given, corrupt = clean.demonstrations.actions, task.demonstrations.actions, task.demonstrations.corrupt
    assert (len(given), len(task.actions)) == (405, 101)
    assert corrupt is not None
    assert corrupt.sum() == round(rate * 405)
    assert np.array_equal(given[~corrupt], right[~corrupt])
    if rate:  # uniform over the whole range, not around the prices
        assert given[corrupt].mean() == pytest.approx((right.min() + right.max()) / 2, abs=5)
        assert given[corrupt].std() == pytest.approx((right.max() - right.min()) / np.sqrt(12), rel=0.2)


def test_the_test_split_is_clean_and_apart() -> None:
    whole = districts()
    task, other = make_housing_problem(whole, 0.4, 0), make_housing_problem(whole, 0.4, 1)
    everything = np.concatenate([task.demonstrations.observations, task.observations])
    np.testing.assert_allclose(np.sort(everything, axis=0), np.sort(whole.observations, axis=0), rtol=1e-6)
    truth = {tuple(row): price for row, price in zip(whole.observations, whole.prices, strict=True)}
    assert all(truth[tuple(row)] == price for row, price in zip(task.observations, task.actions, strict=True))
    assert not np.array_equal(task.observations, other.observations)
    by = np.random.default_rng(0).normal(size=task.actions.shape)
    assert error(task, task.actions + by) == pytest.approx(np.sqrt((by**2).mean()))


@pytest.mark.parametrize("make", [lambda rate: uniform_outliers(FUNCTIONS["cosexp"], rate, 0), None])
def test_rates_corrupt_nested_sets_of_the_same_data(make: Any) -> None:
    made = make or (lambda rate: make_housing_problem(districts(), rate, 3).demonstrations)
    few, many = made(0.1), made(0.4)
    assert few.corrupt is not None
    assert many.corrupt is not None
    assert not (few.corrupt & ~many.corrupt).any()
    assert np.array_equal(few.observations, many.observations)
    assert np.array_equal(few.actions[few.corrupt], many.actions[few.corrupt])


def test_bad_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RobustBCError, match="there is no function 'sine'; the functions are: cosexp, linear, step"):
        get_function("sine")
    with pytest.raises(RobustBCError, match="leaves the oracle fewer than 2 of 405 pairs"):
        make_housing_problem(districts(), 0.999, 0)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)  # as if it were not installed
    with pytest.raises(RobustBCError, match=r'mlxtend.*pip install "robust-bc\[benchmark\]"'):
        load_districts()


def test_the_rule_is_a_median_that_bad_pairs_do_not_move(pairs: Demonstrations) -> None:
    good = pairs.actions
    shown = good + np.random.default_rng(0).normal(size=good.shape)
    literal = np.median(np.sqrt((((shown - good) / shown.std(0)) ** 2).mean(1)))
    policy: Any = Fixed(good)
    assert held_out_distance(policy, Demonstrations.from_arrays(pairs.observations, shown)) == pytest.approx(literal)
    bad = np.arange(len(pairs)) % 10 < 4
    same = Demonstrations.from_arrays(pairs.observations, np.where(bad[:, None], -good, good))
    assert held_out_distance(policy, same) == pytest.approx(0, abs=1e-6)


def test_a_fifth_is_held_out_the_same_at_every_rate() -> None:
    parts = [make_teacher_problem("flip", rate, 3).holding_out(3) for rate in (0.0, 0.4)]
    for part in parts:
        assert part.held_out is not None
        assert (len(part.demonstrations), len(part.held_out)) == (400, 100)
        assert np.array_equal(part.demonstrations.observations, parts[0].demonstrations.observations)


def test_a_suite_of_functions_and_teachers(tmp_path: Any) -> None:
    kinds = ("flip", "uniform", "region-flip")
    plan = Plan(("cosexp", "teacher"), kinds, (0.0, 0.4), ("choicenet", "mlp"), (0, 1), {**QUICK, "hidden": (8,)})
    suite = RegressionSuite(plan, "cpu", held_out=True)
    results, _ = run(suite, tmp_path)
    assert not results.failures()
    places = {(key.task, key.kind) for key in results.cells if key.rate}
    assert len(results.cells) == sum(map(len, suite.units()))
    assert places == {
        ("cosexp", "uniform"),
        ("cosexp", "region-flip"),
        ("teacher", "flip"),
        ("teacher", "uniform"),
    }
    said = {key: set(cell.numbers) for key, cell in results.cells.items()}
    assert said[Key("teacher", "flip", 0.4, "mlp", 0)] == {"rmse", "held_out"}
    assert said[Key("cosexp", "region-flip", 0.4, "choicenet", 0)] == {"rmse", "held_out", "rho_2_max", "rho_2_mean"}


def test_kinds_with_pairs_of_their_own_have_their_own_oracle_and_clean_cells() -> None:
    kinds = ("region-flip", "uniform")
    suite = RegressionSuite(Plan(("cosexp",), kinds, (0.0, 0.4), ("mlp",), (0,)), "cpu")
    oracles = {key for unit in suite.units() for key in unit if key.rate and is_oracle(key.method)}
    assert {key.kind for key in oracles} == {"region-flip", "clean"}
    for key in oracles:
        kind = "uniform" if key.kind == "clean" else key.kind
        mix = suite.mix(*suite._place(key))
        assert np.array_equal(mix.actions, suite.mix("cosexp", kind, 0.4, 0).actions)
    held_out = RegressionSuite(Plan(("teacher",), ("flip", "uniform"), (0.0, 0.4), ("mlp",), (0,)), "cpu", True)
    assert {key.kind for unit in held_out.units() for key in unit} == {"flip", "uniform"}


def test_one_mixture_has_no_second_one(tmp_path: Path) -> None:
    plan = Plan(("cosexp",), ("region-flip",), (0.5,), ("choicenet@mixtures=1@rivals=0",), (0,), QUICK)
    results, _ = run(RegressionSuite(plan, "cpu"), tmp_path)
    assert {name for cell in results.cells.values() for name in cell.numbers} == {"rmse"}
