"""Robust statistics as pure functions: what a residual costs, and how the costs of a batch become one per member.

Residuals are y − μ in units of the normalised actions, (M, D, B), and 0 in dimensions that are not live; the costs of
whole pairs are (M, B), those of members (M,). Nothing here mixes members.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from robust_bc.data.normalisation import MAD_TO_STANDARD_DEVIATION
from robust_bc.networks.mixture import LOG_TWO_PI, MixtureParameters, heaviest_means

BIWEIGHT_CUTOFF = 4.6851
"""c, in deviations: with it the biweight is 95 % as efficient as least squares where the noise is Gaussian."""
SCALE_FLOOR = 1e-2
"""Smallest deviation that residuals are divided by, in units of the normalised actions: a batch that is fitted exactly
has none, and below a hundredth of the actions' own spread a difference means nothing."""


def residuals_of(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """y − μ_1 for actions (M, D, B)."""
    return parameters.only_live(actions - parameters.means[:, 0])


def absolute_errors(parameters: MixtureParameters, actions: Tensor) -> Tensor:
    """Σ_d |y_d − μ_d| over live dimensions with μ the mean of the heaviest mixture, of every pair, (M, B)."""
    return parameters.only_live(actions - heaviest_means(parameters)).abs().sum(1)


def residual_scale(residuals: Tensor) -> Tensor:
    """1.4826·MAD of the residuals over the batch, for every member and dimension, (M, D, 1); a constant to gradients.

    Where the batch is even, the median is the lower one of the middle two.
    """
    fixed = residuals.detach()
    centre = fixed.median(2, keepdim=True).values  # (M, D, 1)
    deviation = (fixed - centre).abs().median(2, keepdim=True).values
    return (MAD_TO_STANDARD_DEVIATION * deviation).clamp_min(SCALE_FLOOR)


def biweight(scaled: Tensor, cutoff: float = BIWEIGHT_CUTOFF) -> Tensor:
    """Tukey's c²/6·(1 − (1 − (u/c)²)³) where |u| ≤ c and c²/6 beyond; its slope is u·(1 − (u/c)²)², then nothing."""
    beyond = 1 - (scaled / cutoff).square().clamp_max(1)
    return cutoff**2 / 6 * (1 - beyond**3)


def kept_of(costs: Tensor, rate: float) -> Tensor:
    """Which pairs of a batch remain when each member's round(rate·B) dearest are dropped: (M, B) -> (M, kept)."""
    kept = costs.shape[1] - round(rate * costs.shape[1])
    return costs.topk(max(1, kept), dim=1, largest=False, sorted=False).indices


def trimmed_mean(costs: Tensor, rate: float) -> Tensor:
    """Mean over the pairs that remain when each member's round(rate·B) dearest are dropped: (M, B) -> (M,)."""
    return costs.gather(1, kept_of(costs, rate)).mean(1)


def density_power_divergence(parameters: MixtureParameters, actions: Tensor, beta: float) -> Tensor:
    """∫f^(1+b) − (1 + 1/b)·f(y)^b + 1/b of every pair's first Gaussian f in its live dimensions, (M, B).

    b = β/√D and ∫f^(1+b) = Π_d (2πσ_d²)^(−b/2)·(1 + b)^(−1/2), D and d being of the live ones. The constant 1/b makes
    the whole tend to −log f(y) as β goes to 0. Densities stay logarithms until they are raised to b, and (f^b − 1)/b is
    not the difference of two large numbers.
    """
    variances = parameters.variances[:, 0]
    power, shrinkage = _powers(parameters.live_count(), beta)
    log_peak = -0.5 * parameters.only_live(variances.log() + LOG_TWO_PI).sum(1)  # log f at its mean, (M, B)
    squares = (residuals_of(parameters, actions).square() / variances).sum(1)
    log_power = power * (log_peak - 0.5 * squares)  # log f(y)^b
    integral = (power * log_peak - shrinkage).exp()
    return integral - log_power.exp() - torch.expm1(log_power) / power


def _powers(dimensions: Tensor | int, beta: float) -> tuple[Tensor | float, Tensor | float]:
    """b = β/√D and D/2·log(1 + b)."""
    if isinstance(dimensions, int):
        power = beta / math.sqrt(dimensions)
        return power, 0.5 * dimensions * math.log1p(power)
    powers = beta / dimensions.sqrt()  # (M, 1)
    return powers, 0.5 * dimensions * torch.log1p(powers)
