"""`leaky-tukey`: Tukey's biweight that never quite lets go of a pair, the paper's "leaky robust loss".

    min_f  mean_i Σ_d (1 − leak)·ρ_c(u_id) + leak·u_id²/2,     u_id = (y_id − f_d(x_i)) / (1.4826·MAD_d),     c = 4.6851

with ρ_c the biweight of `tukey`. A residual weighs leak + (1 − leak)·(1 − (u/c)²)² of what it weighs in least squares,
and beyond c just `leak`: loss and gradient are continuous, and a good pair that was far off is still pulled at, while
`tukey` lets it lie. leak = 0 is `tukey`; leak = 1 is least squares, each dimension in units of its own MAD.

The paper says only that the original "discards the instances whose residuals exceed certain threshold"; the equation
is ours.

References: Choi et al. 2020 (appendix B); Belagiannis, Rupprecht, Carneiro & Navab 2015, "Robust optimization for deep
regression".
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import leaky_biweight, residual_scale, residuals_of


@dataclass(frozen=True, kw_only=True)
class LeakyTukeySettings(NetworkSettings):
    """Settings of the leaky biweight."""

    leak: float = 0.01
    """Weight of a residual beyond the cutoff, as a share of its weight in least squares."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_share("leak")


class LeakyTukey(RegressionMethod[LeakyTukeySettings]):
    """The leaky biweight, summed over action dimensions."""

    name = "leaky-tukey"
    summary = "Tukey's biweight with a small pull from far residuals; assumes that bad actions are far out and few"
    when = "to compare with the paper's leaky robust loss, never where right actions are rare"
    settings_type = LeakyTukeySettings
    part_names = ("biweight",)

    def loss(
        self, settings: LeakyTukeySettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        residuals = residuals_of(parameters, actions)
        error = leaky_biweight(residuals / residual_scale(residuals), settings.leak).sum(1).mean(1)
        return LossTerms(error, {"biweight": error})
