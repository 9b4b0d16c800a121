"""The three heads: a point, a free mixture, and mixtures correlated with a target."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from robust_bc.networks.annealing import AnnealedVariance
from robust_bc.networks.cholesky import (
    correlated_means,
    local_products,
    marginal_variance,
    shared_products,
    slack,
)
from robust_bc.networks.linear import FleetLinear
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.model import Chooser, Rows
from robust_bc.networks.network import Head

WeightNoise = Literal["marginal", "local", "shared"]
Correlation = Literal["tanh", "sigmoid"]
GateName = Literal["state", "episode", "global"]

LOG_VARIANCE_CEILING = 20.0
"""Largest log-variance: far from the data exp would overflow, and infinity over infinity is no number."""


class RegressionHead(Head):
    """One point per observation: a single mixture of zero variance."""

    def __init__(self, members: int, features: int, actions: int) -> None:
        super().__init__()
        self.mean = FleetLinear(members, features, actions)

    def forward(self, features: Tensor, noise: Tensor | None, progress: float) -> MixtureParameters:
        means = self.mean(features).unsqueeze(1)  # (M, 1, D, B)
        return MixtureParameters(
            log_weights=torch.zeros_like(means[:, :, 0]), means=means, variances=torch.zeros_like(means)
        )

    def by_row(self) -> Chooser:
        return self.mean.by_row()


class MDNHead(Head):
    """A mixture density network (Bishop 1994): weights, means and variances all free."""

    def __init__(self, members: int, features: int, actions: int, *, mixtures: int, variance_floor: float) -> None:
        super().__init__()
        self.actions = actions
        self.mixtures = mixtures
        self.variance_floor = variance_floor
        self.outputs = FleetLinear(members, features, mixtures * (1 + 2 * actions))

    def forward(self, features: Tensor, noise: Tensor | None, progress: float) -> MixtureParameters:
        each = self.mixtures * self.actions
        logits, means, log_variances = self.outputs(features).split((self.mixtures, each, each), 1)
        shape = (logits.shape[0], self.mixtures, self.actions, logits.shape[2])
        return MixtureParameters(
            log_weights=torch.log_softmax(logits, 1),
            means=means.reshape(shape),
            variances=_variance(log_variances).reshape(shape) + self.variance_floor,
        )

    def by_row(self) -> Chooser:
        """The mean of the heaviest mixture."""
        outputs = self.outputs.by_row(self.mixtures * (1 + self.actions))

        def choose(features: Rows) -> Rows:
            logits, means = np.split(outputs(features), [self.mixtures], axis=2)
            each = means.reshape(*means.shape[:2], self.mixtures, self.actions)  # (M, B, K, D)
            return np.take_along_axis(each, logits.argmax(2)[..., None, None], axis=2)[:, :, 0]

        return choose


class ChoiceNetHead(Head):
    """K mixtures whose means are correlated with one target through the Cholesky block.

    ρ_1 = 1 is the target; ρ_k = tanh(·) for the others; Σ_k = (1 − ρ_k²)·Σ_0 + τ⁻¹. The weight noise of the block
    is either sampled (per sample, `local`, or per batch, `shared`, as in the paper) or integrated out (`marginal`),
    which is exact for each mixture because the noise is Gaussian. Without noise, the mixture is always the marginal.

    The authors' code had a sigmoid in the place of tanh, which leaves no negative correlation, and ρ_1 = 0.95, which
    sends the target through the block like any other mixture. Both are here for comparison. Whatever ρ_1 is, the head
    acts by the target at ρ = 1.

    Rivals stand behind the K, each with a mean of its own and a variance that is the same in all states; their ρ is 0.
    The head weighs the mixtures by state, unless a gate does (`weighs`).

    The output bias b is not one of the correlated weights: μ_k = b + W̃_k h. It is the learned point about which
    ρ = −1 mirrors the target and around which ρ = 0 spreads, so both mean the same wherever the actions' zero is.
    """

    def __init__(
        self,
        members: int,
        features: int,
        actions: int,
        *,
        mixtures: int,
        rivals: int,
        weighs: bool,
        sigma_z: float,
        noise: WeightNoise,
        variance_floor: AnnealedVariance,
        correlation: Correlation,
        target_correlation: float,
    ) -> None:
        super().__init__()
        self.actions = actions
        self.features = features
        self.mixtures = mixtures
        self.rivals = rivals
        self.sigma_z = sigma_z
        self.noise = noise
        self.variance_floor = variance_floor  # τ⁻¹
        self.correlation = torch.tanh if correlation == "tanh" else torch.sigmoid
        self.target_correlation = target_correlation
        # One product for everything: target D, ρ of the others K−1, π K+R if the head weighs, Σ_0 D, rivals RD.
        self.parts = (actions, mixtures - 1, (mixtures + rivals) * weighs, actions, rivals * actions)
        self.outputs = FleetLinear(members, features, sum(self.parts))
        self.rival_log_variance = nn.Parameter(torch.zeros(members, rivals * actions, 1)) if rivals else None

    def noise_shape(self, batch: int) -> tuple[int, ...]:
        sampled = {
            "marginal": (),
            "local": (2, self.actions, batch),
            "shared": (2, self.actions, self.features),
        }
        return sampled[self.noise]

    def prepare(self, passes: Tensor) -> None:
        self.variance_floor.prepare(passes)

    def forward(self, features: Tensor, noise: Tensor | None, progress: float) -> MixtureParameters:
        target, raw, logits, log_base, rivals = self.outputs(features).split(self.parts, 1)
        rho = self.correlation(raw)  # (M, K−1, B)
        if self.target_correlation < 1:
            rho = torch.cat((torch.full_like(target[:, :1], self.target_correlation), rho), 1)  # (M, K, B)
        floor = self.variance_floor(progress)
        spread = slack(rho).unsqueeze(2) * _variance(log_base).unsqueeze(1)  # (M, K or K−1, D, B)
        pivot = self.outputs.bias[:, : self.actions]  # (M, D, 1)
        lever = target - pivot  # μh, (M, D, B)
        if noise is None:
            means = rho.unsqueeze(2) * lever.unsqueeze(1)
            spread = spread + marginal_variance(features, rho, self.sigma_z).unsqueeze(2)
        else:
            products = local_products if self.noise == "local" else shared_products
            means = correlated_means(lever, rho, products(features, noise), self.sigma_z)
        means = means + pivot.unsqueeze(1)
        if self.target_correlation == 1:  # exactly, where the block keeps 1 − ρ² above zero
            means = torch.cat((target.unsqueeze(1), means), 1)
            spread = torch.cat((torch.zeros_like(target).unsqueeze(1), spread), 1)
            rho = torch.cat((torch.ones_like(target[:, :1]), rho), 1)
        if self.rival_log_variance is not None:
            shape = (len(target), self.rivals, self.actions, -1)
            means = torch.cat((means, rivals.reshape(shape)), 1)
            broad = _variance(self.rival_log_variance).reshape(shape)
            spread = torch.cat((spread, broad.expand(-1, -1, -1, target.shape[2])), 1)
            rho = torch.cat((rho, torch.zeros_like(rho[:, :1]).expand(-1, self.rivals, -1)), 1)
        if not logits.shape[1]:  # a gate weighs
            logits = torch.zeros_like(rho)
        return MixtureParameters(
            log_weights=torch.log_softmax(logits, 1), means=means, variances=spread + floor, correlations=rho
        )

    @torch.no_grad()
    def settle(self, weights: Tensor) -> Tensor:
        """A rival that owns more than the target is the target: they change places."""
        settled, size = weights.clone(), self.actions
        for rival in range(self.rivals):
            mine = self.mixtures + rival
            larger = settled[:, mine] > settled[:, 0]  # (M, 1)
            first = sum(self.parts[:-1]) + rival * size
            for parameter in (self.outputs.weight, self.outputs.bias):
                target, other = parameter[:, :size].clone(), parameter[:, first : first + size].clone()
                parameter[:, :size] = torch.where(larger.unsqueeze(2), other, target)
                parameter[:, first : first + size] = torch.where(larger.unsqueeze(2), target, other)
            of_target, of_rival = settled[:, 0].clone(), settled[:, mine].clone()
            settled[:, 0] = torch.where(larger, of_rival, of_target)
            settled[:, mine] = torch.where(larger, of_target, of_rival)
        return settled

    def by_row(self) -> Chooser:
        """The target, μᵀh: what mixture 1 says at ρ = 1, whatever ρ_1 was in training."""
        return self.outputs.by_row(self.actions)


def _variance(log_variance: Tensor) -> Tensor:
    return log_variance.clamp_max(LOG_VARIANCE_CEILING).exp()
