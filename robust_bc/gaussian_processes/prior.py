"""The prior of all outputs: a kernel at the inputs, and its spectrum.

The kernel is decomposed once, K = QΛQᵀ. Everything that a fit then tries (signal and noise variances, leverages,
assignments) is cheap where almost all of Λ is zero to the last digit: with squared exponentials in few dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from robust_bc.gaussian_processes.kernels import Kernel

RANK_TOLERANCE = 1e-12
"""Eigenvalues below this share of the largest one are rounding errors, and count as zero."""
LOW_RANK = 0.5
"""A kernel whose rank is below this share of the pairs is handled by its root."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Covariances of the function's values at n inputs for a signal variance of one, in double precision."""

    kernel: Kernel
    correlation: Tensor  # (n, n)
    eigenvalues: Tensor  # (n,), none below zero
    eigenvectors: Tensor  # (n, n)
    root: Tensor | None  # (n, R) with correlation = root·rootᵀ where the rank is low

    @classmethod
    @torch.no_grad()
    def at(cls, inputs: Tensor, kernel: Kernel) -> Prior:
        """The prior at inputs (n, S)."""
        correlation = kernel.among(inputs)
        eigenvalues, vectors = torch.linalg.eigh(correlation)
        values = eigenvalues.clamp_min(0)
        kept = values > RANK_TOLERANCE * values.max()
        low = int(kept.sum()) < LOW_RANK * len(inputs)
        return cls(
            kernel=kernel,
            correlation=correlation,
            eigenvalues=torch.where(kept, values, 0.0),
            eigenvectors=vectors,
            root=vectors[:, kept] * values[kept].sqrt() if low else None,
        )

    @property
    def length_scale(self) -> float:
        return self.kernel.length_scale
