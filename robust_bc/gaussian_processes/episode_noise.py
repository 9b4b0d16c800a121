"""A noise variance of its own for every episode: who records carelessly counts less.

With Σ = sK + diag(σ_e²), α = Σ⁻¹Y of D outputs and S = diag(Σ⁻¹), the likelihood −log N(Y; 0, Σ) has the slope
½·Σ_{i in e} (D·S_i − ‖α_i‖²) along σ_e², which is 0 where

    σ_e² = σ_e²·Σ_{i in e} ‖α_i‖² / (D·Σ_{i in e} S_i).

A few rounds of that (MacKay's fixed point, 1992) begin at the noise of all; a ratio above 1 is a noisier episode. Both
sums are those of the episode and of PRIOR_PAIRS pairs like all others, so that a short one is like all.
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
"""Of so many pairs an episode's own noise counts as much as that of all."""


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
    # As shares of what all pairs have, for a pair of a precise episode has larger ones.
    observed, expected = squares * noise[episodes], slacks * noise[episodes]
    mine = torch.zeros_like(noise).index_add(0, episodes, observed) + PRIOR_PAIRS * observed.mean()
    usual = torch.zeros_like(noise).index_add(0, episodes, expected) + PRIOR_PAIRS * expected.mean()
    return (noise * mine / usual).clamp(NOISE_FLOOR, NOISE_CEILING)
