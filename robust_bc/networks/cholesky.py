"""The Cholesky block: outputs of weights that are correlated with a target's by a chosen ρ.

The paper's transform makes, from W* ~ N(μ, σ_W²) and Z ~ N(0, σ_Z²), weights with E W̃ = ρμ, V W̃ = (1 − ρ²)σ_Z² and
Corr(W*, W̃) = ρ:

    W̃ = ρμ + √(1−ρ²)·( ρ (σ_Z/σ_W)(W* − μ) + √(1−ρ²)·Z )

It is linear in the weights, so with ε_W = (W* − μ)/σ_W and ε_Z = Z/σ_Z (both standard normal; σ_W cancels)

    W̃h = ρ·(μh) + √(1−ρ²)·σ_Z·( ρ·(ε_W h) + √(1−ρ²)·(ε_Z h) )

needs three products that all K mixtures share, and the K weight matrices are never built.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

SLACK_FLOOR = 1e-6
"""Smallest 1 − ρ²: tanh reaches ±1 exactly in float32, where the gradient of the square root is infinite."""


def slack(correlations: Tensor) -> Tensor:
    """1 − ρ², kept above zero."""
    return (1 - correlations.square()).clamp_min(SLACK_FLOOR)


def shared_products(features: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """ε_W h and ε_Z h, (M, D, B) each, from noise (M, 2, D, Q) shared by the batch as in the paper."""
    members, _, outputs, inputs = noise.shape
    both = torch.bmm(noise.reshape(members, 2 * outputs, inputs), features)  # (M, 2D, B)
    return both[:, :outputs], both[:, outputs:]


def local_products(features: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """The same two products with weights drawn anew for every sample: εh ~ ‖h‖·N(0, 1), noise (M, 2, D, B)."""
    length = features.square().sum(1, keepdim=True).sqrt()  # (M, 1, B)
    return noise[:, 0] * length, noise[:, 1] * length


def correlated_means(target: Tensor, correlations: Tensor, products: tuple[Tensor, Tensor], sigma_z: float) -> Tensor:
    """μ_k = W̃_k h for targets μh (M, D, B) and ρ (M, K, B), as (M, K, D, B)."""
    towards_w, towards_z = products
    free = slack(correlations)
    along = (sigma_z * correlations * free.sqrt()).unsqueeze(2)  # (M, K, 1, B)
    across = (sigma_z * free).unsqueeze(2)
    return (
        correlations.unsqueeze(2) * target.unsqueeze(1)
        + along * towards_w.unsqueeze(1)
        + across * towards_z.unsqueeze(1)
    )


def marginal_variance(features: Tensor, correlations: Tensor, sigma_z: float) -> Tensor:
    """V[W̃_k h] = (1 − ρ²) σ_Z² ‖h‖², (M, K, B): what the weight noise adds once it is integrated out."""
    length_squared = features.square().sum(1, keepdim=True)  # (M, 1, B)
    return slack(correlations) * (sigma_z**2 * length_squared)


def literal_transform(
    sampled: Tensor, auxiliary: Tensor, correlation: float, mean: Tensor, sigma_w: float, sigma_z: float
) -> Tensor:
    """The paper's formula, letter by letter. Only tests use it: everything above must agree with it."""
    free = math.sqrt(1 - correlation**2)
    inner = correlation * (sigma_z / sigma_w) * (sampled - mean) + free * auxiliary
    return correlation * mean + free * inner
