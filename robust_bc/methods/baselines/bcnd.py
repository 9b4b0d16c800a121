"""`bcnd`: behaviour cloning from noisy demonstrations (Sasaki & Yamashina, ICLR 2021).

The pairs are split at random among K networks, and each learns from its own part. What most demonstrations say, all
networks learn; a single bad pair is learned by one of them at most. So the ensemble's density at a pair tells how
common it is, and in every round the next ensemble maximises the likelihood weighted by the density of the last:

    max_θk  Σ_{i∈part k} π_old(y_i|x_i)·log π_θk(y_i|x_i),      π_old = (1/K) Σ_k π_θk of the round before.

The ensemble's mode is sharpened round by round. Three things are ours: a pair is drawn in proportion to its weight
instead of having its gradient multiplied, which is the same in the mean; a network goes on from where its last round
left it, so that all rounds together are `steps` steps; and the density counts per dimension, π_k^(1/D), for that of a
whole action varies over so many orders of magnitude that a few pairs would be all that is seen. D counts the dimensions
in which the actions differ from 0, and π_k is their density: a locked joint says nothing of a pair.

A network thus costs what one of any other method costs, and the whole K times that. Each learns from one K-th of the
pairs, and so sees each of its own K times as often. A round is made of whole blocks of 25 steps: where there are fewer
blocks than rounds, there are fewer rounds, so that of 9 re-weightings 60 steps do 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from torch import Tensor

from robust_bc.methods.mdn import MDNSettings
from robust_bc.methods.network import NetworkMethod
from robust_bc.networks.heads import MDNHead
from robust_bc.networks.losses import LossTerms, mixture_loss
from robust_bc.networks.mixture import MixtureParameters, log_likelihood
from robust_bc.networks.robust_losses import absolute_errors
from robust_bc.system.seeding import Index, MemberSeed, Purpose

SHARE_OUT = 1
"""Index of the stream that splits pairs among networks, beside that which holds some out."""


@dataclass(frozen=True, kw_only=True)
class BCNDSettings(MDNSettings):
    """Settings of BCND."""

    mixtures: int = 1
    """Gaussians of each network; the authors' policies have one."""
    variance_floor: float = 1e-2
    """Smallest variance of a Gaussian, in units of the normalised actions."""
    networks: int = 2
    """K, networks in the ensemble, each with its own part of the pairs, which it sees K times as often; all together
    cost K times what one network costs."""
    reweighted: int = 9
    """Rounds that follow the first; in each the pairs are weighed by the ensemble's density. They share `steps` in
    blocks of 25, so that there are fewer where there are fewer blocks: 60 steps have 2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "networks")
        self.require_not_negative("reweighted")

    @property
    def peers(self) -> int:
        return self.networks

    @property
    def rounds(self) -> int:
        return 1 + self.reweighted


class BCND(NetworkMethod[BCNDSettings]):
    """Maximum likelihood on parts of the pairs, weighed by what the other parts taught."""

    name = "bcnd"
    summary = "networks on parts of the pairs vote on each pair's weight; assumes that good actions are the common ones"
    when = "for regressions with outliers at random; weak in our control tasks"
    settings_type = BCNDSettings
    part_names = ("nll",)

    def head(self, settings: BCNDSettings, members: int, features: int, actions: int) -> MDNHead:
        return MDNHead(members, features, actions, mixtures=settings.mixtures, variance_floor=settings.variance_floor)

    def loss(
        self, settings: BCNDSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        return mixture_loss(parameters, actions)

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        # Not the likelihood: held-out pairs are corrupt, too, and bad ones shall become improbable round by round.
        return absolute_errors(parameters, actions)

    def share_out(self, settings: BCNDSettings, rows: Index, seed: MemberSeed) -> Sequence[Index]:
        order = seed.stream(Purpose.SPLIT, SHARE_OUT).permutation(len(rows))
        parts = np.array_split(rows[order], min(settings.networks, len(rows)))
        return [np.sort(parts[peer % len(parts)]) for peer in range(settings.networks)]

    def pair_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return log_likelihood(parameters, actions) / parameters.live_count()

    def weights(self, settings: BCNDSettings, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        density = logsumexp(scores, axis=0)  # of the whole ensemble, (N,)
        return np.broadcast_to(np.exp(density - density.max()), scores.shape)
