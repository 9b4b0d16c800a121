"""The paper's synthetic regression benchmark: three functions, growing shares of outliers, every method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.benchmark.functions import get_function, grid, root_mean_square_error, uniform_outliers
from robust_bc.benchmark.rows import Row, summarise
from robust_bc.demonstrations import Demonstrations
from robust_bc.fitting import fit_fleet
from robust_bc.methods import check_method

ORACLE = "oracle"
"""The row that every table carries: plain least squares on the clean pairs of the same mix."""
ORACLE_METHOD = "mlp"

# Called with (steps done, steps in all, what is being fitted).
StepCallback = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Fit:
    """One fitted curve, kept for the figure."""

    function: str
    rate: float
    method: str
    seed: int
    prediction: NDArray[np.floating]  # on the grid, (G,)
    error: float


@dataclass(frozen=True, eq=False)
class SyntheticResult:
    """All fits and the rows that sum them up."""

    fits: list[Fit]
    rows: list[Row]


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """All cells of a benchmark and their demonstrations, checked before anything is fitted."""

    cells: list[tuple[str, float, int]]  # function, rate, seed
    corrupt: list[Demonstrations]
    clean: list[Demonstrations]  # what the oracle sees of each

    @classmethod
    def make(cls, functions: Sequence[str], rates: Sequence[float], seeds: Sequence[int]) -> SyntheticData:
        cells = [(name, rate, seed) for name in functions for rate in rates for seed in seeds]
        corrupt = [uniform_outliers(get_function(name), rate, seed) for name, rate, seed in cells]
        return cls(cells, corrupt, [pairs.clean() for pairs in corrupt])


def run_synthetic(
    data: SyntheticData, methods: Sequence[str], device: str = "auto", progress: StepCallback | None = None
) -> SyntheticResult:
    """Fit every method, and the oracle, to every cell; seeds are paired across methods."""
    fits = [
        fit
        for method in [*(check_method(name) for name in methods), ORACLE]
        for fit in _fit_all(method, data, device, progress)
    ]
    return SyntheticResult(fits, _summary(fits))


def _fit_all(method: str, data: SyntheticData, device: str, progress: StepCallback | None) -> list[Fit]:
    oracle = method == ORACLE
    inputs = grid()
    policies = fit_fleet(
        data.clean if oracle else data.corrupt,
        method=ORACLE_METHOD if oracle else method,
        seeds=[seed for _, _, seed in data.cells],
        device=device,
        progress=None if progress is None else lambda state: progress(state.done, state.total, method),
    )
    fits = []
    for (name, rate, seed), policy in zip(data.cells, policies, strict=True):
        prediction, _ = policy.predict(inputs)
        error = root_mean_square_error(prediction, get_function(name), inputs)
        fits.append(Fit(name, rate, method, seed, prediction[:, 0], error))
    return fits


def _summary(fits: Sequence[Fit]) -> list[Row]:
    """One row per function, rate and method, in that order."""
    functions, rates, methods = (
        list(dict.fromkeys(getattr(fit, name) for fit in fits)) for name in ("function", "rate", "method")
    )
    errors: dict[tuple[str, float, str], list[float]] = {}
    for fit in fits:
        errors.setdefault((fit.function, fit.rate, fit.method), []).append(fit.error)
    return [
        summarise(errors[name, rate, method], task=name, how="uniform", rate=rate, method=method, metric="rmse")
        for name in functions
        for rate in rates
        for method in methods
    ]
