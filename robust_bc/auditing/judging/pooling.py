"""From pairs to episodes and sources: sums and means, and intervals by drawing whole episodes.

Episodes are independent of each other, their steps are not; so the interval of a source comes from drawing episodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.estimates import Estimate
from robust_bc.evaluation.statistics import ratio_interval

MOST_DRAWN = 1000
"""More episodes than this are drawn in so many equal groups: the mean has the same variance, and a million one-step
episodes take no longer than a thousand."""

Floats = NDArray[np.float64]


def single_pairs(episodes: NDArray[np.int64]) -> bool:
    """Whether every pair is an episode of its own, from the episode (N,) of each."""
    return np.unique(episodes).size == len(episodes)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which pairs make up which of E episodes; the E episodes are in the order of `np.unique(episodes)`."""

    names: NDArray[np.int64]  # (E,), the number of each episode
    order: NDArray[np.intp]  # (N,), pairs sorted by episode, in time within each
    starts: NDArray[np.intp]  # (E,), where each episode begins in that order
    lengths: NDArray[np.int64]  # (E,)

    @classmethod
    def of(cls, episodes: NDArray[np.int64]) -> Grouping:
        """From the episode (N,) of each pair; pairs of an episode need not stand together."""
        names, codes, lengths = np.unique(episodes, return_inverse=True, return_counts=True)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return cls(names, np.argsort(codes, kind="stable"), starts, lengths.astype(np.int64))

    @property
    def steps(self) -> NDArray[np.int64]:
        """(N,) the step of each pair within its episode, in the sorted order."""
        return np.arange(len(self.order)) - np.repeat(self.starts, self.lengths)

    @property
    def places(self) -> NDArray[np.int64]:
        """(N,) the place of each pair's episode among the E."""
        found = np.empty(len(self.order), np.int64)
        found[self.order] = np.repeat(np.arange(len(self.names)), self.lengths)
        return found

    @property
    def single(self) -> bool:
        """Whether every pair is an episode of its own."""
        return len(self.names) == len(self.order)

    def pairs_of(self, place: int) -> NDArray[np.intp]:
        """The pairs of one episode, in time; `place` is that of its name."""
        return self.order[self.starts[place] : self.starts[place] + self.lengths[place]]

    def sums(self, values: Floats) -> Floats:
        """(E,) from (N,)."""
        return np.asarray(np.add.reduceat(values[self.order], self.starts), np.float64)

    def means(self, values: Floats) -> Floats:
        """(E,) from (N,); rounding never leads out of the range of the values."""
        ordered = values[self.order]
        low, high = np.minimum.reduceat(ordered, self.starts), np.maximum.reduceat(ordered, self.starts)
        return np.asarray(np.clip(self.sums(values) / self.lengths, low, high), np.float64)

    def lowest_steps(self, values: Floats) -> NDArray[np.int64]:
        """(E,) the first step of each episode at which the value is the lowest."""
        ordered = values[self.order]
        lowest = ordered == np.repeat(np.minimum.reduceat(ordered, self.starts), self.lengths)
        return np.asarray(np.minimum.reduceat(np.where(lowest, self.steps, len(ordered)), self.starts), np.int64)


def pooled(totals: Floats, lengths: NDArray[np.int64]) -> Estimate:
    """The mean over all pairs of E episodes, from the sum (E,) of each, with an interval by drawing episodes.

    A single episode cannot be drawn from: its interval is its mean.
    """
    mean = float(totals.sum() / lengths.sum())
    if len(totals) == 1:
        return Estimate(mean, mean, mean)
    groups = np.arange(len(totals)) % MOST_DRAWN
    sums, counts = np.bincount(groups, totals), np.bincount(groups, lengths)
    if np.ptp(sums / counts) == 0:
        return Estimate(mean, mean, mean)
    low, high = ratio_interval(sums.astype(np.float64), counts.astype(np.float64))
    return Estimate(mean, min(low, mean), max(high, mean))
