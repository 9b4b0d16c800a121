"""What a Gaussian process learned from its pairs, whichever way it was fitted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from robust_bc.gaussian_processes.likelihood import Variances, fit_plain_variances
from robust_bc.gaussian_processes.prior import Prior


@dataclass(frozen=True, eq=False)
class FittedProcess:
    """A posterior: its mean at x is k(x, X)·coefficients, with the kernel k of the prior."""

    length_scale: float
    variances: Variances
    coefficients: Tensor  # (n, D)
    leverages: Tensor  # (n,) in [−1, 1]; 1 for a pair that is what it seems
    precisions: Tensor  # (n,), one over the noise variance of each pair; 0 for a pair that says nothing
    trust: Tensor  # (n,) in [0, 1]


def posterior_coefficients(covariance: Tensor, precisions: Tensor, targets: Tensor) -> Tensor:
    """(K + W⁻¹)⁻¹ Y for precisions W, (n, D).

    As W^½ (I + W^½ K W^½)⁻¹ W^½ Y, which holds for a precision of zero, too, and whose factor is well-conditioned.
    """
    weights = precisions.sqrt()[:, None]
    factor = balanced_factor(covariance, precisions)
    return weights * torch.cholesky_solve(weights * targets, factor)


def balanced_factor(covariance: Tensor, precisions: Tensor) -> Tensor:
    """The Cholesky factor of I + W^½ K W^½, (n, n)."""
    weights = precisions.sqrt()
    identity = torch.eye(len(precisions), dtype=covariance.dtype)
    factor: Tensor = torch.linalg.cholesky(identity + weights[:, None] * covariance * weights)
    return factor


def angles(leverages: Tensor) -> Tensor:
    """π/2·l: a pair of leverage l sees cos of the difference of its angle and another's."""
    return math.pi / 2 * leverages


def fit_live(fit: Callable[[Tensor], FittedProcess], targets: Tensor) -> FittedProcess:
    """The fit of those columns of the targets (n, D) that are not 0 throughout; the others are predicted as 0.

    A constant column, such as a locked joint, is 0 after normalisation. It is explained by any pair and without noise,
    so that with it variances, leverages and assignments would be those of a better fit than there is. All columns share
    one covariance, and a dead one is given that of the live ones in normalised units: it makes no claim of its own, and
    in units of the actions, where its scale is 0, nothing remains of it.
    """
    live = (targets != 0).any(0)  # (D,)
    if live.all() or not live.any():
        return fit(targets)
    fitted = fit(targets[:, live])
    coefficients = torch.zeros_like(targets)
    coefficients[:, live] = fitted.coefficients
    return replace(fitted, coefficients=coefficients)


def fit_exact(prior: Prior, targets: Tensor) -> FittedProcess:
    """Plain Gaussian-process regression of targets (n, D): every pair has the same noise."""
    variances = fit_plain_variances(prior, targets)
    everyone = torch.ones(len(targets), dtype=targets.dtype)
    precisions = everyone / variances.noise
    solved = posterior_coefficients(variances.signal * prior.correlation, precisions, targets)
    return FittedProcess(
        length_scale=prior.length_scale,
        variances=variances,
        coefficients=variances.signal * solved,
        leverages=everyone,
        precisions=precisions,
        trust=everyone,
    )
