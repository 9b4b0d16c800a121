"""Gaussian-process regression of more pairs than a matrix of all of them allows: some of them stand for all.

With m of the n inputs as inducing inputs Z, and features φ(x) = Λ^(−½) Qᵀ k(Z, x) of the spectrum k(Z, Z) = QΛQᵀ, the
function is φ(x)ᵀw with w ~ N(0, s·I), seen with noise of variance σ². Both variances are those of greatest likelihood
of all n pairs, N(Y; 0, s·ΦΦᵀ + σ²I): m pairs alone can be explained by their m features without any noise, and all n
cannot. The posterior mean is

    f(x) = k(x, Z)·a,    a = Q Λ^(−½) (σ²/s·I + Σ φφᵀ)⁻¹ Σ φ yᵀ    over all n pairs, seen portion by portion.

With Z all inputs it is the exact posterior. A pair of Z counts with the precision of all pairs that it is nearest to,
so that the variance of the prediction falls where there are many.

References: Silverman 1985; Quiñonero-Candela & Rasmussen 2005, "A unifying view of sparse approximate Gaussian process
regression" (subset of regressors).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from robust_bc.gaussian_processes.fitted import FittedProcess
from robust_bc.gaussian_processes.likelihood import maximise_variances
from robust_bc.gaussian_processes.prior import RANK_TOLERANCE, Prior
from robust_bc.networks.mixture import LOG_TWO_PI

LARGEST_PORTION = 2**21
"""Entries of the kernel between inducing inputs and others that are held at once: 16 MiB each."""


def project(fitted: FittedProcess, prior: Prior, inducing: Tensor, inputs: Tensor, targets: Tensor) -> FittedProcess:
    """The posterior of targets (n, D) at inputs (n, S), from what inducing inputs (m, S) alone had led to."""
    kept = prior.eigenvalues > 0
    basis = prior.eigenvectors[:, kept] / prior.eigenvalues[kept].sqrt()  # (m, R)
    products = torch.zeros(basis.shape[1], basis.shape[1], dtype=basis.dtype)
    along = torch.zeros(basis.shape[1], targets.shape[1], dtype=basis.dtype)
    counts = torch.zeros(len(inducing), dtype=basis.dtype)
    rows = max(1, LARGEST_PORTION // len(inducing))
    for part, shown in zip(torch.split(inputs, rows), torch.split(targets, rows), strict=True):
        features = prior.kernel.between(part, inducing) @ basis  # (b, R)
        products += features.mT @ features
        along += features.mT @ shown
        counts += torch.cdist(part, inducing).argmin(1).bincount(minlength=len(inducing))
    live = (targets != 0).any(0)  # a constant action is explained by any pair and without noise
    summary = Summary.of(products, along[:, live] if live.any() else along, targets)
    variances = maximise_variances(summary.negative_log_likelihood, fitted.variances)
    diagonal = variances.noise / variances.signal * torch.eye(len(products), dtype=products.dtype)
    weights = torch.cholesky_solve(along, torch.linalg.cholesky(products + diagonal))
    return replace(fitted, variances=variances, coefficients=basis @ weights, precisions=counts / variances.noise)


@dataclass(frozen=True, eq=False)
class Summary:
    """All that the likelihood of n pairs needs: −log N(Y; 0, s·ΦΦᵀ + σ²I) in the basis of the features' spectrum."""

    eigenvalues: Tensor  # (R,) of ΦᵀΦ
    squares: Tensor  # (R,) of Y along each of these directions, all outputs together
    rest: float  # ‖Y‖² in the other directions, which only noise explains
    pairs: int
    outputs: int

    @classmethod
    def of(cls, products: Tensor, along: Tensor, targets: Tensor) -> Summary:
        """From ΦᵀΦ (R, R), ΦᵀY (R, D) and targets Y (n, D)."""
        eigenvalues, vectors = torch.linalg.eigh(products)
        squares = (vectors.mT @ along).square().sum(1)
        seen = eigenvalues > RANK_TOLERANCE * eigenvalues.max()
        squares = squares[seen] / eigenvalues[seen]
        rest = max(float(targets.square().sum() - squares.sum()), 0.0)
        return cls(eigenvalues[seen], squares, rest, len(targets), along.shape[1])

    def negative_log_likelihood(self, signal: Tensor, noise: Tensor) -> Tensor:
        """Of a signal and a noise variance."""
        variances = signal * self.eigenvalues + noise
        quadratic = (self.squares / variances).sum() + self.rest / noise
        determinant = variances.log().sum() + (self.pairs - len(variances)) * noise.log()
        return 0.5 * (quadratic + self.outputs * (determinant + self.pairs * LOG_TWO_PI))
