"""The paper's Boston housing benchmark: a growing share of wrong prices, every method, the same budget for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_bc_benchmarks.contenders import ORACLE, expand, fit_contender
from robust_bc_benchmarks.housing.data import HousingData
from robust_bc_benchmarks.housing.settings import SETTINGS
from robust_bc_benchmarks.rows import Row, summarise
from robust_bc_benchmarks.synthetic.running import ShareCallback

TASK, HOW, METRIC = "boston", "uniform", "rmse"


@dataclass(frozen=True)
class HousingFit:
    """The test error of one policy, in 1000 $."""

    rate: float
    method: str
    seed: int
    error: float


@dataclass(frozen=True, eq=False)
class HousingResult:
    """All errors and the rows that sum them up."""

    fits: list[HousingFit]
    rows: list[Row]


def run_housing(
    data: HousingData, methods: Sequence[str], device: str = "auto", progress: ShareCallback | None = None
) -> HousingResult:
    """Fit every contender, and the oracle, to every cell; all see the same pairs and networks get `SETTINGS`."""
    fits = [fit for name in [*expand(methods), ORACLE] for fit in _fit_all(name, data, device, progress)]
    return HousingResult(fits, _summary(fits))


def _fit_all(method: str, data: HousingData, device: str, progress: ShareCallback | None) -> list[HousingFit]:
    policies = fit_contender(
        method,
        [task.demonstrations for task in data.tasks],
        [rate for rate, _ in data.cells],
        [seed for _, seed in data.cells],
        device,
        None if progress is None else lambda share: progress(share, method),
        SETTINGS,
    )
    return [
        HousingFit(rate, method, seed, task.error(policy))
        for (rate, seed), task, policy in zip(data.cells, data.tasks, policies, strict=True)
    ]


def _summary(fits: Sequence[HousingFit]) -> list[Row]:
    """One row per rate and method, in that order."""
    errors: dict[tuple[float, str], list[float]] = {}
    for fit in fits:
        errors.setdefault((fit.rate, fit.method), []).append(fit.error)
    return [
        summarise(values, task=TASK, how=HOW, rate=rate, method=method, metric=METRIC)
        for (rate, method), values in sorted(errors.items(), key=lambda item: item[0][0])
    ]
