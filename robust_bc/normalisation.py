"""Normalisation that travels inside a policy: what a network sees, and how to get back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robust_bc.demonstrations import Demonstrations

Array = NDArray[np.float64]
ActionScaling = Literal["standard", "robust"]

ROUNDING_STEPS = 8
"""A column whose spread is below this many steps of its floating-point type counts as constant."""
MAD_TO_STANDARD_DEVIATION = 1.4826
"""The median absolute deviation of a normal distribution times this is its standard deviation."""


@dataclass(frozen=True, eq=False)
class Affine:
    """Column-wise (x − centre) / scale and back, in double precision.

    A constant column has the scale 0: forward gives 0 whatever the value, for nothing was learned about another one,
    and backward gives the constant.

    Double precision and NumPy on purpose: a column such as a time stamp (1.7e9 ± 1) would lose its digits in
    float32, and MPS devices have no float64.
    """

    centre: Array  # (C,)
    scale: Array  # (C,)

    def forward(self, values: NDArray[Any]) -> NDArray[np.float32]:
        divisor = np.where(self.scale > 0, self.scale, np.inf)
        return ((values - self.centre) / divisor).astype(np.float32)

    def backward(self, values: NDArray[Any]) -> Array:
        return values.astype(np.float64) * self.scale + self.centre

    @classmethod
    def of(cls, values: NDArray[Any], kind: ActionScaling = "standard") -> Affine:
        """Mean and standard deviation, or median and MAD, of the columns of (N, C)."""
        columns = np.asarray(values, dtype=np.float64)
        if kind == "standard":
            centre, scale = columns.mean(axis=0), columns.std(axis=0)
        else:
            centre = np.median(columns, axis=0)
            scale = MAD_TO_STANDARD_DEVIATION * np.median(np.abs(columns - centre), axis=0)
            # More than half of a column may sit on one value (a gripper that is mostly open).
            scale = np.where(scale > 0, scale, columns.std(axis=0))
        resolution = np.finfo(values.dtype).eps * np.abs(columns).max(axis=0)
        constant = scale <= ROUNDING_STEPS * resolution
        return cls(centre=np.where(constant, columns[0], centre), scale=np.where(constant, 0.0, scale))


@dataclass(frozen=True, eq=False)
class Normalisation:
    """The two maps of a policy, found from the (corrupt) demonstrations it was fitted to."""

    observations: Affine
    actions: Affine

    @classmethod
    def of(cls, demonstrations: Demonstrations, action_scaling: ActionScaling) -> Normalisation:
        return cls(
            observations=Affine.of(demonstrations.observations),
            actions=Affine.of(demonstrations.actions, action_scaling),
        )
