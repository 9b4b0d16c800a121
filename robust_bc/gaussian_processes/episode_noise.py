"""A noise variance of its own for every episode: who records carelessly counts less.

With Σ = sK + diag(σ_e²), α = Σ⁻¹Y of D outputs and S = diag(Σ⁻¹), −log N(Y; 0, Σ) has the slope
½·Σ_{i in e} (D·S_i − ‖α_i‖²) along σ_e². It is 0 where these two sums are equal, so a round goes

    σ_e² ← σ_e² · (Σ_{i in e} σ_e²·‖α_i‖² + β·a) / (Σ_{i in e} σ_e²·D·S_i + β·b),

with a and b the means of σ²·‖α‖² and σ²·D·S over all pairs: the episode has β pairs more, which are like all others,
and a short one changes little. A few rounds (MacKay's fixed point, 1992) begin at the noise of all.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from robust_bc.gaussian_processes.fitted import FittedProcess, balanced_factor, posterior_coefficients
from robust_bc.gaussian_processes.likelihood import NOISE_CEILING, NOISE_FLOOR
from robust_bc.gaussian_processes.prior import Prior

ROUNDS = 5
"""Each takes an inverse of all pairs."""
PRIOR_PAIRS = 10.0
"""β: an episode of so many pairs moves by half of what its own say."""


def with_episode_noise(fitted: FittedProcess, prior: Prior, targets: Tensor, episodes: Tensor) -> FittedProcess:
    """The process of targets (n, D) again, where episodes (n,), counted from 0, differ by their noise."""
    count = int(episodes.max()) + 1
    covariance = fitted.variances.signal * prior.correlation
    noise = torch.full((count,), fitted.variances.noise, dtype=targets.dtype)
    for _ in range(ROUNDS):
        noise = _next_noise(noise, covariance, targets, episodes)
    precisions = 1 / noise[episodes]
    solved = posterior_coefficients(covariance, precisions, targets)
    return replace(fitted, coefficients=fitted.variances.signal * solved, precisions=precisions)


def _next_noise(noise: Tensor, covariance: Tensor, targets: Tensor, episodes: Tensor) -> Tensor:
    """One round of the fixed point, (E,)."""
    precisions = 1 / noise[episodes]
    factor = balanced_factor(covariance, precisions)
    # Σ⁻¹ = W^½ (I + W^½ K W^½)⁻¹ W^½, whose factor is well-conditioned.
    inverse = torch.cholesky_inverse(factor)
    root = precisions.sqrt()[:, None]
    solved = root * (inverse @ (root * targets))
    squares, slacks = solved.square().sum(1), targets.shape[1] * precisions * inverse.diagonal()
    observed, expected = squares * noise[episodes], slacks * noise[episodes]
    mine = torch.zeros_like(noise).index_add(0, episodes, observed) + PRIOR_PAIRS * observed.mean()
    usual = torch.zeros_like(noise).index_add(0, episodes, expected) + PRIOR_PAIRS * expected.mean()
    return (noise * mine / usual).clamp(NOISE_FLOOR, NOISE_CEILING)
