"""Groups: whether one policy explains all episodes, or two policies explain them far better.

With ℓ the mean log density of an episode's states by a policy that has not seen it, per column of the action, n its
states and κ as in `policies`, two groups are better than one by

    J = Σ n/κ · (ℓ of the own group − ℓ of all) − price,    price = −Σ log share of the own group

The gate is the episode's: a few states in which the policies differ decide about all others. The groups with the
largest J are looked for from many starts: each episode goes to the group that explains it better, until none moves. The
majority is the group with more pairs, not with more episodes: a demonstrator who fails early leaves many short ones.

Two groups count if J is above the price once more, for states of an episode are not independent (of single pairs, that
are, 0 will do), and if they contradict each other: the mean c of an episode by the policy of the other group
(`policies`) must be above `CONTRAST`. Two styles of good drivers are likelier as two groups, and so are two parts of a
pendulum's policy; but each group expects the errors that it makes in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.judging.policies import Fitted
from robust_bc.auditing.judging.scaled import Flags, Floats, Places

COARSE = 64
"""Features that groups are looked for with; the best go on with all."""
FIRST_ROUNDS, ROUNDS, GO_ON = 6, 10, 2
"""Rounds of a start, and of the best few; most end sooner."""
WORST = (0.1, 0.2, 0.35, 0.48)
"""Shares of the pairs in groups that the search starts from: of episodes that one policy explains worst, or best."""
ALONE, AT_RANDOM = 6, 4
"""Further starts: the half that one episode alone explains best, and halves at random."""
CONTRAST = 0.4
"""Squared errors are half as large again as the other policy expects; less is a matter of style."""


@dataclass(frozen=True, eq=False)
class Split:
    """Two groups of C episodes."""

    majority: Flags  # (C,)
    evidence: float
    """J."""
    contrast: float
    """Mean c of an episode by the other group's policy, what is below 0 as 0; the mean of both groups."""
    alike: float
    """κ of the majority."""
    counts: bool
    """Whether there are two policies; otherwise one will do."""


def find_groups(fitted: Fitted, generator: np.random.Generator) -> Split | None:
    """The likeliest two groups; None if nothing can be split."""
    search = Search(fitted)
    found = search.likeliest(generator)
    if found is None:
        return None
    first = found[1]
    alike = fitted.states_alike(first)
    evidence = search.value(first, alike)
    calm = fitted.settled(first)  # errors of the others are no noise of the majority
    across = [np.maximum(calm.contradiction(group)[~group], 0).mean() for group in (first, ~first)]
    contrast = float(np.mean(across))
    least = search.price(first) if search.several else 0.0
    counts = evidence > least and contrast > CONTRAST
    return Split(first, evidence, contrast, alike, counts)


@dataclass(frozen=True, eq=False)
class Search:
    """For the likeliest two groups."""

    fitted: Fitted

    @property
    def everybody(self) -> Flags:
        """(C,)"""
        return np.ones(len(self.fitted), np.bool_)

    @property
    def several(self) -> bool:
        """Whether there is an episode of several states."""
        return bool(self.fitted.shown.states.max() > 1)

    def likeliest(self, generator: np.random.Generator) -> tuple[float, Flags] | None:
        """J and the majority (C,): from many starts with few features, the best of which go on with all.

        One state for each episode is too little for few features.
        """
        coarse = Search(self.fitted.first(COARSE)) if self.several else self
        tried: dict[bytes, tuple[float, Flags]] = {}
        for start in coarse.starts(generator):
            found = coarse.climb(start, FIRST_ROUNDS)
            if found is not None:
                tried.setdefault(found[1].tobytes(), found)
        best = sorted(tried.values(), key=lambda found: -found[0])[:GO_ON]
        ends = [self.climb(first, ROUNDS) for _, first in best]
        return max((end for end in ends if end is not None), key=lambda end: end[0], default=None)

    def starts(self, generator: np.random.Generator) -> Iterator[Flags]:
        """Those that one policy explains worst or best, those that agree with some episode, and some at random."""
        everybody, pairs = self.everybody, self.fitted.pairs
        order = np.argsort(self.fitted.told(everybody).density, kind="stable")
        for ordered in (order, order[::-1]):
            for share in WORST:
                start = everybody.copy()
                start[up_to(ordered, pairs, share)] = False
                yield start
        nobody = self.fitted.told(~everybody).density
        for place in generator.permutation(len(everybody))[:ALONE].tolist():
            alone = ~everybody
            alone[place] = True
            gain = self.fitted.told(alone).density - nobody
            gain[place] = np.inf
            start = ~everybody
            start[up_to(np.argsort(-gain, kind="stable"), pairs, 0.5)] = True
            yield start
        for _ in range(AT_RANDOM):
            yield generator.random(len(everybody)) < 0.5

    def climb(self, first: Flags, rounds: int) -> tuple[float, Flags] | None:
        """All episodes go to the group that explains them better, until none does; the likeliest on the way."""
        best: tuple[float, Flags] | None = None
        fitted, pairs = self.fitted, self.fitted.pairs
        for _ in range(rounds):
            if first.all() or not first.any():
                break
            if pairs[first].sum() * 2 < pairs.sum():
                first = ~first
            value = self.value(first, fitted.alike)
            if best is not None and value <= best[0]:
                break
            best = value, first
            gain = fitted.told(~first).density - fitted.told(first).density
            moved = fitted.shown.states / fitted.alike * gain + self.odds(first) <= 0
            if np.array_equal(moved, first):
                break
            first = moved
        return best

    def value(self, first: Flags, alike: float) -> float:
        """J."""
        told, others = self.fitted.told(first).density, self.fitted.told(~first).density
        gain = np.where(first, told, others) - self.fitted.told(self.everybody).density
        return float((self.fitted.shown.states / alike * gain).sum()) - self.price(first)

    def odds(self, first: Flags) -> float:
        """Log odds of the second group over the first, by pairs."""
        return float(np.log(self.fitted.pairs[~first].sum() / self.fitted.pairs[first].sum()))

    def price(self, first: Flags) -> float:
        """Minus the log probability of the groups, given their shares."""
        odds = self.odds(first)
        return float(first.sum() * np.logaddexp(0, odds) + (~first).sum() * np.logaddexp(0, -odds))


def up_to(order: Places, pairs: Floats, share: float) -> Places:
    """The first places of an order with so much of the pairs, one at least."""
    shares = np.cumsum(pairs[order]) / pairs.sum()
    return order[: max(1, int((shares <= share).sum()))]
