"""Gaussian-process regression of more pairs than a matrix of all of them allows: some of them stand for all.

With m of the n inputs as inducing inputs Z, features φ(x) = Λ^(−½) Qᵀ k(Z, x) of the spectrum k(Z, Z) = QΛQᵀ, and the
signal and noise variances s and σ² that these m pairs lead to, the function is φ(x)ᵀw with w ~ N(0, s·I), and the
posterior mean of all n pairs is

    f(x) = k(x, Z)·a,    a = Q Λ^(−½) (σ²/s·I + Σ φφᵀ)⁻¹ Σ φ yᵀ    over all n pairs, seen portion by portion.

With Z all inputs it is the exact posterior. A pair of Z counts with the precision of all pairs that it is nearest to,
so that the variance of the prediction falls where there are many.

References: Silverman 1985; Quiñonero-Candela & Rasmussen 2005, "A unifying view of sparse approximate Gaussian process
regression" (subset of regressors).
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from robust_bc.gaussian_processes.fitted import FittedProcess
from robust_bc.gaussian_processes.prior import Prior

LARGEST_PORTION = 2**21
"""Entries of the kernel between inducing inputs and others that are held at once: 16 MiB each."""


def project(fitted: FittedProcess, prior: Prior, inducing: Tensor, inputs: Tensor, targets: Tensor) -> FittedProcess:
    """The posterior of targets (n, D) at inputs (n, S), from what inducing inputs (m, S) alone had led to."""
    kept = prior.eigenvalues > 0
    basis = prior.eigenvectors[:, kept] / prior.eigenvalues[kept].sqrt()  # (m, R)
    products = fitted.variances.noise / fitted.variances.signal * torch.eye(basis.shape[1], dtype=basis.dtype)
    along = torch.zeros(basis.shape[1], targets.shape[1], dtype=basis.dtype)
    counts = torch.zeros(len(inducing), dtype=basis.dtype)
    rows = max(1, LARGEST_PORTION // len(inducing))
    for part, shown in zip(torch.split(inputs, rows), torch.split(targets, rows), strict=True):
        features = prior.kernel.between(part, inducing) @ basis  # (b, R)
        products += features.mT @ features
        along += features.mT @ shown
        counts += torch.cdist(part, inducing).argmin(1).bincount(minlength=len(inducing))
    weights = torch.cholesky_solve(along, torch.linalg.cholesky(products))
    return replace(fitted, coefficients=basis @ weights, precisions=counts / fitted.variances.noise)
