"""Features: m points stand for the kernel of a Gaussian process, with distances by a learned metric.

With K the kernel between the points, K = LLᵀ, and k(x) that between them and x, φ(x) = L⁻¹k(x), so that φ(x)ᵀφ(y) is
about the kernel of x and y (Williams & Seeger, "Using the Nyström method to speed up kernel machines", 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist, pdist

from robust_bc.auditing.judging.scaled import Floats, Singles
from robust_bc.methods.gpr import GPR, GPRSettings
from robust_bc.system.seeding import MemberSeed

JITTER = 1e-6


@dataclass(frozen=True, eq=False)
class Features:
    """φ: m features of inputs (n, S)."""

    metric: Floats  # (S, S), the length scale in it
    points: Floats  # (m, S), in the metric
    factor: Floats  # (m, m) Cholesky's, of the kernel between the points

    @classmethod
    def at(cls, metric: Floats, inputs: Singles) -> Features:
        """With these inputs (m, S) as points."""
        points = inputs @ metric
        return cls(metric, points, cholesky(kernel(points, points) + JITTER * np.eye(len(points)), lower=True))

    def of(self, inputs: Singles) -> Floats:
        """(n, m); the first k are those of the first k points alone."""
        across = kernel(self.points, inputs @ self.metric)
        return np.asarray(solve_triangular(self.factor, across, lower=True, check_finite=False).T)


def kernel(left: Floats, right: Floats) -> Floats:
    """(n, k) rational quadratic, 1/(1 + d²/2): squared exponentials of all lengths, so a policy may also switch."""
    return np.asarray(1 / (1 + 0.5 * cdist(left, right, "sqeuclidean")))


def learn_metric(inputs: Singles, actions: Singles) -> Floats:
    """(S, S): by which inputs are multiplied, so that the median of their distances is 1."""
    settings = GPRSettings(kernel="wide-network", metric="learned", max_pairs=max(2, len(inputs)))
    fitted = GPR().fit(settings, inputs, actions, [MemberSeed(0, 0)])
    assert isinstance(fitted.metrics, torch.Tensor)
    metric = fitted.metrics[0].double().numpy()
    apart = pdist(inputs @ metric)
    apart = apart[apart > 0]
    return np.asarray(metric / (np.median(apart) if len(apart) else 1.0))
