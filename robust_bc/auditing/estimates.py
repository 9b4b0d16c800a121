"""A number that was estimated, with its 95 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robust_bc.errors import RobustBCError


@dataclass(frozen=True)
class Estimate:
    """A value between the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, float | int) or not math.isfinite(number):
                raise RobustBCError(f"the {name} of an estimate must be a finite number, but it is {number!r}.")
            object.__setattr__(self, name, float(number))
        if not self.low <= self.value <= self.high:
            raise RobustBCError(f"an estimate of {self.value} must lie in its interval [{self.low}, {self.high}].")
