"""Groups: whether one policy explains all episodes, or two policies explain them far better.

The two groups are those with the largest log posterior, log p(y(1))/κ + log p(y(2))/κ and the price of saying who is of
which group, Σ log share (`policies` has p). κ says that likelihoods count for less than their face value, as no model
is quite right (Miller & Dunson, "Robust Bayesian inference via coarsening", 2019). The gate is the episode's: a few
states in which the policies differ decide about all others, so a mirrored driver is found also on a straight road. The
majority is the group with more pairs, not with more episodes: a demonstrator who fails early leaves many short ones.

Each episode is judged by policies that have not seen it:

    r = (log p(yᵢ | group 2 without i) − log p(yᵢ | group 1 without i))/κ + log odds of the groups

are the log odds that episode i is of the others. The log odds g of two policies over one are the gain in the log
posterior. Where the groups also differ by their noise, a few odd moments, which clean piles have too, would do: there
two groups must be better for most of the time. So each episode is cut into blocks, and g is no larger than

    Σ over episodes of blocks · median of (log p(block | own group) − log p(block | all))/κ − price

nor than Σ over group 2 of the second largest log p(block | group 2) − log p(block | group 1), over κ: one bad moment
does not make a bad episode.

The same is asked of two views: actions given states (the policy), and actions given states and what came of them (the
recording). A mirrored or shifted recording contradicts the dynamics, also where its actions look like a policy. In the
policy's view the others may have more noise than the majority, but never less: who has a steadier hand is not bad for
that. In the recording's view noise is nobody's fault: both groups have the same. But dynamics are never quite smooth (a
foot touches the ground, a joint meets its end), so group 2 must contradict group 1 for most of the time: there g is no
larger than Σ over group 2 of blocks · median of (log p(block | group 2) − log p(block | group 1))/κ − price.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from robust_bc.auditing.policies import COARSE, NOISES, Fitted, Policy, Spread, Statistics, climb_spreads
from robust_bc.auditing.scaled import Flags, Floats, Places, Scaled, Singles, evenly_in_time
from robust_bc.auditing.settings import AuditSettings

FIRST_ROUNDS, ROUNDS, GO_ON = 5, 12, 4
"""Rounds of a start, and of the best few; most end sooner."""
WORST = (0.1, 0.2, 0.35, 0.48)
"""Shares of the pairs in groups that the search starts from: of episodes that one policy explains worst, or best."""
AT_RANDOM = 12
"""Further starts."""
NOISIER, LOUD = 2, int(np.searchsorted(NOISES, 0.3))
"""Steps of `NOISES`, here a factor of 10, by which others must have more noise to be told by that; and the place of the
least such noise, a third of the actions' variance. Below it, people differ, and nobody learns the worse for it."""
SURELY_NOT = -1e3
"""Log odds of two policies where nothing can be split."""
BLOCKS = 5
"""Of an episode: with five, two may be out of the ordinary."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Two groups of the C compared episodes, and what they say of all E."""

    majority: Flags  # (C,) the group with more pairs; all of them if one policy will do
    evidence: float
    """g: log odds of two policies over one."""
    ratios: Floats  # (E,) r: log odds that an episode is of the others, and not of the majority
    scores: Floats  # (E,) the higher, the worse: r per state, or the misfit per state of one policy of all others


@dataclass(frozen=True, eq=False)
class Split:
    """Two groups of C episodes, the first with more pairs."""

    value: float
    """Log posterior."""
    first: Flags  # (C,)
    spreads: tuple[Spread, Spread]


@dataclass(frozen=True, eq=False)
class View:
    """What actions are explained by: states, or states and what came of them."""

    scaled: Scaled
    settings: AuditSettings
    inputs: Singles  # (N, S)
    allowed: Flags  # (N,) which rows have these inputs

    @classmethod
    def of(cls, scaled: Scaled, settings: AuditSettings, recording: bool) -> View:
        """Of the recording, or of the policy."""
        if recording:
            return cls(scaled, settings, np.concatenate([scaled.states, scaled.changes], axis=1), scaled.followed)
        return cls(scaled, settings, scaled.states, np.ones(len(scaled), np.bool_))

    def rows(self, place: int) -> Places:
        """Of one episode."""
        mine = self.scaled.episodes[place]
        return evenly_in_time(mine[self.allowed[mine]], self.settings.states)

    def fit(self, compared: Places, generator: np.random.Generator) -> Fitted:
        """Features and statistics of some episodes."""
        rows = [self.rows(int(place)) for place in compared]
        return Fitted.to(self.inputs, self.scaled.actions, rows, self.settings.features, generator)

    def likelihoods(self, fitted: Fitted, policies: list[Policy], places: Places) -> tuple[Floats, Floats]:
        """(p, n) log likelihood by each policy of episodes that were not fitted, and how many states (n,) they have."""
        found, states = np.zeros((len(policies), len(places))), np.ones(len(places))
        for number, place in enumerate(places.tolist()):
            rows = self.rows(place)
            features, actions = fitted.features.of(self.inputs[rows]), self.scaled.actions[rows].astype(np.float64)
            found[:, number] = [policy.log_density(features, actions) for policy in policies]
            states[number] = max(1, len(rows))
        return found, states


@dataclass(frozen=True, eq=False)
class Found:
    """What one view shows of C episodes."""

    view: View
    fitted: Fitted
    split: Split
    evidence: float
    against: Floats  # (C,) r without the odds of the groups
    odds: float


def find_groups(
    scaled: Scaled, compared: Places, policy: Fitted, settings: AuditSettings, generator: np.random.Generator
) -> Groups:
    """The two groups of some episodes that are likeliest in the view that shows them best."""
    pairs = scaled.grouping.lengths[compared].astype(np.float64)
    states = View.of(scaled, settings, recording=False)
    found = [in_view(states, policy, pairs, False, generator)]
    if scaled.followed.any():
        recording = View.of(scaled, settings, recording=True)
        found.append(in_view(recording, recording.fit(compared, generator), pairs, True, generator))
    best = max((one for one in found if one is not None), key=lambda one: one.evidence, default=None)
    evidence = SURELY_NOT if best is None else best.evidence
    limit = special.logit(1 - settings.doubt)
    others = np.setdiff1d(np.arange(len(scaled.grouping.names)), compared)
    everybody = np.ones(len(compared), np.bool_)
    ratios, scores = np.zeros((2, len(scaled.grouping.names)))
    if best is not None:
        ratios[compared], scores[compared] = best.against + best.odds, best.against / best.fitted.states
        if evidence > -limit:  # otherwise nobody is in doubt
            groups = zip((best.split.first, ~best.split.first), best.split.spreads, strict=True)
            told, counts = best.view.likelihoods(best.fitted, [best.fitted.policy(*group) for group in groups], others)
            against = (told[1] - told[0]) / settings.coarsening
            ratios[others], scores[others] = against + best.odds, against / counts
    if best is None or evidence < limit:
        told, counts = states.likelihoods(policy, [policy.policy(everybody, policy.spread)], others)
        scores[others] = -told[0] / counts
        scores[compared] = -policy.statistics.left_out(everybody, policy.spread) / policy.states
    return Groups(best.split.first if best and evidence >= limit else everybody, evidence, ratios, scores)


def in_view(view: View, fitted: Fitted, pairs: Floats, recording: bool, generator: np.random.Generator) -> Found | None:
    """The likeliest two groups in one view; None if nothing can be split."""
    settings = view.settings
    search = Search(pairs, fitted.spread, recording, settings.coarsening)
    split = search.likeliest(fitted.statistics, generator)
    if split is None:
        return None
    everybody = np.ones(len(pairs), np.bool_)
    groups = [(split.first, split.spreads[0]), (~split.first, split.spreads[1]), (everybody, fitted.spread)]
    known = [fitted.policy(*group) for group in groups]
    blocks = np.zeros((len(groups), len(pairs), BLOCKS))
    for place, (features, actions) in enumerate(fitted.shown):
        for number, group in enumerate(groups):
            policy = fitted.policy(*group, without=place) if group[0][place] else known[number]
            blocks[number, place] = policy.by_blocks(features, actions, BLOCKS)
    # One policy must not lose by a spread that was not tried for it.
    one = max(fitted.statistics.likelihood(everybody, spread) for spread in (fitted.spread, *split.spreads))
    evidence = split.value - one / settings.coarsening
    against = (blocks[1] - blocks[0])[~split.first] / settings.coarsening
    if recording:
        evidence = min(evidence, BLOCKS * float(np.median(against, axis=1).sum()) - search.price(split.first))
    elif split.spreads[0] != split.spreads[1]:
        own = np.where(split.first[:, None], blocks[0], blocks[1])
        mostly = BLOCKS * float(np.median(own - blocks[2], axis=1).sum()) / settings.coarsening
        twice = float(np.sort(against, axis=1)[:, -2].sum())
        evidence = min(evidence, mostly - search.price(split.first), twice)
    ours, theirs = (fitted.statistics.left_out(*group) for group in groups[:2])
    return Found(view, fitted, split, evidence, (theirs - ours) / settings.coarsening, search.odds(split.first))


@dataclass(frozen=True, eq=False)
class Search:
    """For the likeliest two groups of C episodes."""

    pairs: Floats  # (C,)
    spread: Spread
    """Where that of a group is looked for at first."""
    same: bool
    """Whether both groups have the same spread."""
    coarsening: float
    """κ."""

    def likeliest(self, statistics: Statistics, generator: np.random.Generator) -> Split | None:
        """From many starts with few features, the best of which go on with all; None if nothing can be split."""
        coarse = statistics.first(COARSE)
        tried: dict[bytes, Split] = {}
        for start in self.starts(coarse, generator):
            found = self.climb(coarse, start, FIRST_ROUNDS)
            if found is not None:
                tried.setdefault(found.first.tobytes(), found)
        best = sorted(tried.values(), key=lambda split: -split.value)[:GO_ON]
        ends = [self.climb(statistics, split.first, ROUNDS) for split in best]
        return max((end for end in ends if end is not None), key=lambda split: split.value, default=None)

    def starts(self, statistics: Statistics, generator: np.random.Generator) -> Iterator[Flags]:
        """Those that one policy explains worst, those that it explains best, and some at random."""
        everybody = np.ones(len(self.pairs), np.bool_)
        told = statistics.left_out(everybody, self.spread) / np.maximum(statistics.counts, 1)
        order = np.argsort(told, kind="stable")
        for ordered in (order, order[::-1]):
            shares = np.cumsum(self.pairs[ordered]) / self.pairs.sum()
            for share in WORST:
                start = everybody.copy()
                start[ordered[: max(1, int((shares <= share).sum()))]] = False
                yield start
        for number in range(AT_RANDOM):
            yield generator.random(len(self.pairs)) < (0.5 if number % 2 else generator.uniform(0.6, 0.95))

    def climb(self, statistics: Statistics, first: Flags, rounds: int) -> Split | None:
        """All episodes go to the group that explains them better, until none does; the likeliest on the way."""
        best: Split | None = None
        spreads = self.spread, self.spread
        for _ in range(rounds):
            if first.all() or not first.any():
                break
            if self.pairs[first].sum() * 2 < self.pairs.sum():
                first, spreads = ~first, spreads[::-1]
            likelihood, spreads = fit_spreads(statistics, first, spreads, self.same)
            value = float(likelihood / self.coarsening - self.price(first))
            if best is not None and value <= best.value:
                break
            best = Split(value, first, spreads)
            ratios = statistics.left_out(~first, spreads[1]) - statistics.left_out(first, spreads[0])
            moved = ratios / self.coarsening + self.odds(first) <= 0
            if np.array_equal(moved, first):
                break
            first = moved
        return best

    def odds(self, first: Flags) -> float:
        """Log odds of the second group over the first, by pairs."""
        return float(np.log(self.pairs[~first].sum() / self.pairs[first].sum()))

    def price(self, first: Flags) -> float:
        """Minus the log probability of the groups, given their shares."""
        odds = self.odds(first)
        return float(first.sum() * np.logaddexp(0, odds) + (~first).sum() * np.logaddexp(0, -odds))


def fit_spreads(
    statistics: Statistics, first: Flags, start: tuple[Spread, Spread], same: bool
) -> tuple[float, tuple[Spread, Spread]]:
    """The likeliest noise and deviations of both groups: the same, or for the second none smaller."""
    if same:
        value, both = climb_spreads(
            lambda at: statistics.likelihood(first, at) + statistics.likelihood(~first, at), start[0]
        )
        return value, (both, both)
    value, one = climb_spreads(lambda at: statistics.likelihood(first, at), start[0])
    ends = []
    for least, most in ((one[0], one[0]), (max(LOUD, one[0] + NOISIER), len(NOISES) - 1)):
        if least < len(NOISES):
            begin = int(np.clip(start[1][0], least, most)), max(one[1], start[1][1])
            ends.append(
                climb_spreads(
                    lambda at: statistics.likelihood(~first, at),
                    begin,
                    lambda at: least <= at[0] <= most and at[1] >= one[1],  # noqa: B023
                )
            )
    more, two = max(ends)
    return value + more, (one, two)
