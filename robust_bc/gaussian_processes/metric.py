"""A learned metric: which directions of the inputs matter, told by where the function goes up and down.

A kernel that counts all directions alike spends most of its few pairs on those that hardly matter. So a first process f
is fitted, and its slopes at the n pairs, for D outputs and S observations that are not constant, tell how much each
direction counts:

    G = 1/(nD)·Σ ∇f_d(x_i) ∇f_d(x_i)ᵀ,    A = ((1 − ε)·S/tr(G)·G + ε·I)^½

A second process then has the kernel k(Ax, Ay). This is the average gradient outer product of Radhakrishnan, Beaglehole,
Pandit and Belkin ("Mechanism for feature learning in neural networks and backpropagation-free machine learning models",
Science 2024): what networks learn in their first layer, without a network. They go on so for some rounds; here the
first does it all.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from robust_bc.gaussian_processes.kernels import LARGEST_KERNEL, Kernel

MetricName = Literal["equal", "learned"]
EQUAL_SHARE = 0.1
"""ε: what is left of the metric that counts all alike, for few pairs need not show all that matters."""


def learned_metric(inputs: Tensor, kernel: Kernel, coefficients: Tensor) -> Tensor:
    """A, (S, S), of the process with mean k(x, inputs)·coefficients, for inputs (n, S) and coefficients (n, D)."""
    equal = torch.eye(inputs.shape[1], dtype=inputs.dtype)
    outer = torch.zeros_like(equal)
    for part in torch.split(inputs, max(1, LARGEST_KERNEL // len(inputs))):
        for_part, for_known = kernel.slopes(part, inputs)  # (b, n) each
        for column in coefficients.mT:  # one output after the other: (n, S) is all that is held
            slopes = (for_part @ column)[:, None] * part + for_known @ (column[:, None] * inputs)
            outer += slopes.mT @ slopes
    total = outer.trace()
    if total == 0:
        return equal
    live = int((inputs != 0).any(0).sum())  # a constant observation is 0 after normalisation, and must change nothing
    values, vectors = torch.linalg.eigh((1 - EQUAL_SHARE) * live / total * outer + EQUAL_SHARE * equal)
    root: Tensor = (vectors * values.sqrt()) @ vectors.mT
    return root
