"""What an audit can be told, and every constant that changes its verdict, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass, fields

from robust_bc.errors import RobustBCError


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """The settings of `robust_bc.audit`; they were chosen on the development tasks (docs/audit.md has their effect)."""

    compared: int = 64
    """Episodes that are compared with each other, drawn at random from more: the work grows with their square."""
    states: int = 60
    """States of an episode that are compared, spread evenly over what it visited, so that rare ones count."""
    closest: float = 0.5
    """Share of these states, those with the closest match in the other episode: far ones say nothing."""
    policy_pairs: int = 600
    """Pairs that each policy of the majority learns from: the work grows with their cube."""
    folds: int = 4
    """Policies of the majority; each leaves out the episodes that it judges."""
    noticed: float = 4.0
    """Deviations above the majority's median from which an episode contradicts it: one clean episode in 30,000, if
    their scores were normal, which they are not."""
    least_spread: float = 0.03
    """Smallest deviation of the majority's scores: few episodes may be alike by chance. Clean episodes of the
    development tasks have 0.01 to 0.09 around 0.2; one stuck actuator of six adds 0.15."""
    fewest_episodes: int = 4
    """Fewer episodes than this are not compared: of three, no two can be told to be right."""
    shortest_episode: float = 5.0
    """Mean length below which episodes are judged as single pairs: they have too few states to be compared."""
    small: float = 0.15
    """Share of the pairs up to which episodes may be bad without being seen as a group; more must show as one."""
    contrast: float = 0.5
    """What two groups must gain over one, per comparison, to be seen as such (`Agreement.contrast`): clean piles of 20
    episodes of the development tasks have 0.07 to 0.4, and mirrored driving was split the wrong way round at 0.43."""
    tie: float = 0.52
    """Share of the pairs that the majority must have; below, nobody can tell which side is right."""
    known: float = 0.1
    """Share of the actions' variance that the majority's policy must explain in an episode's states to judge it."""
    doubt: float = 0.05
    """Probabilities between this and one minus this are verdicts of "cannot tell"."""
    tails: float = 4.0
    """Degrees of freedom of the errors of the majority's policy: few, for its variances are only estimates."""
    first_share: float = 0.05
    """Share of conflicting pairs at first; expectation maximisation finds it."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kinds = int if isinstance(field.default, int) else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 1e9:
                raise RobustBCError(f"{field.name} must be a number above 0, but it is {value!r}.")
        for name, least in (("compared", 4), ("states", 2), ("policy_pairs", 20), ("folds", 2), ("fewest_episodes", 3)):
            if getattr(self, name) < least:
                raise RobustBCError(f"{name} must be at least {least}, but it is {getattr(self, name)}.")
        for name in ("closest", "known", "doubt", "small", "tie", "first_share"):
            if getattr(self, name) > 1:
                raise RobustBCError(f"{name} is a share of at most 1, but it is {getattr(self, name)}.")
