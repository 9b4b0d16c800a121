"""The paper's two-mixture experiment: what ρ says about the kind and the place of corruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.training.fitting import fit_fleet
from robust_bc_benchmarks.rows import Row, summarise
from robust_bc_benchmarks.synthetic.functions import (
    CORRUPT_REGION,
    FUNCTIONS,
    corrupt_region,
    grid,
    root_mean_square_error,
)
from robust_bc_benchmarks.synthetic.running import ShareCallback

FUNCTION = FUNCTIONS["cosexp"]
HOWS = ("flip", "uniform")
MIXTURES = 2
RATE = 0.5  # of the pairs inside the region


@dataclass(frozen=True, eq=False)
class CorrelationCurve:
    """Fits of ChoiceNet with two mixtures to one kind of corruption."""

    how: str
    inputs: NDArray[np.float64]  # (G,)
    correlations: NDArray[np.float64]  # (seeds, G), ρ of mixture 2
    predictions: NDArray[np.float64]  # (seeds, G)
    pairs: NDArray[np.float64]  # (N, 2), the data of the first seed
    corrupt: NDArray[np.bool_]  # (N,)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which inputs lie in the corrupt region."""
        return (self.inputs >= CORRUPT_REGION[0]) & (self.inputs <= CORRUPT_REGION[1])

    def rows(self) -> list[Row]:
        """The error of the fit, and the largest and the mean ρ of mixture 2 over the corrupt region, per seed."""
        inside = self.correlations[:, self.inside]
        truth = self.inputs[:, None]
        errors = [root_mean_square_error(curve[:, None], FUNCTION, truth) for curve in self.predictions]
        found = {"rmse": errors, "rho_2_max": inside.max(1).tolist(), "rho_2_mean": inside.mean(1).tolist()}
        return [
            summarise(values, task="correlation", how=self.how, rate=RATE, method="choicenet", metric=metric)
            for metric, values in found.items()
        ]

    def as_json(self) -> dict[str, object]:
        """The curve as plain numbers: input, and ρ of mixture 2 per seed."""
        every = slice(None, None, 10)
        return {
            "x": np.round(self.inputs[every], 4).tolist(),
            "rho_2": np.round(self.correlations[:, every], 4).tolist(),
            "region": list(CORRUPT_REGION),
        }


def run_correlation(
    seeds: Sequence[int], device: str = "auto", progress: ShareCallback | None = None
) -> list[CorrelationCurve]:
    """Both kinds of corruption for every seed, in one fleet."""
    data = [corrupt_region(FUNCTION, how, seed) for how in HOWS for seed in seeds]
    policies = fit_fleet(
        data,
        method="choicenet",
        seeds=[*seeds] * len(HOWS),
        device=device,
        progress=None if progress is None else lambda state: progress(state.done / state.total, "correlation"),
        mixtures=MIXTURES,
    )
    inputs = grid(601)
    curves = []
    for number, how in enumerate(HOWS):
        mine = policies[number * len(seeds) : (number + 1) * len(seeds)]
        correlations = [policy.mixture(inputs).correlations for policy in mine]
        first = data[number * len(seeds)]
        assert first.corrupt is not None
        curves.append(
            CorrelationCurve(
                how=how,
                inputs=inputs[:, 0],
                correlations=np.stack([rho[0, :, 1] for rho in correlations if rho is not None]),
                predictions=np.stack([policy.predict(inputs)[0][:, 0] for policy in mine]).astype(np.float64),
                pairs=np.concatenate([first.observations, first.actions], axis=1),
                corrupt=first.corrupt,
            )
        )
    return curves


def curves_as_json(curves: Sequence[CorrelationCurve]) -> dict[str, object]:
    """All curves by kind of corruption."""
    return {curve.how: curve.as_json() for curve in curves}
