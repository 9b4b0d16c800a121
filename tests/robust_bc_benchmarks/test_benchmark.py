from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import RobustBCError
from robust_bc_benchmarks.rows import rows_as_csv, rows_as_markdown, summarise
from robust_bc_benchmarks.synthetic.functions import FUNCTIONS, corrupt_region, get_function, uniform_outliers
from robust_bc_benchmarks.teachers import HOWS, make_teacher_task


def test_the_functions_at_known_points() -> None:
    x = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(FUNCTIONS["linear"].formula(x), x / 2)
    assert FUNCTIONS["step"].formula(x).tolist() == [-1, -1, 1, 1, -1, -1]
    np.testing.assert_allclose(FUNCTIONS["cosexp"].formula(x)[[0, 1, 2]], [-np.exp(-1), 0, 1], atol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.333, 0.8])
def test_outliers_are_exact_in_number_and_range(name: str, rate: float) -> None:
    function = get_function(name)
    data = uniform_outliers(function, rate, seed=3)
    assert data.corrupt is not None
    assert data.corrupt.sum() == round(rate * 1000)
    truth = function.formula(data.observations.astype(np.float64))
    clean = (data.actions - truth)[~data.corrupt]
    assert np.abs(clean).max() < 0.006
    bad = data.actions[data.corrupt]
    assert ((bad >= function.outliers[0]) & (bad <= function.outliers[1])).all()
    if rate > 0.1:
        assert bad.min() < function.outliers[0] + 0.1
        assert bad.max() > function.outliers[1] - 0.1


def test_rates_corrupt_nested_sets_of_the_same_data() -> None:
    few, many = (uniform_outliers(FUNCTIONS["cosexp"], rate, seed=0) for rate in (0.2, 0.6))
    assert few.corrupt is not None
    assert many.corrupt is not None
    assert not (few.corrupt & ~many.corrupt).any()
    assert np.array_equal(few.observations, many.observations)


@pytest.mark.parametrize("how", ["flip", "uniform"])
def test_half_of_the_region_is_corrupt_and_nothing_else(how: str) -> None:
    data = corrupt_region(FUNCTIONS["cosexp"], how, seed=0)
    assert data.corrupt is not None
    x = data.observations[:, 0].astype(np.float64)
    inside = (x >= 0) & (x <= 2)
    assert not data.corrupt[~inside].any()
    assert data.corrupt.sum() == round(inside.sum() / 2)
    if how == "flip":
        flipped = -FUNCTIONS["cosexp"].formula(x[data.corrupt])
        np.testing.assert_allclose(data.actions[data.corrupt, 0], flipped, atol=0.006)


def test_bad_requests() -> None:
    with pytest.raises(RobustBCError, match="there is no function 'sine'; the functions are: cosexp, linear, step"):
        get_function("sine")
    with pytest.raises(RobustBCError, match="a rate must be at least 0 and below 1"):
        uniform_outliers(FUNCTIONS["cosexp"], 1.0, 0)


def test_summary_of_known_numbers() -> None:
    cell = {"task": "t", "how": "h", "rate": 0.1, "method": "m", "metric": "rmse"}
    row = summarise([1.0, 2.0, 3.0, 6.0], **cell)  # type: ignore[arg-type]
    assert (row.mean, row.worst, row.n) == (3.0, 6.0, 4)
    assert row.std == pytest.approx(np.std([1, 2, 3, 6], ddof=1))
    assert 1 < row.low < 3 < row.high < 6
    assert summarise([1.0, 2.0], larger_is_better=True, **cell).worst == 1.0  # type: ignore[arg-type]
    single = summarise([4.0], **cell)  # type: ignore[arg-type]
    assert (single.low, single.high, single.std) == (4.0, 4.0, 0.0)
    assert "| m | 3.0000 [" in rows_as_markdown([row], "rmse")
    assert rows_as_csv([single]).splitlines()[1] == "t,h,0.1,m,rmse,4.0,0.0,4.0,4.0,4.0,1"


def test_intervals_cover_as_often_as_they_say() -> None:
    """A 95 % percentile bootstrap of 20 values covers a little less than 95 %."""
    generator = np.random.default_rng(0)
    cell = {"task": "t", "how": "h", "rate": 0.1, "method": "m", "metric": "rmse"}
    rows = [summarise(generator.normal(size=20).tolist(), **cell) for _ in range(100)]  # type: ignore[arg-type]
    assert 85 <= sum(row.low <= 0 <= row.high for row in rows) <= 99


@pytest.mark.parametrize("how", HOWS)
def test_teachers_are_corrupted_as_they_say(how: str) -> None:
    clean, task = make_teacher_task(how, 0.0, 5), make_teacher_task(how, 0.3, 5)
    shown, given, corrupt = clean.demonstrations.actions, task.demonstrations.actions, task.demonstrations.corrupt
    assert corrupt is not None
    assert corrupt.sum() == 150
    np.testing.assert_array_equal(given[~corrupt], shown[~corrupt])
    assert np.abs(given[corrupt]).max() <= 1.1
    agreement = np.corrcoef(given[corrupt].ravel(), shown[corrupt].ravel())[0, 1]
    low, high = {"flip": (-1.0, -0.999), "relabel": (-0.5, 0.5), "uniform": (-0.15, 0.15)}[how]
    assert low <= round(float(agreement), 6) <= high


def test_the_error_of_a_teacher_is_in_its_own_deviations() -> None:
    task = make_teacher_task("flip", 0.3, 0)
    perfect, constant = (Fixed(actions) for actions in (task.actions, np.full_like(task.actions, task.actions.mean())))
    assert task.error(perfect) == 0  # type: ignore[arg-type]
    assert task.error(constant) == pytest.approx(1)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Fixed:
    """A policy that says what it was told to say."""

    actions: NDArray[np.float64]

    def predict(self, observations: NDArray[np.float64]) -> tuple[NDArray[np.float64], None]:
        return self.actions, None
