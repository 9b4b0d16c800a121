"""What an audit gives: a probability of being clean for every pair and episode, the reasons, and what to keep."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.estimates import Estimate as Estimate
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.judging.agreement import Agreement
from robust_bc.auditing.judging.pooling import Grouping, pooled
from robust_bc.auditing.judging.scaled import Flags, Floats
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import MINIMUM_PAIRS, episode_numbers
from robust_bc.errors import RobustBCError
from robust_bc.system.extras import extras_named

if TYPE_CHECKING:
    import pandas

Verdict = Literal["clean", "bad", "cannot tell"]
MOST_DROPPED = 0.5
"""Share of the pairs from which on nothing is dropped: who is left would not be a majority."""


@dataclass(frozen=True)
class EpisodeRow:
    """One episode."""

    episode: int
    source: str | None
    pairs: int
    clean: float
    """Probability that it is clean."""
    verdict: Verdict
    score: float
    """How far it is from the majority; the higher, the worse."""
    known: float
    """Share of the actions' variance that the majority's policy explains in its states."""
    conflict: float
    """Mean probability that its actions are not the majority's."""
    worst_step: int
    findings: tuple[str, ...]
    """What the checks found in it, in words."""


@dataclass(frozen=True)
class SourceRow:
    """One source: who made some of the episodes."""

    source: str
    episodes: int
    bad_episodes: int
    pairs: int
    bad_pairs: int
    clean: Estimate


@dataclass(frozen=True, eq=False)
class AuditResults:
    """N judged pairs in E episodes; the E are in the order of `np.unique(episodes)`."""

    clean: Floats  # (N,) probability that the pair is clean
    conflict: Floats  # (N,) probability that its action is not of the majority's policy
    shown: Floats  # (N, A) the actions
    expected: Floats  # (N, A) what the majority would do; the action itself where there is no majority
    episodes: NDArray[np.int64]  # (N,), as in Demonstrations
    episode_clean: Floats  # (E,) probability that the episode is clean
    scores: Floats  # (E,) the higher, the worse; they rank episodes also where no verdict is sure
    known: Floats  # (E,) share of the actions' variance that the majority's policy explains in its states
    agreement: Agreement | None
    """None for single pairs, and where there are too few episodes to compare."""
    findings: tuple[Finding, ...]
    """Of the checks."""
    rate: Estimate
    """Share of bad pairs."""
    undecided: str | None
    """Why the audit cannot tell good from bad, in a sentence; None if it can."""
    settings: AuditSettings
    seed: int
    dataset: str | None
    """The id or folder that the pairs were read from."""
    pairs_sha256: str
    """Of the demonstrations, so that no other dataset is filtered by this audit."""
    sources: tuple[str, ...] | None = None
    """(E,) the source of each episode; None if nobody told."""

    def __post_init__(self) -> None:
        pairs = len(np.atleast_1d(self.clean))
        if pairs < MINIMUM_PAIRS:
            raise RobustBCError(f"clean has {pairs} pairs, but an audit has at least {MINIMUM_PAIRS}.")
        index = np.asarray(self.episodes)
        if index.shape != (pairs,) or index.dtype.kind not in "iu":
            raise RobustBCError(
                f"episodes must be {pairs} whole numbers, one for each pair, but it has type {index.dtype} and"
                f" shape {index.shape}."
            )
        object.__setattr__(self, "episodes", _read_only(episode_numbers(index)))
        count = len(self.grouping.names)
        for name, size, share in (
            ("clean", pairs, True),
            ("conflict", pairs, True),
            ("episode_clean", count, True),
            ("known", count, True),
            ("scores", count, False),
        ):
            object.__setattr__(self, name, _numbers(getattr(self, name), name, (size,), share))
        width = np.asarray(self.shown).shape[-1:]
        for name in ("shown", "expected"):
            object.__setattr__(self, name, _numbers(getattr(self, name), name, (pairs, *width), share=False))
        if not 0 <= self.rate.low <= self.rate.high <= 1:
            raise RobustBCError(f"rate is a share between 0 and 1, but its interval is {self.rate}.")
        if self.sources is not None:
            object.__setattr__(self, "sources", tuple(str(source) for source in self.sources))
            if len(self.sources) != count:
                raise RobustBCError(f"sources has {len(self.sources)} names for {count} episodes.")

    def __len__(self) -> int:
        return len(self.clean)

    @cached_property
    def grouping(self) -> Grouping:
        """Which pairs make up which episode."""
        return Grouping.of(self.episodes)

    @property
    def single_pairs(self) -> bool:
        """Whether every pair is an episode of its own."""
        return self.grouping.single

    @property
    def by_pair(self) -> bool:
        """Whether episodes are so short that pairs were judged one by one."""
        return len(self) < self.settings.shortest_episode * len(self.grouping.names)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """(E,) of the episodes."""
        return tuple(verdict_of(value, self.settings.doubt) for value in self.episode_clean.tolist())

    @cached_property
    def bad_episodes(self) -> Flags:
        """(E,) which are bad beyond doubt."""
        return self.episode_clean < self.settings.doubt

    @property
    def bad_pairs(self) -> Flags:
        """(N,) pairs of bad episodes, and bad pairs of others."""
        return self.clean < self.settings.doubt

    @property
    def verdict(self) -> Verdict:
        """Of the whole pile: bad if anything is."""
        if self.undecided is not None:
            return "cannot tell"
        return "bad" if self.bad_episodes.any() else "clean"

    def keep(self, cut: bool = False) -> Flags:
        """(N,) what to learn from: everything but bad episodes, and with `cut` also without bad pairs of others.

        Everything, if the audit cannot tell, or if half of the pairs or more would go. `why_kept` says so.
        """
        kept = self._without_bad(cut)
        return kept if self.undecided is None and kept.mean() > MOST_DROPPED else np.ones(len(self), np.bool_)

    def why_kept(self, cut: bool = False) -> str | None:
        """Why nothing is dropped, in a sentence; None if something is, or if nothing is bad."""
        if self.undecided is not None:
            return f"Everything is kept: {self.undecided}"
        kept = self._without_bad(cut)
        if kept.mean() > MOST_DROPPED:
            return None
        return f"Everything is kept: {1 - kept.mean():.0%} of the pairs would go, and who is left is no majority."

    def _without_bad(self, cut: bool) -> Flags:
        kept = ~self.bad_episodes[self.grouping.places]
        return kept & ~self.bad_pairs if cut else kept

    def weights(self) -> Floats:
        """(N,) for learners that take weights: the probability of being clean; 1 for all if the audit cannot tell."""
        return np.array(self.clean) if self.undecided is None else np.ones(len(self))

    def episode_rows(self, most: int | None = None) -> list[EpisodeRow]:
        """The episodes, worst first; `most` of them, or all."""
        grouping = self.grouping
        conflict, worst = grouping.means(self.conflict), grouping.lowest_steps(-self.conflict)
        found: dict[int, list[str]] = {}
        for finding in self.findings:
            if finding.episode is not None:
                found.setdefault(finding.episode, []).append(finding.what)
        return [
            EpisodeRow(
                episode=int(grouping.names[place]),
                source=None if self.sources is None else self.sources[place],
                pairs=int(grouping.lengths[place]),
                clean=float(self.episode_clean[place]),
                verdict=self.verdicts[place],
                score=float(self.scores[place]),
                known=float(self.known[place]),
                conflict=float(conflict[place]),
                worst_step=int(worst[place]),
                findings=tuple(dict.fromkeys(found.get(int(grouping.names[place]), []))),
            )
            for place in np.lexsort((-self.scores, self.episode_clean))[:most].tolist()
        ]

    def source_rows(self) -> list[SourceRow]:
        """The sources, worst first; none if nobody told them."""
        if self.sources is None:
            return []
        names, codes = np.unique(np.array(self.sources, dtype=object).astype(str), return_inverse=True)
        totals, bad = self.grouping.sums(self.clean), self.grouping.sums(self.bad_pairs.astype(np.float64))
        rows = []
        for code, name in enumerate(names):
            mine = np.flatnonzero(codes == code)
            lengths = self.grouping.lengths[mine]
            flagged = int(self.bad_episodes[mine].sum())
            clean = pooled(totals[mine], lengths)
            rows.append(SourceRow(str(name), len(mine), flagged, int(lengths.sum()), int(bad[mine].sum()), clean))
        return sorted(rows, key=lambda row: row.clean.value)

    def to_frame(self) -> pandas.DataFrame:
        """A pandas table with a row for each episode, worst first; of single pairs, for each pair."""
        with extras_named():
            import pandas

        return pandas.DataFrame([asdict(row) for row in self.episode_rows()]).set_index("episode")

    def about(self, dataset: str | None, sources: tuple[str, ...] | None) -> Self:
        """The same with the name of its dataset and the sources of its episodes."""
        return replace(self, dataset=dataset, sources=sources)


def verdict_of(clean: float, doubt: float) -> Verdict:
    """The verdict for a probability of being clean."""
    if clean < doubt:
        return "bad"
    return "clean" if clean > 1 - doubt else "cannot tell"


def _numbers(values: Any, name: str, shape: tuple[int, ...], share: bool) -> Floats:
    """Finite numbers of this shape; shares are between 0 and 1."""
    array = np.asarray(values)
    if array.shape != shape or array.dtype.kind not in "fiu":
        raise RobustBCError(f"{name} must be numbers of shape {shape}, but it has type {array.dtype}, {array.shape}.")
    array = array.astype(np.float64)
    fine = np.isfinite(array) & ((array >= 0) & (array <= 1) if share else True)
    if not fine.all():
        place = np.argwhere(~fine)[0]
        wanted = "between 0 and 1" if share else "finite"
        raise RobustBCError(f"{name} must be {wanted}, but number {int(place[0])} is {array[tuple(place)]}.")
    return _read_only(array)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
