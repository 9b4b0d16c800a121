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


def component_log_likelihood(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """log N(y; μ_k, Σ_k) of actions (M, D, B) for every mixture, (M, K, B)."""
    residual = actions.unsqueeze(1) - parameters.means  # (M, K, D, B)
    scaled = residual.square() / parameters.variances + parameters.variances.log()
    return -0.5 * (scaled.sum(2) + actions.shape[1] * LOG_TWO_PI)


def log_likelihood(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """log Σ_k π_k N(y; μ_k, Σ_k), (M, B)."""
    return torch.logsumexp(parameters.log_weights + component_log_likelihood(parameters, actions), 1)


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
