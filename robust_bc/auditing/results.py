"""What an audit gives: the quality of every pair with its uncertainty and reasons, pooled to episodes and sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.estimates import Estimate as Estimate
from robust_bc.auditing.pooling import Floats, Grouping, episode_means, pooled
from robust_bc.demonstrations import MINIMUM_PAIRS, episode_numbers
from robust_bc.errors import RobustBCError

SUSPECT_BELOW = 0.5
"""A pair, an episode or a source of less quality than this is rather bad than good."""
ALARM_FROM = 0.05
"""An estimated share of corrupt pairs below this is no reason to worry: clean data is not told from it."""


@dataclass(frozen=True)
class EpisodeQuality:
    """One episode: the mean over its pairs, and where it is the worst."""

    episode: int
    source: str | None
    pairs: int
    quality: Estimate
    conflict: float
    foreign: float
    worst_step: int
    flagged: bool
    """Its mean quality is below one half."""


@dataclass(frozen=True)
class SourceQuality:
    """One source: the mean over all its pairs, and how many of its episodes are flagged."""

    source: str
    episodes: int
    flagged_episodes: int
    pairs: int
    suspect_pairs: int
    quality: Estimate
    conflict: float
    foreign: float
    flagged: bool
    """Its mean quality is below one half."""


@dataclass(frozen=True, eq=False)
class Audit:
    """N judged pairs in E episodes."""

    quality: Floats  # (N,) in [0, 1]: the probability that the pair is good
    spread: Floats  # (N,): the standard deviation of that over the networks that judged it
    conflict: Floats  # (N,) in [0, 1]: its action is not what the others do in such states
    foreign: Floats  # (N,) in [0, 1]: its states belong to another source than most pairs
    episodes: NDArray[np.int64]  # (N,), as in Demonstrations
    rate: Estimate
    """Share of corrupt pairs."""
    method: str
    settings: dict[str, Any]
    seed: int
    dataset: str | None
    """The id or folder that the pairs were read from."""
    pairs_sha256: str
    """Of the demonstrations, so that no other dataset is filtered by this audit."""
    sources: tuple[str, ...] | None = None
    """(E,) the source of each episode, in the order of `np.unique(episodes)`; None if nobody told."""
    explains: bool = True
    """Whether the networks that judged explain the pairs better than random actions; if not, nothing else is sure."""
    settled: bool = True
    """Whether the verdicts had stopped changing."""

    def __post_init__(self) -> None:
        pairs = len(np.atleast_1d(self.quality))
        if pairs < MINIMUM_PAIRS:
            raise RobustBCError(f"quality has {pairs} pairs, but an audit has at least {MINIMUM_PAIRS}.")
        for name in ("quality", "spread", "conflict", "foreign"):
            limit = np.inf if name == "spread" else 1.0
            object.__setattr__(self, name, _scores(getattr(self, name), name, pairs, limit))
        index = np.asarray(self.episodes)
        if index.shape != (pairs,) or index.dtype.kind not in "iu":
            raise RobustBCError(
                f"episodes must be {pairs} whole numbers, one for each pair, but it has type {index.dtype} and"
                f" shape {index.shape}."
            )
        object.__setattr__(self, "episodes", _read_only(episode_numbers(index)))
        if not 0 <= self.rate.low <= self.rate.high <= 1:
            raise RobustBCError(f"rate is a share between 0 and 1, but its interval is {self.rate}.")
        try:  # as it looks after a trip through a file: tuples are lists
            object.__setattr__(self, "settings", json.loads(json.dumps(self.settings, allow_nan=False)))
        except (TypeError, ValueError) as problem:
            raise RobustBCError(f"settings must be plain words and finite numbers, but {problem}.") from problem
        if self.sources is not None:
            object.__setattr__(self, "sources", tuple(str(source) for source in self.sources))
            if len(self.sources) != len(self.grouping.names):
                raise RobustBCError(f"sources has {len(self.sources)} names for {len(self.grouping.names)} episodes.")

    def __len__(self) -> int:
        return len(self.quality)

    @cached_property
    def grouping(self) -> Grouping:
        """Which pairs make up which episode."""
        return Grouping.of(self.episodes)

    @property
    def single_pairs(self) -> bool:
        """Whether every pair is an episode of its own."""
        return self.grouping.single

    @property
    def suspects(self) -> NDArray[np.bool_]:
        """(N,) pairs that are rather bad than good."""
        return self.quality < SUSPECT_BELOW

    @property
    def alarm(self) -> bool:
        """Whether so many pairs are corrupt that something should be done."""
        return self.rate.value >= ALARM_FROM

    @cached_property
    def episode_quality(self) -> tuple[Floats, Floats, Floats]:
        """Mean quality of every episode and the ends of its interval, (E,) each, in the order of `np.unique`."""
        return episode_means(self.grouping, self.quality, self.spread)

    def episode_table(self, most: int | None = None) -> list[EpisodeQuality]:
        """The episodes, worst first; `most` of them, or all."""
        grouping, (means, lows, highs) = self.grouping, self.episode_quality
        conflict, foreign = grouping.means(self.conflict), grouping.means(self.foreign)
        worst = grouping.lowest_steps(self.quality)
        return [
            EpisodeQuality(
                episode=int(grouping.names[place]),
                source=None if self.sources is None else self.sources[place],
                pairs=int(grouping.lengths[place]),
                quality=Estimate(float(means[place]), float(lows[place]), float(highs[place])),
                conflict=float(conflict[place]),
                foreign=float(foreign[place]),
                worst_step=int(worst[place]),
                flagged=bool(means[place] < SUSPECT_BELOW),
            )
            for place in np.argsort(means, kind="stable")[:most].tolist()
        ]

    def source_table(self) -> list[SourceQuality]:
        """The sources, worst first; none if nobody told them."""
        if self.sources is None:
            return []
        names, codes = np.unique(np.array(self.sources, dtype=object).astype(str), return_inverse=True)
        rows = [self._source(str(name), np.flatnonzero(codes == code)) for code, name in enumerate(names)]
        return sorted(rows, key=lambda row: row.quality.value)

    def _source(self, name: str, places: NDArray[np.intp]) -> SourceQuality:
        grouping, (means, lows, highs) = self.grouping, self.episode_quality
        lengths = grouping.lengths[places]
        pairs = int(lengths.sum())
        lonely = float(lows[places[0]]), float(highs[places[0]])
        quality = pooled(grouping.sums(self.quality)[places], lengths, lonely)
        return SourceQuality(
            source=name,
            episodes=len(places),
            flagged_episodes=int((means[places] < SUSPECT_BELOW).sum()),
            pairs=pairs,
            suspect_pairs=int(grouping.sums(self.suspects.astype(np.float64))[places].sum()),
            quality=quality,
            conflict=float(grouping.sums(self.conflict)[places].sum() / pairs),
            foreign=float(grouping.sums(self.foreign)[places].sum() / pairs),
            flagged=quality.value < SUSPECT_BELOW,
        )

    def save(self, folder: str | Path) -> Path:
        """Write audit.json and pairs.safetensors into a folder; `load_audit` reads them to the same bits."""
        from robust_bc.auditing.storage import save_audit

        return save_audit(self, Path(folder))


def _scores(values: Any, name: str, pairs: int, limit: float) -> Floats:
    """(N,) finite numbers from 0 to the limit."""
    array = np.asarray(values)
    if array.shape != (pairs,) or array.dtype.kind not in "fiu":
        raise RobustBCError(
            f"{name} must be {pairs} numbers, one for each pair, but it has type {array.dtype} and shape {array.shape}."
        )
    array = array.astype(np.float64)
    wrong = np.flatnonzero(~((array >= 0) & (array <= limit) & np.isfinite(array)))  # NaN is wrong too
    if len(wrong):
        wanted = "0 or more" if limit == np.inf else "between 0 and 1"
        raise RobustBCError(f"{name} must be {wanted}, but that of pair {wrong[0]} is {array[wrong[0]]}.")
    return _read_only(array)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
