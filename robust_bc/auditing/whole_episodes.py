"""What whole episodes tell: a bad one is usually bad throughout, so its pairs vouch for each other.

One-step episodes tell nothing of the kind, and keep what they have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.calibration import density
from robust_bc.auditing.pooling import Grouping

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

PRIOR_PAIRS = 2.0
"""So many pairs of the overall share count in the share of an episode, which a few pairs cannot tell."""
OTHER_KIND = 0.02
"""Where there are two kinds of episodes: share of the pairs of one that may be of the other kind. That counts as much
as its pairs do, for these are of one person, whose habits make all of them a little odd."""
ITERATIONS = 50
FEWEST_EPISODES = 20
"""Below this many, two kinds of episodes are not looked for: any few numbers fall into two heaps."""
APART, FEW = 3.5, 8.0
"""Distance of two kinds in units of their own deviation, at least APART + FEW/√E for E episodes. One kind cut in two
halves has 2.7 if it is Gaussian, 3.5 if it is uniform; by chance more, and most with few episodes. So at most 2 of 100
uniform kinds are taken for two. A skewed kind is taken more often: a few who are far worse than the others."""
LEAST = 1e-3
"""Smallest distance of two kinds: less is rounding."""


def by_episode(log_ratio: Floats, good: Floats, grouping: Grouping, worse: Flags | None = None) -> Floats:
    """(N,) the probability that a pair is good, from log p(d | bad) − log p(d | good), once its episode is known.

    In place of one share of bad pairs for all, every episode e has its own, η_e, found by expectation maximisation
    with PRIOR_PAIRS pairs of the overall share; or with as many pairs as it has, all but a few of its own kind, where
    `worse` (E,) tells two kinds.
    """
    if grouping.single:
        return good
    overall = float(np.clip(1 - good.mean(), 1e-3, 1 - 1e-3))
    expected = np.full(len(grouping.names), overall)
    weight: Floats | float = PRIOR_PAIRS
    if worse is not None:
        expected, weight = np.where(worse, 1 - OTHER_KIND, OTHER_KIND), grouping.lengths.astype(np.float64)
    share = expected
    code = grouping.places
    bad = 1 - good
    for _ in range(ITERATIONS):
        prior = np.clip(share, 1e-6, 1 - 1e-6)[code]
        bad = 1 / (1 + np.exp(np.clip(-(log_ratio + np.log(prior) - np.log1p(-prior)), -60, 60)))
        share = (grouping.sums(bad) + weight * expected) / (grouping.lengths + weight)
    return np.asarray(1 - bad)


def two_kinds(log_distances: Floats, grouping: Grouping) -> Flags | None:
    """(E,) which episodes are of the worse kind, if there are clearly two kinds and the worse is the rarer one.

    The episodes' mean log distances are cut in two where the spread within both parts is least (Otsu 1979).
    """
    if len(grouping.names) < FEWEST_EPISODES or grouping.single:
        return None
    means = grouping.means(log_distances)
    order = np.argsort(means)
    values, count = means[order], np.arange(1, len(means))
    sums, squares = np.cumsum(values)[:-1], np.cumsum(values**2)[:-1]
    low, high = sums / count, (values.sum() - sums) / (len(values) - count)
    within = squares - count * low**2 + (values**2).sum() - squares - (len(values) - count) * high**2
    cut = int(within.argmin())
    deviation = float(np.sqrt(max(within[cut], 0) / len(values)))
    worse = np.zeros(len(values), np.bool_)
    worse[order[cut + 1 :]] = True
    pairs = int(grouping.lengths[worse].sum())
    apart = APART + FEW / np.sqrt(len(values))
    if high[cut] - low[cut] < max(apart * deviation, LEAST) or 2 * pairs > int(grouping.lengths.sum()):
        return None
    return worse


def ratio_of_kinds(log_distances: Floats, worse: Flags, grouping: Grouping) -> tuple[Floats, Floats]:
    """log p(d | bad) − log p(d | good), (N,), as episodes of two kinds show it, and the probability of being good."""
    of_bad = worse[grouping.places]
    generator = np.random.default_rng(0)
    bad = density(_some(log_distances[of_bad], generator), log_distances)
    good = density(_some(log_distances[~of_bad], generator), log_distances)
    ratio = _beyond_both(np.log(bad) - np.log(good), log_distances, of_bad)
    share = float(of_bad.mean())
    return ratio, np.asarray(1 / (1 + share / (1 - share) * np.exp(np.clip(ratio, -60, 60))))


def _beyond_both(ratio: Floats, log_distances: Floats, of_bad: Flags) -> Floats:
    """The same (N,), but beyond the middle of the bad it never falls, and below that of the good it never rises again.

    In the tails a density tells little but where a few odd pairs are: a lone slip in a good episode, farther off than
    any bad pair, would be its own proof of being good.
    """
    order = np.argsort(log_distances, kind="stable")
    near, far = np.searchsorted(
        log_distances[order], [np.median(log_distances[~of_bad]), np.median(log_distances[of_bad])]
    )
    sorted_ratio = ratio[order]
    sorted_ratio[:near] = np.minimum.accumulate(sorted_ratio[:near][::-1])[::-1]
    sorted_ratio[far:] = np.maximum.accumulate(sorted_ratio[far:])
    held = np.empty_like(ratio)
    held[order] = sorted_ratio
    return held


def _some(values: Floats, generator: np.random.Generator, most: int = 20_000) -> Floats:
    return values if len(values) <= most else generator.choice(values, most, replace=False)
