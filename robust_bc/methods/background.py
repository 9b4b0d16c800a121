"""`background`: a narrow Gaussian around the policy and a broad one for bad pairs, ChoiceNet without ρ.

    min_f  −mean_i log( π(x_i)·N(y_i; f(x_i), τ⁻¹) + (1 − π(x_i))·N(y_i; 0, σ²) )

The classic contamination model, with weights that depend on the state. It has ChoiceNet's target, its variance τ⁻¹ and
the same annealing of it. What it lacks is ρ, the correlation with the target, and so the KL term that ties the weights
to ρ: a mirrored action is just any bad action. What ChoiceNet gains over it, it gains by these.

References: Tukey 1960, "A survey of sampling from contaminated distributions"; Aitkin & Wilson 1980, "Mixture models,
outliers, and the EM algorithm"; Choi et al. 2020 for the target.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.fleet.annealing import AnnealedVariance
from robust_bc.fleet.background import BackgroundHead
from robust_bc.losses import LossTerms, mixture_loss
from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.mixture import MixtureParameters, log_likelihood


@dataclass(frozen=True, kw_only=True)
class BackgroundSettings(NetworkSettings):
    """Settings of the target with a background; those of τ⁻¹ are ChoiceNet's."""

    background_variance: float = 1.0
    """σ², variance of the background in units of the normalised actions: 1 is that of all actions shown."""
    tau_inverse: float = 1e-2
    """τ⁻¹, variance of the target in units of the normalised actions."""
    tau_inverse_start: float = 1.0
    """τ⁻¹ at the start of training; equal to `tau_inverse`, it is not annealed."""
    tau_passes: float = 100.0
    """Passes over the pairs during which τ⁻¹ falls geometrically from its start (graduated non-convexity)."""
    tau_anneal: float = 0.6
    """τ⁻¹ reaches its end after this share of training at the latest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("background_variance", "tau_inverse", "tau_inverse_start")
        self.require_not_negative("tau_passes")
        self.require_share("tau_anneal")


class Background(NetworkMethod[BackgroundSettings]):
    """Maximum likelihood of target and background; acts by the target."""

    name = "background"
    summary = "a narrow target and a broad background; assumes that bad actions are spread out, unlike good ones"
    settings_type = BackgroundSettings
    part_names = ("nll",)

    def head(self, settings: BackgroundSettings, members: int, features: int, actions: int) -> BackgroundHead:
        variance = AnnealedVariance(
            members,
            end=settings.tau_inverse,
            start=settings.tau_inverse_start,
            passes=settings.tau_passes,
            share=settings.tau_anneal,
        )
        return BackgroundHead(
            members, features, actions, variance=variance, background_variance=settings.background_variance
        )

    def loss(
        self, settings: BackgroundSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        return mixture_loss(parameters, actions)

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return -log_likelihood(parameters, actions)
