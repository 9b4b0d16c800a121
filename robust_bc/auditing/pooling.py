"""From pairs to episodes and sources: means with 95 % intervals that know that neighbouring steps are alike.

Steps that follow each other are judged alike, so T steps of an episode say less than T independent ones. They are
therefore cut into b = ⌊√T⌋ blocks of equal length, and the interval of an episode's mean is that of the mean of b block
means, by Student's t with b - 1 degrees of freedom. At the square root both the blocks grow, until they outlast any
correlation in time, and their number, until their variance is known (Flegal & Jones, "Batch means and spectral variance
estimators in Markov chain Monte Carlo", 2010). Below four steps there is one block only, whose variance nobody can
tell; the interval then comes from how much the networks differ that judged the pairs.

Episodes are independent of each other, so the interval of a source, or of all pairs, comes from drawing whole episodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from robust_bc.auditing.estimates import Estimate
from robust_bc.evaluation.statistics import CONFIDENCE, RESAMPLED

MOST_DRAWN = 1000
"""More episodes than this are drawn in so many equal groups: the mean has the same variance, and a million one-step
episodes take no longer than a thousand."""

PARTLY_BAD = 0.9
"""Mean quality of an episode below which its pairs are looked at one by one, even if it is good on the whole."""

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


def worth_keeping(grouping: Grouping, quality: Floats, above: float) -> NDArray[np.bool_]:
    """(N,) pairs of episodes with a mean quality above a limit, without the bad pairs of those that are partly bad."""
    means = grouping.means(quality)[grouping.places]
    return np.asarray((means > above) & ((means >= PARTLY_BAD) | (quality > above)))


def episode_means(grouping: Grouping, quality: Floats, spread: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean quality of every episode, and the low and high end of its interval: (E,) each."""
    means = grouping.means(quality)
    half = _half_widths(grouping, quality, spread)
    return means, np.clip(means - half, 0, means), np.clip(means + half, means, 1)


def _half_widths(grouping: Grouping, quality: Floats, spread: Floats) -> Floats:
    lengths = grouping.lengths
    blocks = np.floor(np.sqrt(lengths)).astype(np.int64)  # (E,), at least 1 each
    first = np.concatenate([[0], np.cumsum(blocks)[:-1]])
    # (N,) in the sorted order: the block of each pair, counted through all episodes
    block = np.repeat(first, lengths) + grouping.steps * np.repeat(blocks, lengths) // np.repeat(lengths, lengths)
    means = np.bincount(block, quality[grouping.order]) / np.bincount(block)
    centre = np.add.reduceat(means, first) / blocks
    squares = np.add.reduceat((means - np.repeat(centre, blocks)) ** 2, first)
    several = blocks > 1
    degrees = np.where(several, blocks - 1, 1)
    error = np.sqrt(squares / degrees / blocks)
    # The networks that judged a short episode judged all of it: their errors do not average out over its steps.
    alone = stats.norm.ppf(0.5 + CONFIDENCE / 2) * grouping.means(spread)
    return np.asarray(np.where(several, stats.t.ppf(0.5 + CONFIDENCE / 2, degrees) * error, alone), np.float64)


def pooled(
    totals: Floats, lengths: NDArray[np.int64], lonely: tuple[float, float] | None = None, seed: int = 0
) -> Estimate:
    """The mean over all pairs of E episodes, from the sum (E,) of each, with an interval by drawing episodes.

    `lonely` is the interval for a single episode, which cannot be drawn from; without, it has none but its mean.
    """
    mean = float(totals.sum() / lengths.sum())
    if len(totals) == 1:
        low, high = (mean, mean) if lonely is None else lonely
        return Estimate(mean, min(low, mean), max(high, mean))
    groups = np.arange(len(totals)) % MOST_DRAWN
    sums, counts = np.bincount(groups, totals), np.bincount(groups, lengths)
    if np.ptp(sums / counts) == 0:
        return Estimate(mean, mean, mean)
    # Seeded, so that the same audit always prints the same interval.
    interval = stats.bootstrap(
        (sums, counts),
        lambda drawn, pairs, axis=-1: drawn.sum(axis) / pairs.sum(axis),
        paired=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        batch=max(1, RESAMPLED // len(sums)),
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate(mean, min(float(interval.low), mean), max(float(interval.high), mean))
