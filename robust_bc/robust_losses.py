"""Robust statistics as pure functions: what a residual costs, and how the costs of a batch become one per member.

Residuals are y − μ in units of the normalised actions, (M, D, B); the costs of whole pairs are (M, B), those of members
(M,). Nothing here mixes members.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from robust_bc.mixture import LOG_TWO_PI, MixtureParameters

BIWEIGHT_CUTOFF = 4.6851
"""c, in deviations: with it the biweight is 95 % as efficient as least squares where the noise is Gaussian."""
DEVIATIONS_PER_MAD = 1.4826
"""Deviation of a Gaussian over its median absolute deviation."""
SCALE_FLOOR = 1e-2
"""Smallest deviation that residuals are divided by, in units of the normalised actions: a batch that is fitted exactly
has none, and below a hundredth of the actions' own spread a difference means nothing."""


def residuals_of(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """y − μ_1 for actions (M, D, B)."""
    return actions - parameters.means[:, 0]


def squared_errors(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """‖y − μ_1‖² of every pair, (M, B)."""
    return residuals_of(parameters, actions).square().sum(1)


def absolute_errors(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """Σ_d |y_d − μ_1d| of every pair, (M, B)."""
    return residuals_of(parameters, actions).abs().sum(1)


def huber(residuals: Tensor, delta: float) -> Tensor:
    """r²/2 where |r| ≤ δ and δ·(|r| − δ/2) beyond, of the same shape."""
    size = residuals.abs()
    near = size.clamp_max(delta)
    return near * (size - 0.5 * near)


def residual_scale(residuals: Tensor) -> Tensor:
    """1.4826·MAD of the residuals over the batch, for every member and dimension, (M, D, 1); a constant to gradients.

    Where the batch is even, the median is the lower one of the middle two.
    """
    fixed = residuals.detach()
    centre = fixed.median(2, keepdim=True).values  # (M, D, 1)
    deviation = (fixed - centre).abs().median(2, keepdim=True).values
    return (DEVIATIONS_PER_MAD * deviation).clamp_min(SCALE_FLOOR)


def biweight(scaled: Tensor, cutoff: float = BIWEIGHT_CUTOFF) -> Tensor:
    """Tukey's c²/6·(1 − (1 − (u/c)²)³) where |u| ≤ c and c²/6 beyond; its slope is u·(1 − (u/c)²)², then nothing."""
    beyond = 1 - (scaled / cutoff).square().clamp_max(1)
    return cutoff**2 / 6 * (1 - beyond**3)


def leaky_biweight(scaled: Tensor, leak: float, cutoff: float = BIWEIGHT_CUTOFF) -> Tensor:
    """(1 − leak)·ρ_c(u) + leak·u²/2: beyond c the slope is leak·u, that of least squares times `leak`.

    A residual then weighs leak + (1 − leak)·(1 − (u/c)²)² of what it weighs in least squares, and never nothing.
    """
    return (1 - leak) * biweight(scaled, cutoff) + 0.5 * leak * scaled.square()


def kept_of(costs: Tensor, rate: float) -> Tensor:
    """Which pairs of a batch remain when each member's round(rate·B) dearest are dropped: (M, B) -> (M, kept)."""
    kept = costs.shape[1] - round(rate * costs.shape[1])
    return costs.topk(max(1, kept), dim=1, largest=False, sorted=False).indices


def trimmed_mean(costs: Tensor, rate: float) -> Tensor:
    """Mean over the pairs that remain when each member's round(rate·B) dearest are dropped: (M, B) -> (M,)."""
    return costs.gather(1, kept_of(costs, rate)).mean(1)


def median_of_means(costs: Tensor, groups: int) -> Tensor:
    """Median over groups of the mean cost in each: (M, B) -> (M,).

    Pair b is in group b modulo `groups`, so that sizes differ by one at most; a batch of fewer pairs than groups makes
    each pair a group. Of an even number of groups the two in the middle are averaged.
    """
    members, batch = costs.shape
    groups = min(groups, batch)
    group = torch.arange(batch, device=costs.device) % groups
    sizes = costs.new_zeros(groups).index_add(0, group, costs.new_ones(batch))
    means = costs.new_zeros(members, groups).index_add(1, group, costs) / sizes  # (M, G)
    ordered = means.sort(1).values
    return 0.5 * (ordered[:, (groups - 1) // 2] + ordered[:, groups // 2])


def density_power_divergence(residuals: Tensor, variances: Tensor, power: float) -> Tensor:
    """∫f^(1+β) − (1 + 1/β)·f(y)^β + 1/β of every pair's diagonal Gaussian f with β = `power`, (M, B).

    ∫f^(1+β) = Π_d (2πσ_d²)^(−β/2)·(1 + β)^(−1/2). The constant 1/β makes the whole tend to −log f(y) as β goes to 0.
    Densities stay logarithms until they are raised to β, and (f^β − 1)/β is not the difference of two large numbers.
    """
    log_peak = -0.5 * (variances.log() + LOG_TWO_PI).sum(1)  # log f at its mean, (M, B)
    log_power = power * (log_peak - 0.5 * (residuals.square() / variances).sum(1))  # log f(y)^β
    integral = (power * log_peak - 0.5 * residuals.shape[1] * math.log1p(power)).exp()
    return integral - log_power.exp() - torch.expm1(log_power) / power
