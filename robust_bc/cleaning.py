"""Cleaning: what an audit left out before a policy learned, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from robust_bc.demonstrations import MINIMUM_PAIRS
from robust_bc.errors import RobustBCError

if TYPE_CHECKING:
    from robust_bc.auditing.results import Audit

MOST_NAMED = 10
"""Episodes that the sentence names one by one."""


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

    @classmethod
    def of(cls, audit: Audit) -> Cleaning:
        """What `audit.keep()` leaves out."""
        kept = audit.keep()
        names = np.unique(audit.episodes)
        dropped = np.setdiff1d(names, audit.episodes[kept]).tolist()
        return cls(
            pairs=len(audit),
            kept=int(kept.sum()),
            episodes=len(names),
            dropped=tuple(dropped),
            rate=audit.rate.value,
            verdict=audit.verdict,
            reason=_reason(audit, dropped, len(names)),
        )

    @property
    def left_out(self) -> str:
        """In a few words."""
        if not self.dropped:
            return "nothing left out"
        return f"{len(self.dropped)} of {self.episodes} episodes left out"


def _reason(audit: Audit, dropped: list[int], episodes: int) -> str:
    if unused := audit.why_kept():
        return unused
    if not dropped:
        return "Nothing is left out: the audit found no bad episode."
    unit = "pairs" if audit.single_pairs else "episodes"
    faulty = {finding.episode for finding in audit.findings if finding.spoils}.intersection(dropped)
    causes = {"faults of the recording": len(faulty), "disagreement with the majority": len(dropped) - len(faulty)}
    many = all(causes.values())
    said = [
        f"{count} because of {cause}" if many else f"because of {cause}" for cause, count in causes.items() if count
    ]
    named = f" ({', '.join(map(str, dropped))})" if len(dropped) <= MOST_NAMED else ""
    return f"The audit left out {len(dropped)} of {episodes} {unit}{named}, {' and '.join(said)}."
