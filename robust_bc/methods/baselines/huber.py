"""`huber`: least squares near the prediction and absolute error far from it (Huber 1964).

    min_f  mean_i Σ_d ρ_δ(y_id − f_d(x_i)),     ρ_δ(r) = r²/2  where |r| ≤ δ,   δ·(|r| − δ/2)  beyond

A residual pulls in proportion to its size up to δ, and all larger ones pull alike. With a small δ it is `l1` with a
smooth bottom, with a large one `mlp`.

Reference: Huber 1964, "Robust estimation of a location parameter".
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import huber, residuals_of


@dataclass(frozen=True, kw_only=True)
class HuberSettings(NetworkSettings):
    """Settings of Huber's loss."""

    delta: float = 0.03
    """δ, where squares end and absolute values begin, in units of the normalised actions: about the size of the good
    demonstrations' own noise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("delta")


class Huber(RegressionMethod[HuberSettings]):
    """Huber's loss, summed over action dimensions."""

    name = "huber"
    summary = "squares for small and absolute values for large errors; assumes mostly good actions with some noise"
    when = "like l1, from which our benchmarks hardly tell it apart"
    settings_type = HuberSettings
    part_names = ("huber",)

    def loss(
        self, settings: HuberSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        error = huber(residuals_of(parameters, actions), settings.delta).sum(1).mean(1)
        return LossTerms(error, {"huber": error})
