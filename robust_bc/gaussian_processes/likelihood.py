"""Exact marginal likelihood by GPyTorch's linear operators, and the variances that maximise it.

All outputs share one covariance, so one factor serves them all:

    −log N(Y; 0, Σ) = ½ tr(Yᵀ Σ⁻¹ Y) + D/2·log|Σ| + nD/2·log 2π
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from linear_operator import settings as operator_settings
from linear_operator.operators import DiagLinearOperator, LinearOperator
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from robust_bc.gaussian_processes.prior import Prior
from robust_bc.networks.mixture import LOG_TWO_PI

NOISE_FLOOR, NOISE_CEILING = 1e-6, 1e2
SIGNAL_FLOOR, SIGNAL_CEILING = 1e-4, 1e2
"""Bounds of the two variances, in units of the normalised actions; they keep factors well-conditioned."""
START_SIGNAL, START_NOISE = 1.0, 1e-2
VARIANCE_EVALUATIONS = 15
"""Evaluations of a likelihood that needs a factor each; from a good start, so many are enough."""
EXACT_SIZE = 10**9
"""Up to so many pairs, which is always, operators are factored instead of being solved to a tolerance."""


@dataclass(frozen=True)
class Variances:
    """Of the function, and of the noise on it."""

    signal: float
    noise: float


@contextmanager
def exact_algebra() -> Iterator[None]:
    """Cholesky factors only: GPyTorch would turn to iterative solvers, which are seeded and inexact, at 800 pairs."""
    with (
        operator_settings.max_cholesky_size(EXACT_SIZE),
        operator_settings.fast_computations(covar_root_decomposition=False, log_prob=False, solves=False),
    ):
        yield


def negative_log_likelihood(covariance: LinearOperator, targets: Tensor) -> Tensor:
    """−log N(Y; 0, Σ) of targets (n, D)."""
    with exact_algebra():
        squares, log_determinant = covariance.inv_quad_logdet(targets, logdet=True)
    pairs, outputs = targets.shape
    total: Tensor = 0.5 * (squares.sum() + outputs * log_determinant + pairs * outputs * LOG_TWO_PI)
    return total


def fit_variances(
    covariance: Callable[[Tensor, Tensor], LinearOperator], targets: Tensor, start: Variances, evaluations: int = 100
) -> Variances:
    """Signal and noise variance of greatest marginal likelihood; `covariance` makes Σ of the two."""
    return maximise_variances(
        lambda signal, noise: negative_log_likelihood(covariance(signal, noise), targets), start, evaluations
    )


def maximise_variances(
    negative: Callable[[Tensor, Tensor], Tensor], start: Variances, evaluations: int = 100
) -> Variances:
    """The two where a negative log-likelihood of them is least."""

    def value_and_slope(logarithms: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        both = torch.tensor(logarithms, dtype=torch.float64, requires_grad=True)
        value = negative(both[0].exp(), both[1].exp())
        (slope,) = torch.autograd.grad(value, both)
        return float(value.detach()), slope.numpy()

    bounds = [
        (math.log(low), math.log(high)) for low, high in ((SIGNAL_FLOOR, SIGNAL_CEILING), (NOISE_FLOOR, NOISE_CEILING))
    ]
    found = minimize(
        value_and_slope,
        np.log([start.signal, start.noise]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxfun": evaluations},
    )
    return Variances(*(float(value) for value in np.exp(found.x)))


def fit_plain_variances(prior: Prior, targets: Tensor) -> Variances:
    """The same where every pair has the same noise: in the basis of K's eigenvectors, Σ = sΛ + σ²I is diagonal."""
    rotated = prior.eigenvectors.T @ targets  # (n, D)
    return fit_variances(
        lambda signal, noise: DiagLinearOperator(signal * prior.eigenvalues + noise),
        rotated,
        Variances(START_SIGNAL, START_NOISE),
    )
