"""Cleaning: what an audit left out before a policy learned, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from robust_bc.data.demonstrations import MINIMUM_PAIRS
from robust_bc.errors import RobustBCError


@dataclass(frozen=True)
class Cleaning:
    """What of the demonstrations a policy learned from, after an audit."""

    pairs: int
    """In all."""
    kept: int
    """Pairs that were learned from."""
    episodes: int
    """In all."""
    dropped: tuple[int, ...]
    """Numbers of the episodes that were left out."""
    rate: float
    """Share of bad pairs, as the audit estimates it."""
    verdict: Literal["clean", "bad", "cannot tell"]
    """Of the audit, for all demonstrations together."""
    reason: str
    """A sentence: what was left out and why, or why nothing was."""

    def __post_init__(self) -> None:
        if not MINIMUM_PAIRS <= self.kept <= self.pairs:
            raise RobustBCError(f"{self.kept} of {self.pairs} pairs cannot have been learned from.")
        if not len(self.dropped) < self.episodes <= self.pairs:
            raise RobustBCError(f"{len(self.dropped)} of {self.episodes} episodes cannot have been dropped.")
        if not 0 <= self.rate <= 1:
            raise RobustBCError(f"rate is a share between 0 and 1, but it is {self.rate}.")

    @property
    def left_out(self) -> str:
        """In a few words."""
        if not self.dropped:
            return "nothing left out"
        return f"{len(self.dropped)} of {self.episodes} episodes left out"
