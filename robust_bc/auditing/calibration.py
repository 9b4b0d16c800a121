"""Calibration: from how far actions are from what a policy would do, to the probability that each is good.

The distances (root mean square over action dimensions, in units of their deviation) are of two kinds. Those of good
pairs are the errors of a policy on pairs it has not seen: log-normal, with a place and width that are learned. Those of
bad pairs are as large as if the action belonged to another state; what that looks like the data itself tells, by giving
every state the action of another pair, drawn at random. So

    p(log d) = (1 − η)·N(log d; m, s²) + η·p_shuffled(log d)

has three unknowns, found by expectation maximisation: no clean pair and no corruption rate is asked for. In rare states
m is larger, by a slope that is learned as well.

Where a rival was learned from what is not trusted, single pairs are compared with both, and a third law is that of
distances from the rival (`beside_a_rival`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.ndimage import gaussian_filter1d

Floats = NDArray[np.float64]

SHUFFLED = 20_000
"""Distances to actions of other pairs that are looked at."""
BINS = 4096
ITERATIONS = 200
NARROWEST = 0.15
"""Smallest width s of the good, in logarithms: without, a few pairs that are met exactly would be all that is good."""
HALF_EXPLAINED = 0.5
"""Share of the shuffled distances' median beyond which a policy explains hardly more than a random action does."""
TINY = 1e-6
SLOPES, STEEPEST = 3, 2.0
"""Times that the slope of rareness is found anew, and its limit: errors that grow with the square of the distance."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What distances (N,) say."""

    good: Floats  # (N,) the probability that each pair is good
    log_ratio: Floats  # (N,) log p(d | bad) − log p(d | good); beside a rival, that of actions
    explains: bool
    """Whether the policy explains the pairs at all; if not, nothing else here means much."""

    @property
    def rate(self) -> float:
        """η, the share of bad pairs."""
        return float(1 - self.good.mean())


def distances(actions: NDArray[np.floating], predicted: NDArray[np.floating], scale: Floats) -> Floats:
    """(N,) root mean square over live dimensions of (N, A), in units of the scale (A,); a locked joint counts not."""
    live = scale > 0
    away = (actions[:, live].astype(np.float64) - predicted[:, live]) / scale[live]
    return np.sqrt((away**2).mean(1)) if live.any() else np.zeros(len(actions))


def calibrate(
    found: Floats,
    actions: NDArray[np.floating],
    predicted: NDArray[np.floating],
    scale: Floats,
    seed: int,
    novelty: Floats | None = None,
    to_rival: Floats | None = None,
) -> Calibration:
    """The probabilities for distances (N,) of actions (N, A) from predictions (N, A).

    `novelty` (N,) is how rare each state is: the logarithm of the distance to other states. Nobody can tell well what
    to do where little was seen, so good pairs are farther off there, by a slope that is learned. Without it, rare good
    pairs, such as the first steps of a walk, would be taken for bad ones, and a policy without them falls. `to_rival`
    (N,) are the distances from what a rival would do.
    """
    generator = np.random.default_rng([seed, 7])
    rows = generator.integers(len(actions), size=SHUFFLED)
    others = generator.integers(len(actions), size=SHUFFLED)
    shuffled = distances(actions[others], predicted[rows], scale)
    log_found, log_shuffled = np.log(found + TINY), np.log(shuffled + TINY)
    good, ratio = _two_kinds(log_found, log_shuffled)
    excess = np.zeros(len(found))
    if novelty is not None:
        rare = np.maximum(novelty - np.median(novelty), 0)  # what is common is as far off as it is
        for _ in range(SLOPES):
            excess = slope(rare, log_found, good) * rare
            good, ratio = _two_kinds(log_found - excess, log_shuffled - excess[rows])
    if to_rival is not None:
        bad = density(log_shuffled - excess[rows], log_found - excess)
        good, ratio = beside_a_rival(log_found, np.log(to_rival + TINY), excess, bad, good, int((scale > 0).sum()))
    explains = float(np.median(found)) < HALF_EXPLAINED * float(np.median(shuffled))
    return Calibration(good, ratio, explains)


def slope(rare: Floats, log_found: Floats, good: Floats) -> float:
    """By how much the log distance of good pairs grows with rareness: weighted least squares, never below 0."""
    total = max(float(good.sum()), 1.0)
    centre, level = float((good * rare).sum() / total), float((good * log_found).sum() / total)
    spread = float((good * (rare - centre) ** 2).sum())
    along = float((good * (rare - centre) * (log_found - level)).sum())
    return float(np.clip(along / spread, 0, STEEPEST)) if spread > 0 else 0.0


def _two_kinds(log_found: Floats, log_shuffled: Floats) -> tuple[Floats, Floats]:
    """Expectation maximisation: the probability of being good, and log p(d | bad) − log p(d | good), (N,) each."""
    order = np.argsort(log_found, kind="stable")  # all below is in the order of the distances, up to the end
    log_found = log_found[order]
    bad = density(log_shuffled, log_found)
    middle = np.median(log_found)
    place, width, rate = float(np.median(log_found[log_found <= middle])), 0.5, 0.3
    good = np.ones(len(log_found))
    narrow = stats.norm.pdf(log_found, place, width)
    for _ in range(ITERATIONS):
        narrow = stats.norm.pdf(log_found, place, width)
        joint = (1 - rate) * narrow
        before, good = good, np.where(log_found < place, 1.0, joint / np.maximum(joint + rate * bad, 1e-300))
        # Whoever is closer than a good pair usually is, is good: the shuffled density has nothing to say there. Nor has
        # it beyond all that was shuffled, where the tail of the good would be the thicker one: farther is never better.
        good = np.minimum.accumulate(good)
        total = max(float(good.sum()), 1.0)
        place = float((good * log_found).sum() / total)
        width = max(NARROWEST, float(np.sqrt((good * (log_found - place) ** 2).sum() / total)))
        rate = float(np.clip(1 - good.mean(), 1e-3, 1 - 1e-3))
        if np.abs(good - before).max() < 1e-6:
            break
    ratio = np.where(log_found < place, -np.inf, np.log(np.maximum(bad, 1e-300)) - np.log(np.maximum(narrow, 1e-300)))
    ratio = np.clip(np.maximum.accumulate(ratio), -30, 30)
    back = np.argsort(order)
    return good[back], ratio[back]


def beside_a_rival(
    log_found: Floats, log_rival: Floats, excess: Floats, bad: Floats, good: Floats, dimensions: int
) -> tuple[Floats, Floats]:
    """The probability of being good and log p(a | bad) − log p(a | good), (N,) each, with three kinds of pairs.

    Good ones lie around what the trusted policy would do, bad ones around what the rival would do, or anywhere. Laws of
    log distances from different centres are compared as densities of actions: in D dimensions p(a) ∝ p(log d) / d^D.
    `bad` (N,) is the law of shuffled distances at each pair, `good` (N,) what is believed without the rival.
    """
    found = log_found - excess
    kinds = np.stack([good, (1 - good) * (log_rival >= log_found), (1 - good) * (log_rival < log_found)])  # (3, N)
    log = np.zeros_like(kinds)
    farthest = float(found[bad.argmax()])  # where the shuffled law is highest, of the places that pairs have
    for _ in range(ITERATIONS):
        share = np.clip(kinds.mean(1), 1e-3, None)
        near = stats.norm.logpdf(found, *_place_and_width(found, kinds[0]))
        log[0] = near - dimensions * log_found
        # Beyond all that was shuffled the tail of the good would be the thicker one; farther is never better.
        least = near + np.log((share[1] + share[2]) / share[1])  # as likely to be bad of some kind as to be good
        log[1] = np.where(found > farthest, np.maximum(np.log(bad), least), np.log(bad)) - dimensions * log_found
        log[2] = stats.norm.logpdf(log_rival, *_place_and_width(log_rival, kinds[2])) - dimensions * log_rival
        log += np.log(share / share.sum())[:, None]
        before, kinds = kinds, np.exp(log - log.max(0))
        kinds /= kinds.sum(0)
        # Whoever is closer than a good pair usually is, and not closer to the rival, is good.
        sure = (found < _place_and_width(found, before[0])[0]) & (log_found <= log_rival)
        kinds[:, sure] = np.array([[1.0], [0.0], [0.0]])
        if np.abs(kinds[0] - before[0]).max() < 1e-6:
            break
    odds = np.clip(share[1] + share[2], 1e-3, 1 - 1e-3)
    ratio = np.where(kinds[0] == 1, -30.0, np.logaddexp(log[1], log[2]) - log[0] - np.log(odds / (1 - odds)))
    return kinds[0], np.clip(ratio, -30, 30)


def _place_and_width(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted mean and deviation; at least NARROWEST."""
    total = max(float(weights.sum()), 1e-9)
    place = float((weights * values).sum() / total)
    return place, max(NARROWEST, float(np.sqrt((weights * (values - place) ** 2).sum() / total)))


def density(sample: Floats, where: Floats) -> Floats:
    """Gaussian kernel estimate of the density of a sample, with Scott's width, read off at (N,) places.

    The sample is counted in narrow bins first, so that the work does not grow with the product of both sizes.
    """
    if np.ptp(sample) == 0:
        return np.full(len(where), 1e-9)
    low, high = min(sample.min(), where.min()), max(sample.max(), where.max())
    counts, edges = np.histogram(sample, BINS, (low, high))
    bin_width = (high - low) / BINS
    width = float(sample.std(ddof=1)) * len(sample) ** -0.2
    smooth = gaussian_filter1d(counts.astype(np.float64), width / bin_width, mode="constant", truncate=6)
    centres = (edges[1:] + edges[:-1]) / 2
    return np.asarray(np.interp(where, centres, smooth / (len(sample) * bin_width)) + 1e-9)
