"""The paper's synthetic regression benchmark: three functions, growing shares of outliers, every method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.demonstrations import Demonstrations
from robust_bc_benchmarks.contenders import ORACLE, expand, fit_contender
from robust_bc_benchmarks.rows import Row, summarise
from robust_bc_benchmarks.synthetic.functions import get_function, grid, root_mean_square_error, uniform_outliers

# Called with (share done, what is being fitted).
ShareCallback = Callable[[float, str], None]


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
    mixes: list[Demonstrations]

    @classmethod
    def make(cls, functions: Sequence[str], rates: Sequence[float], seeds: Sequence[int]) -> SyntheticData:
        cells = [(name, rate, seed) for name in functions for rate in rates for seed in seeds]
        return cls(cells, [uniform_outliers(get_function(name), rate, seed) for name, rate, seed in cells])


def run_synthetic(
    data: SyntheticData, methods: Sequence[str], device: str = "auto", progress: ShareCallback | None = None
) -> SyntheticResult:
    """Fit every contender, and the oracle, to every cell; seeds are paired across them."""
    fits = [fit for name in [*expand(methods), ORACLE] for fit in _fit_all(name, data, device, progress)]
    return SyntheticResult(fits, _summary(fits))


def _fit_all(method: str, data: SyntheticData, device: str, progress: ShareCallback | None) -> list[Fit]:
    inputs = grid()
    policies = fit_contender(
        method,
        data.mixes,
        [rate for _, rate, _ in data.cells],
        [seed for _, _, seed in data.cells],
        device,
        None if progress is None else lambda share: progress(share, method),
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
