"""The Gaussian mixture that every head gives, its likelihood and its samples.

Inside the fleet the batch is the last axis, (M, K, D, B): sums over mixtures K and action dimensions D then run
over long contiguous rows instead of over the few neighbours that (M, B, K, D) would have side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

LOG_TWO_PI = math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class MixtureParameters:
    """K diagonal Gaussians over D action dimensions, for M members and B observations."""

    log_weights: Tensor  # (M, K, B)
    means: Tensor  # (M, K, D, B)
    variances: Tensor  # (M, K, D, B); zero where a head gives a point
    correlations: Tensor | None = None  # (M, K, B), ρ of ChoiceNet
    live: Tensor | None = None
    """(M, D, 1), which dimensions tell pairs apart; None if all do. An action of a locked joint is 0 in every pair: it
    tells good ones from bad ones as little as it tells states apart, and counted like the others, it would have a bad
    pair look mostly right."""

    def live_count(self) -> Tensor | int:
        """How many dimensions are live, at least 1: one number for all members, or (M, 1)."""
        return self.means.shape[2] if self.live is None else self.live.sum(1).clamp_min(1)

    def only_live(self, values: Tensor) -> Tensor:
        """Values (M, D, B) with 0 in the dimensions that are not live."""
        return values if self.live is None else torch.where(self.live, values, 0.0)


def component_log_likelihood(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """log N(y; μ_k, Σ_k) of actions (M, D, B) in the live dimensions for every mixture, (M, K, B)."""
    residual = actions.unsqueeze(1) - parameters.means  # (M, K, D, B)
    scaled = residual.square() / parameters.variances + parameters.variances.log()
    if parameters.live is not None:
        scaled = torch.where(parameters.live.unsqueeze(1), scaled, -LOG_TWO_PI)  # the others have the density 1
    return -0.5 * (scaled.sum(2) + actions.shape[1] * LOG_TWO_PI)


def log_likelihood(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """log Σ_k π_k N(y; μ_k, Σ_k) in the live dimensions, (M, B)."""
    return torch.logsumexp(parameters.log_weights + component_log_likelihood(parameters, actions), 1)


def heaviest_means(parameters: MixtureParameters) -> Tensor:
    """The mean of the mixture with the largest weight, (M, D, B)."""
    heaviest = parameters.log_weights.argmax(1)[:, None, None]  # (M, 1, 1, B)
    index = heaviest.expand(-1, -1, parameters.means.shape[2], -1)
    return parameters.means.gather(1, index).squeeze(1)


def sample(parameters: MixtureParameters, generator: torch.Generator) -> Tensor:
    """One action per member and observation, (M, D, B): a mixture by its weight, then its Gaussian."""
    weights = parameters.log_weights.exp()  # (M, K, B)
    members, mixtures, batch = weights.shape
    rows = weights.transpose(1, 2).reshape(members * batch, mixtures).cpu()
    chosen = torch.multinomial(rows, 1, generator=generator).to(weights.device)  # (M·B, 1)
    index = chosen.view(members, 1, 1, batch).expand(-1, 1, parameters.means.shape[2], -1)
    mean = parameters.means.gather(1, index).squeeze(1)  # (M, D, B)
    deviation = parameters.variances.gather(1, index).squeeze(1).sqrt()
    noise = torch.randn(mean.shape, generator=generator).to(mean.device)
    return mean + deviation * noise
