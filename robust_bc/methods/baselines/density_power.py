"""`density-power`: a Gaussian fitted by the density-power divergence instead of the likelihood (Basu et al. 1998).

    min_f  mean_i  ∫ f_i(y)^(1+b) dy − (1 + 1/b)·f_i(y_i)^b,     f_i = N(μ(x_i), diag σ²(x_i)),     b = β/√D

The gradient of a pair is its likelihood's gradient times f(y)^b: what the model finds improbable hardly counts. The
integral pays for that, so that the variance cannot shrink for nothing; for a Gaussian it has a closed form. As β goes
to 0 all this becomes maximum likelihood.

f is the joint density of all D action dimensions, because a demonstration is good or bad as a whole: the dimensions in
which a bad one shows convict it in those where it does not. But log f of a good pair varies with deviation √(D/2), and
with an exponent that suits one dimension the few most probable of many-dimensional pairs would own the gradient. Hence
β/√D: f^b then spreads as much as f^β does in one dimension. D counts the dimensions in which the actions of a batch
differ from 0, and f is their density: a locked joint says nothing of a pair.

Reference: Basu, Harris, Hjort & Jones 1998, "Robust and efficient estimation by minimising a density power divergence".
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.networks.heads import MDNHead
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import absolute_errors, density_power_divergence


@dataclass(frozen=True, kw_only=True)
class DensityPowerSettings(NetworkSettings):
    """Settings of the density-power divergence."""

    beta: float = 0.5
    """β: how firmly improbable actions are ignored; towards 0 it is maximum likelihood, and 1 is already extreme."""
    variance_floor: float = 1e-2
    """Smallest variance of the Gaussian, in units of the normalised actions; it keeps the densities bounded."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("beta", "variance_floor")


class DensityPower(NetworkMethod[DensityPowerSettings]):
    """Minimum density-power divergence of a Gaussian with a learned variance; acts by its mean."""

    name = "density-power"
    summary = "a Gaussian that ignores what it finds improbable; assumes that good actions are the densest ones"
    when = "for at most some 40 % bad pairs, where no right action is rare"
    settings_type = DensityPowerSettings
    part_names = ("divergence",)

    def head(self, settings: DensityPowerSettings, members: int, features: int, actions: int) -> MDNHead:
        return MDNHead(members, features, actions, mixtures=1, variance_floor=settings.variance_floor)

    def loss(
        self, settings: DensityPowerSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        divergence = density_power_divergence(parameters, actions, settings.beta).mean(1)
        return LossTerms(divergence, {"divergence": divergence})

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        # Not the likelihood: single bad pairs that a narrow Gaussian finds absurd would decide it.
        return absolute_errors(parameters, actions)
