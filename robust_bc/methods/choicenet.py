"""`choicenet`: mixtures correlated with one target through a Cholesky block (Choi et al., CVPR 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from robust_bc.methods.annealed import AnnealedSettings
from robust_bc.methods.network import NetworkMethod
from robust_bc.networks.gates import Gate
from robust_bc.networks.heads import ChoiceNetHead, Correlation, GateName, WeightNoise
from robust_bc.networks.losses import LossTerms, choicenet_loss
from robust_bc.networks.mixture import MixtureParameters, log_likelihood


@dataclass(frozen=True, kw_only=True)
class ChoiceNetSettings(AnnealedSettings):
    """Settings of ChoiceNet; Greek names as in the paper."""

    mixtures: int = 2
    """K, the target and the K−1 mixtures that are correlated with it."""
    rivals: int = 1
    """Mixtures with a mean of their own, for bad demonstrations with a policy of their own."""
    gate: GateName = "episode"
    """What the weights π of the mixtures belong to: a state, as in the paper, an episode, or all pairs together."""
    episode_noise: bool = True
    """With a gate by episode: whether the target has a noise of its own in each, so that noisy ones count less."""
    likelihood_weight: float = 1.0
    """λ_MDN, weight of the mixture likelihood."""
    kl_weight: float = 2.0
    """λ_KL, weight of KL(softmax(ρ) ‖ π) with a gate by state: how firmly the target must own the data."""
    l2_weight: float = 0.1
    """λ_L2 at the start, weight of the squared error of the target."""
    l2_weight_end: float = 0.0
    """λ_L2 after that; a constant pull draws the target towards the outliers."""
    l2_anneal: float = 0.1
    """Share of training over which λ_L2 goes linearly from its start to its end."""
    sigma_z: float = 1.0
    """σ_Z, deviation of the weight noise of uncorrelated mixtures."""
    noise: WeightNoise = "marginal"
    """The weight noise is integrated out, or sampled per sample (local) or per batch (shared, as in the paper)."""
    correlation: Correlation = "tanh"
    """What makes ρ of the rivals: tanh, or a sigmoid as in the authors' code, which knows no mirrored actions."""
    target_correlation: float = 1.0
    """ρ_1, correlation of the first mixture with the target while training: 0.95 in the authors' code. Below 1 that
    mixture goes through the Cholesky block like the others; the policy acts at ρ = 1 in any case."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("mixtures", "likelihood_weight", "sigma_z")
        self.require_not_negative("rivals", "kl_weight", "l2_weight", "l2_weight_end")
        self.require_share("l2_anneal")
        self.require("target_correlation", 0 < self.target_correlation <= 1, "above 0 and at most 1")

    def l2_weight_at(self, progress: float) -> float:
        """λ_L2 after this share of training."""
        left = 1 - progress / self.l2_anneal if progress < self.l2_anneal else 0.0
        return left * self.l2_weight + (1 - left) * self.l2_weight_end


IN_THE_PAPER: dict[str, Any] = {
    "gate": "state",
    "rivals": 0,
    "mixtures": 5,
    "noise": "shared",
    "tau_passes": 0.0,
    "l2_anneal": 0.5,
}
"""Settings of ChoiceNet as it is printed: weights of the mixtures by state, no rival with a mean of its own, weights
drawn for each batch, τ⁻¹ not annealed, and λ_L2 as in the authors' code."""


class ChoiceNet(NetworkMethod[ChoiceNetSettings]):
    """MDN + L2 + KL loss on correlated mixtures; acts by the target."""

    name = "choicenet"
    summary = "mixtures correlated with one target; assumes that good actions are one function of the state"
    when = "for most piles of single bad actions, when nobody knows how many there are"
    settings_type = ChoiceNetSettings
    part_names = ("nll", "l2", "kl")

    def head(self, settings: ChoiceNetSettings, members: int, features: int, actions: int) -> ChoiceNetHead:
        return ChoiceNetHead(
            members,
            features,
            actions,
            mixtures=settings.mixtures,
            rivals=settings.rivals,
            weighs=settings.gate == "state",
            sigma_z=settings.sigma_z,
            noise=settings.noise,
            variance_floor=settings.annealed_variance(members),
            correlation=settings.correlation,
            target_correlation=settings.target_correlation,
        )

    def gate(self, settings: ChoiceNetSettings, members: int) -> Gate | None:
        if settings.gate == "state":
            return None
        by_episode = settings.gate == "episode"
        noise = settings.episode_noise and by_episode
        return Gate(members, settings.mixtures + settings.rivals, by_episode=by_episode, noise=noise)

    def loss(
        self, settings: ChoiceNetSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        return choicenet_loss(
            parameters,
            actions,
            likelihood_weight=settings.likelihood_weight,
            l2_weight=settings.l2_weight_at(progress),
            kl_weight=settings.kl_weight if settings.gate == "state" else 0.0,
        )

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return -log_likelihood(parameters, actions)
