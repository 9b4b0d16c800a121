"""Normalisation that travels inside a policy: what a network sees, and how to get back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.demonstrations import Demonstrations

Array = NDArray[np.float64]
ActionScaling = Literal["standard", "robust"]

ROUNDING_STEPS = 8
"""A column whose spread is below this many steps of its floating-point type counts as constant."""
MAD_TO_STANDARD_DEVIATION = 1.4826
"""The median absolute deviation of a normal distribution times this is its standard deviation."""
SAFE_SQUARES = (1e-140, 1e140)
"""Deviations between these have squares that double precision holds with all their digits."""
SAFE_IN_FLOAT32 = (1e-30, 1e30)
"""Sizes of a column that float32, from 1e-38 to 3e38, holds with room for values that are far from usual."""
FARTHEST = 1e15
"""Deviations from the centre beyond which nothing is told apart: a network in float32 must get no infinity. A column
that counts as live has no pair as far off as this."""


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
        with np.errstate(over="ignore", invalid="ignore"):
            away = (values - self.centre) / divisor
        if not np.vdot(away, away) < FARTHEST**2:  # one product: this is done at every step of an episode
            # A constant column is 0 also where the difference is infinite.
            away = np.where(self.scale > 0, np.clip(away, -FARTHEST, FARTHEST), 0.0)
        return away.astype(np.float32)

    def backward(self, values: NDArray[Any]) -> Array:
        with np.errstate(over="ignore"):
            return values.astype(np.float64) * self.scale + self.centre

    @property
    def shortest_type(self) -> type[np.float32] | type[np.float64]:
        """float32, or float64 where a column is too large or too small for it."""
        size = np.abs(self.centre) + self.scale
        least, most = SAFE_IN_FLOAT32
        return np.float32 if ((size == 0) | ((size >= least) & (size <= most))).all() else np.float64

    @classmethod
    def of(cls, values: NDArray[Any], kind: ActionScaling = "standard") -> Affine:
        """Mean and standard deviation, or median and MAD, of the columns of (N, C)."""
        columns = np.asarray(values, dtype=np.float64)
        if kind == "standard":
            centre, scale = columns.mean(axis=0), standard_deviation(columns)
        else:
            centre = np.median(columns, axis=0)
            scale = MAD_TO_STANDARD_DEVIATION * np.median(np.abs(columns - centre), axis=0)
            # More than half of a column may sit on one value (a gripper that is mostly open).
            scale = np.where(scale > 0, scale, standard_deviation(columns))
        steps = np.finfo(values.dtype)
        resolution = np.maximum(steps.eps * np.abs(columns).max(axis=0), float(steps.smallest_subnormal))
        constant = scale <= ROUNDING_STEPS * resolution
        return cls(centre=np.where(constant, columns[0], centre), scale=np.where(constant, 0.0, scale))


def standard_deviation(columns: Array) -> Array:
    """(C,) of the columns of (N, C), also where the squares of their values are infinite or vanish."""
    with np.errstate(over="ignore"):
        plain: Array = columns.std(axis=0)
    smallest, largest = SAFE_SQUARES
    unsafe = ~((plain > smallest) & (plain < largest))
    if unsafe.any():
        away = columns[:, unsafe] - columns[:, unsafe].mean(axis=0)
        unit = np.abs(away).max(axis=0)
        plain[unsafe] = (away / np.where(unit > 0, unit, 1.0)).std(axis=0) * unit
    return plain


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
