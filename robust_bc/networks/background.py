"""The background head: a target of small variance, and one broad Gaussian for whatever it cannot explain."""

from __future__ import annotations

import torch
from torch import Tensor

from robust_bc.networks.annealing import AnnealedVariance
from robust_bc.networks.linear import FleetLinear
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.model import Chooser
from robust_bc.networks.network import Head


class BackgroundHead(Head):
    """π(x)·N(y; μ(x), τ⁻¹) + (1 − π(x))·N(y; 0, σ²), with τ⁻¹ annealed and σ² fixed.

    Zero is the centre of the normalised actions, so the background says nothing of the state.
    """

    def __init__(
        self, members: int, features: int, actions: int, *, variance: AnnealedVariance, background_variance: float
    ) -> None:
        super().__init__()
        self.actions = actions
        self.variance = variance
        self.background_variance = background_variance
        # One product for both: target D, π 2.
        self.outputs = FleetLinear(members, features, actions + 2)

    def prepare(self, passes: Tensor) -> None:
        self.variance.prepare(passes)

    def forward(self, features: Tensor, noise: Tensor | None, progress: float) -> MixtureParameters:
        target, logits = self.outputs(features).split((self.actions, 2), 1)
        target = target.unsqueeze(1)  # (M, 1, D, B)
        small = self.variance(progress).expand_as(target)
        return MixtureParameters(
            log_weights=torch.log_softmax(logits, 1),
            means=torch.cat((target, torch.zeros_like(target)), 1),
            variances=torch.cat((small, torch.full_like(target, self.background_variance)), 1),
        )

    def by_row(self) -> Chooser:
        """The target, whatever its weight."""
        return self.outputs.by_row(self.actions)
