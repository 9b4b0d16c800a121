"""`mdn`: a mixture density network (Bishop 1994), the paper's closest relative of ChoiceNet."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.networks.heads import MDNHead
from robust_bc.networks.losses import LossTerms, mixture_loss
from robust_bc.networks.mixture import MixtureParameters, log_likelihood


@dataclass(frozen=True, kw_only=True)
class MDNSettings(NetworkSettings):
    """Settings of the mixture density network."""

    mixtures: int = 5
    """Number of Gaussians."""
    variance_floor: float = 1e-3
    """Smallest variance of a Gaussian, in units of the normalised actions; it keeps the likelihood bounded."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("mixtures", "variance_floor")


class MDN(NetworkMethod[MDNSettings]):
    """Maximum likelihood of a free mixture; acts by the mean of the heaviest Gaussian."""

    name = "mdn"
    summary = "mixture density network; assumes that good actions are the largest mode in every state"
    when = "for demonstrations with several right answers, not against bad ones"
    settings_type = MDNSettings
    robust = False
    part_names = ("nll",)

    def head(self, settings: MDNSettings, members: int, features: int, actions: int) -> MDNHead:
        return MDNHead(members, features, actions, mixtures=settings.mixtures, variance_floor=settings.variance_floor)

    def loss(self, settings: MDNSettings, parameters: MixtureParameters, actions: Tensor, progress: float) -> LossTerms:
        return mixture_loss(parameters, actions)

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return -log_likelihood(parameters, actions)
