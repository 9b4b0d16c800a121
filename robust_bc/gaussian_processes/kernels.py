"""The kernels of the Gaussian processes: how alike the values of a function are at two inputs.

`SquaredExponential` is the classical one, and falls back to the mean where no pair is near. `WideNetwork` is the
covariance of the outputs of networks with two hidden layers of infinitely many rectifiers and random weights and biases
(Cho and Saul, 2009; with biases, Lee et al., 2018): it goes on like a line where no pair is near, as trained networks
do. With ℓ the length scale, and κ(c) = (√(1 − c²) + (π − arccos c)·c)/π what a layer makes of a correlation c,

    k₀(x, y) = 1 + x·y/ℓ²,    kₗ₊₁(x, y) = 1 + √(kₗ(x, x)·kₗ(y, y))·κ(kₗ(x, y)/√(kₗ(x, x)·kₗ(y, y)))

and kₗ₊₁(x, x) = 1 + kₗ(x, x). It is divided by its value at the centre of the inputs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from gpytorch.kernels import RBFKernel
from numpy.typing import NDArray
from torch import Tensor

MEDIAN_INPUTS = 1000
"""The median of pairwise distances is taken over this many inputs at most: their number squared is what it costs."""
LARGEST_KERNEL = 2**20
"""Entries of the kernel between new and known inputs that are held at once; it bounds the memory of a large batch."""
KernelName = Literal["squared-exponential", "wide-network"]
HIDDEN_LAYERS = 2
"""As many as the networks of the other methods have unless told otherwise."""

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Kernel(ABC):
    """Covariances of a function whose variance at the centre is one."""

    length_scale: float

    @staticmethod
    @abstractmethod
    def unit(inputs: Tensor, stream: np.random.Generator) -> float:
        """What the length scale for inputs (n, S) is measured in."""

    @abstractmethod
    def between(self, left: Tensor, right: Tensor) -> Tensor:
        """(B, N) of inputs (B, S) and (N, S)."""

    @abstractmethod
    def variances(self, inputs: Tensor) -> Tensor:
        """(B,) of inputs (B, S) with themselves."""

    @abstractmethod
    def slopes(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        """(B, N) each: a and b of the slope ∂k(x, y)/∂x = a·x + b·y, at inputs (B, S) and (N, S)."""

    @abstractmethod
    def to_known(self, known: Doubles) -> Callable[[Doubles], Doubles]:
        """A map of new inputs (b, S) to (b, 1, n) for known ones (n, S), with a product for each row as in `RowMap`."""

    def among(self, inputs: Tensor) -> Tensor:
        """(n, n) of inputs (n, S)."""
        return self.between(inputs, inputs)


class SquaredExponential(Kernel):
    """exp(−|x − y|²/2ℓ²)."""

    @staticmethod
    def unit(inputs: Tensor, stream: np.random.Generator) -> float:
        return median_distance(inputs, stream)

    def between(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.exp(-0.5 * torch.cdist(left, right).square() / self.length_scale**2)

    def variances(self, inputs: Tensor) -> Tensor:
        return torch.ones_like(inputs[:, 0])

    def slopes(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        falls = self.between(left, right) / self.length_scale**2
        return -falls, falls

    def among(self, inputs: Tensor) -> Tensor:
        kernel = RBFKernel().double()
        kernel.lengthscale = torch.tensor(
            self.length_scale, dtype=torch.float64
        )  # a plain number would pass through float32
        dense: Tensor = kernel(inputs).to_dense().detach()
        return dense

    def to_known(self, known: Doubles) -> Callable[[Doubles], Doubles]:
        columns = np.ascontiguousarray(known.T / self.length_scale)  # (S, n)
        half_squares = 0.5 * np.square(columns).sum(0)  # (n,)

        def kernel(inputs: Doubles) -> Doubles:
            rows = inputs[:, None] / self.length_scale  # (b, 1, S)
            exponents = rows @ columns  # (b, 1, n)
            exponents -= 0.5 * (rows @ rows.transpose(0, 2, 1))
            exponents -= half_squares
            found: Doubles = np.exp(np.minimum(exponents, 0, out=exponents), out=exponents)
            return found

        return kernel


class WideNetwork(Kernel):
    """Of infinitely wide networks with two hidden layers."""

    @staticmethod
    def unit(inputs: Tensor, stream: np.random.Generator) -> float:
        """The root mean square of the distance of two inputs; it holds the mean of `variances`, as no median does."""
        return math.sqrt(2 * float(inputs.var(0, correction=0).sum())) or 1.0

    def between(self, left: Tensor, right: Tensor) -> Tensor:
        for layer in self._layers(left, right):
            covariance, *_ = layer  # not all layers at once: each is three times (B, N)
        return covariance / (HIDDEN_LAYERS + 1)

    def slopes(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        """With s = √(kₗ(x, x)·kₗ(y, y)) and c = kₗ(x, y)/s, and as κ − c·κ′ = √(1 − c²)/π, the chain rule says

        ∂kₗ₊₁ = κ′(c)·∂kₗ + √(1 − c²)/π·∂s,    ∂s/∂x = s/kₗ(x, x)·x/ℓ²,    ∂k₀/∂x = y/ℓ².
        """
        of_left, of_right = (torch.full((len(left), len(right)), start, dtype=left.dtype) for start in (0.0, 1.0))
        for _, passed, bend in self._layers(left, right):
            of_left, of_right = passed * of_left + bend, passed * of_right
        unit = self.length_scale**2 * (HIDDEN_LAYERS + 1)
        return of_left / unit, of_right / unit

    def _layers(self, left: Tensor, right: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(B, N) each, of every layer: kₗ₊₁, κ′(c) = (π − arccos c)/π, and √(1 − c²)/π·s/kₗ(x, x)."""
        covariance = 1 + left @ right.mT / self.length_scale**2
        own, others = (1 + each.square().sum(1) / self.length_scale**2 for each in (left, right))
        for _ in range(HIDDEN_LAYERS):
            ratio = others.sqrt() / own.sqrt()[:, None]  # (B, N), s/kₗ(x, x)
            scale = own[:, None] * ratio
            cosine = (covariance / scale).clamp(-1, 1)
            passed = 1 - cosine.arccos() / math.pi
            bend = ratio * (1 - cosine.square()).sqrt() / math.pi
            covariance = 1 + own[:, None] * bend + scale * passed * cosine
            yield covariance, passed, bend
            own, others = own + 1, others + 1

    def variances(self, inputs: Tensor) -> Tensor:
        return 1 + inputs.square().sum(1) / self.length_scale**2 / (HIDDEN_LAYERS + 1)

    def to_known(self, known: Doubles) -> Callable[[Doubles], Doubles]:
        columns = np.ascontiguousarray(known.T / self.length_scale)  # (S, n)
        variances = 1 + np.square(columns).sum(0)  # (n,)
        deviations = [np.sqrt(variances + layer) for layer in range(HIDDEN_LAYERS)]

        def kernel(inputs: Doubles) -> Doubles:
            rows = inputs[:, None] / self.length_scale  # (b, 1, S)
            own = 1 + rows @ rows.transpose(0, 2, 1)  # (b, 1, 1)
            values = rows @ columns  # (b, 1, n): covariances, then cosines, then covariances again, in place
            values += 1
            for layer, others in enumerate(deviations):
                deviation = np.sqrt(own + layer)
                values /= others
                values /= deviation
                np.clip(values, -1, 1, out=values)
                turned = np.arccos(values)
                np.subtract(math.pi, turned, out=turned)
                turned *= values
                values *= values
                np.sqrt(np.subtract(1, values, out=values), out=values)
                values += turned
                values *= others
                values *= deviation / math.pi
                values += 1
            values /= HIDDEN_LAYERS + 1
            return values

        return kernel


def median_distance(inputs: Tensor, stream: np.random.Generator) -> float:
    """The median distance of two different inputs among (n, S); 1 where there are none."""
    if len(inputs) > MEDIAN_INPUTS:
        inputs = inputs[torch.from_numpy(np.sort(stream.permutation(len(inputs))[:MEDIAN_INPUTS]))]
    distances = torch.pdist(inputs)
    apart = distances[distances > 0]  # most inputs may be one and the same, as at rest
    return float(apart.median()) if len(apart) else 1.0


KERNELS: dict[KernelName, type[Kernel]] = {"squared-exponential": SquaredExponential, "wide-network": WideNetwork}
