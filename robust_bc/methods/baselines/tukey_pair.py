"""`tukey-pair`: Tukey's biweight of whole pairs, the paper's "robust loss" in the unit in which demonstrations are bad.

    min_f  mean_i ρ_c(u_i),     u_i² = (1/D) Σ_d u_id²,     u_id = (y_id − f_d(x_i)) / (1.4826·MAD_d)

with ρ_c the biweight of `tukey`. A bad demonstration is bad as a whole, yet in any single dimension often close to a
good one; judged by itself such a dimension is learned from, and `tukey` does. The root mean square over dimensions
varies less than a single residual, so that c can be smaller. D counts the dimensions in which the actions of a batch
differ from 0: a locked joint would only dilute the others.

This is ours, and the least that a method with more to it should beat.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import biweight, residual_scale, residuals_of

SMALLEST_SQUARE = 1e-12
"""Added to u² before the root, whose slope at nothing is infinite."""


@dataclass(frozen=True, kw_only=True)
class TukeyPairSettings(NetworkSettings):
    """Settings of the biweight of pairs."""

    cutoff: float = 2.0
    """c, in deviations: a pair further away than this has no gradient."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("cutoff")


class TukeyPair(RegressionMethod[TukeyPairSettings]):
    """Tukey's biweight of a pair's root mean square residual."""

    name = "tukey-pair"
    summary = "Tukey's biweight, blind to far pairs as a whole; assumes that most pairs are good and agree"
    when = "for actions of many dimensions, where no right action is rare"
    settings_type = TukeyPairSettings
    part_names = ("biweight",)

    def loss(
        self, settings: TukeyPairSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        residuals = residuals_of(parameters, actions)
        squares = (residuals / residual_scale(residuals)).square().sum(1) / parameters.live_count()  # (M, B)
        error = biweight((squares + SMALLEST_SQUARE).sqrt(), settings.cutoff).mean(1)
        return LossTerms(error, {"biweight": error})
