"""Contradiction: how far the actions of an episode are from what the majority's policy expects, and who is bad for it.

c (`policies`) is about 0 or less for whoever does as the majority does, however rare the states: where the majority has
not been, v is large. Whoever is bad has a larger c, by an unsteady hand or by another policy. The posterior is of a
mixture of Student's t around the median of the good ones and a normal distribution of the bad ones, both fitted to the
pile itself; what is below 0 counts as 0. Where two policies were found (`groups`), log odds of the second one are
added, as far as they are trusted. Those who are bad have no part in the majority's policy, so all is done once more
until nobody moves, or those who move come back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from robust_bc.auditing.judging.groups import Split
from robust_bc.auditing.judging.policies import Fitted, Shown, weighted_median
from robust_bc.auditing.judging.scaled import Flags, Floats

LEAST_SPREAD = 0.3
"""Deviation of c, of the good and of the bad, at least: with twenty episodes nobody knows it better."""
APART = 1.0
"""By which the mean c of the bad ones is larger, at least: their errors have e times the variance. Who is about half of
that from the good ones is as likely good as bad."""
TAILS = 3.0
"""Degrees of freedom of the good: a good episode may be unusual."""
MOST_TRUSTED, FULLY = 8.0, 0.5
"""Of the log odds of the second policy, and the c from which on these count in full. Two groups can also divide the
states, so c has the last word: whoever contradicts nobody is not bad, whatever group he is in."""
ROUNDS, SETTLED = 30, 1e-4
"""Of the mixture, and the change of a posterior below which it stands still."""
CHANGES = 8
"""Of the majority, at most; two or three are usual."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """What the majority's policy says of C episodes."""

    fitted: Fitted
    split: Split | None
    """Two policies, if there are."""
    majority: Flags  # (C,)
    scores: Floats  # (C,) c, and up to 1 more or less for the odds of the second policy
    bad: Floats  # (C,) probability
    mixture: Mixture

    def others(self, shown: Shown) -> tuple[Floats, Floats]:
        """Scores and the probability of being bad of further episodes (n,)."""
        first = self.fitted.policy(self.majority)
        told = shown.told(*shown.judged(first.mean, first.covariance), self.fitted.least)
        found = shown.contradiction(told, first.noise)
        trusted = np.zeros(len(found))
        if self.split is not None and not self.majority.all():
            second = self.fitted.policy(~self.majority)
            against = shown.told(*shown.judged(second.mean, second.covariance), self.fitted.least)
            trusted = in_bounds(shown.states / self.split.alike * (against.density - told.density), found)
        return found + trusted / MOST_TRUSTED, special.expit(self.mixture.odds(found) + trusted)


def find_suspects(fitted: Fitted, split: Split | None) -> Suspects:
    """From two groups, if they count, or from everybody."""
    two = split is not None and split.counts
    majority = split.majority if split is not None and two else np.ones(len(fitted), np.bool_)
    bad = (~majority).astype(np.float64)
    if two:  # errors of the others are no noise of the majority
        fitted = fitted.settled(majority)
    seen: set[bytes] = set()
    while True:
        seen.add(majority.tobytes())
        found = fitted.contradiction(majority)
        trusted = np.zeros(len(found))
        if split is not None and two and not majority.all():
            gain = fitted.told(~majority).density - fitted.told(majority).density
            trusted = in_bounds(fitted.shown.states / split.alike * gain, found)
        if not two and len(seen) == 1:
            usual = weighted_median(np.maximum(found, 0), fitted.pairs)
            bad = (found > usual + APART).astype(np.float64)
        mixture, bad = fit_mixture(found, majority, fitted.pairs, bad, trusted)
        kept = bad < 0.5
        again = kept.tobytes() in seen or len(seen) == CHANGES
        if again or 2 * fitted.pairs[kept].sum() < fitted.pairs.sum():
            break
        majority = kept
    scores = found + trusted / MOST_TRUSTED
    return Suspects(fitted, split if two else None, majority, scores, bad, mixture)


def in_bounds(odds: Floats, found: Floats) -> Floats:
    """Log odds of the second policy as far as they are trusted, for c (C,)."""
    bounded = np.clip(odds, -MOST_TRUSTED, MOST_TRUSTED)
    return np.asarray(np.where(bounded > 0, bounded * np.clip(found / FULLY, 0, 1), bounded))


@dataclass(frozen=True)
class Mixture:
    """Of the c of good and of bad episodes."""

    good: tuple[float, float]
    """Median and deviation."""
    bad: tuple[float, float]
    """Mean and deviation."""
    share: float
    """Of the bad."""

    @classmethod
    def of(cls, found: Floats, good: Flags, pairs: Floats, bad: Floats) -> Mixture:
        """From c (C,), who is surely not bad (C,) and the probabilities of being bad (C,)."""
        values = np.maximum(found, 0)
        middle = weighted_median(values[good], pairs[good])
        width = 1.4826 * weighted_median(np.abs(values[good] - middle), pairs[good])
        weight = max(float(bad.sum()), 1e-12)
        mean = max(middle + APART, float(bad @ values) / weight)
        spread = np.sqrt(float(bad @ (values - mean) ** 2) / weight)
        share = float(np.clip(weight / len(found), 0.5 / len(found), 0.5))
        return cls((middle, max(LEAST_SPREAD, width)), (mean, max(LEAST_SPREAD, float(spread))), share)

    def odds(self, found: Floats) -> Floats:
        """Log odds of being bad; beyond the middle of either, nobody is less typical of it."""
        values = np.maximum(found, 0)
        bad = stats.norm.logpdf(np.minimum(values, self.bad[0]), *self.bad)
        good = stats.t.logpdf(np.maximum(values, self.good[0]), TAILS, *self.good)
        return np.asarray(bad - good + special.logit(self.share))


def fit_mixture(found: Floats, majority: Flags, pairs: Floats, bad: Floats, trusted: Floats) -> tuple[Mixture, Floats]:
    """By expectation maximisation from probabilities (C,) of being bad."""
    for _ in range(ROUNDS):
        good = majority & (bad < 0.5)
        mixture = Mixture.of(found, good if good.any() else majority, pairs, bad)
        new = special.expit(mixture.odds(found) + trusted)
        if np.abs(new - bad).max() < SETTLED:
            break
        bad = new
    return mixture, np.asarray(new)
