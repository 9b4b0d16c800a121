"""What an audit can be told; further constants stand where they are used, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass, fields

from robust_bc.errors import RobustBCError


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """The settings of `robust_bc.audit`; docs/audit.md says what they were chosen on."""

    compared: int = 64
    """Episodes that policies are told by, drawn at random from more, longer ones sooner."""
    states: int = 100
    """States of an episode that policies learn from, evenly in time; those between them say little more."""
    features: int = 256
    """Features of a policy: the work grows with their cube."""
    fewest_episodes: int = 4
    """Fewer episodes than this are not compared: of three, no two can be told to be right."""
    shortest_episode: float = 5.0
    """Mean length below which episodes are judged as single pairs: they have too few states to be compared."""
    tie: float = 0.52
    """Share of the pairs that the majority must have; below, nobody can tell which side is right."""
    doubt: float = 0.05
    """Probabilities between this and one minus this are verdicts of "cannot tell"."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kinds = int if isinstance(field.default, int) else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 1e9:
                raise RobustBCError(f"{field.name} must be a number above 0, but it is {value!r}.")
        for name, least in (("compared", 4), ("states", 2), ("features", 2), ("fewest_episodes", 3)):
            if getattr(self, name) < least:
                raise RobustBCError(f"{name} must be at least {least}, but it is {getattr(self, name)}.")
        for name in ("doubt", "tie"):
            if getattr(self, name) > 1:
                raise RobustBCError(f"{name} is a share of at most 1, but it is {getattr(self, name)}.")
