"""Groups: whether one policy explains all episodes, or two policies explain them far better.

The two groups are those with the largest log posterior, log p(y(1))/κ + log p(y(2))/κ and the price of saying who is of
which group, Σ log share (`policies` has p). κ says that likelihoods count for less than their face value, as no model
is quite right (Miller & Dunson, "Robust Bayesian inference via coarsening", 2019). The gate is the episode's: a few
states in which the policies differ decide about all others, so a mirrored driver is found also on a straight road. The
majority is the group with more pairs, not with more episodes: a demonstrator who fails early leaves many short ones.

Then each episode is judged by policies that have not seen it, block by block in time:

    r = Σ over blocks of (log p(block | group 2) − log p(block | group 1))/κ + log odds of the groups

are the log odds that an episode is of the others. The log odds g of two policies over one are the gain in the log
posterior where the groups differ by their policies alone. Where they also differ by their noise, a few odd moments,
which clean piles have too, would do: there an unsteady demonstrator must be so throughout, and

    g = Σ over group 2 of blocks · median of (log p(block | group 2) − log p(block | group 1))/κ − price

The same is asked of two views: actions given states (the policy), and actions given states and what came of them (the
recording). A mirrored or shifted recording contradicts the dynamics, also where its actions look like a policy. In the
policy's view the others may have more noise than the majority, but never less: who has a steadier hand is not bad for
that. In the recording's view noise is nobody's fault: both groups have the same, and as dynamics are never quite smooth
(a foot touches the ground, a joint meets its end), g is by medians there, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.policies import COARSE, NOISES, Fitted, Spread, Statistics, climb_spreads
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

    majority: Flags  # (C,) the group with more pairs
    evidence: float
    """g: log odds of two policies over one."""
    ratios: Floats  # (E,) r: log odds that an episode is of the others, and not of the majority
    scores: Floats  # (E,) r per state; the higher, the worse
    misfits: Floats  # (E,) minus the log likelihood per state by one policy of all others; the higher, the worse


@dataclass(frozen=True, eq=False)
class Split:
    """Two groups of C episodes, the first with more pairs."""

    value: float
    """Log posterior."""
    first: Flags  # (C,)
    spreads: tuple[Spread, Spread]


def find_groups(
    scaled: Scaled, compared: Places, policy: Fitted, settings: AuditSettings, generator: np.random.Generator
) -> Groups:
    """The two groups of some episodes that are likeliest in the view that shows them best."""
    everywhere = np.ones(len(scaled), np.bool_)
    found = [_in_view(scaled, compared, scaled.states, everywhere, policy, settings, generator, recording=False)]
    if scaled.followed.any():
        inputs = np.concatenate([scaled.states, scaled.changes], axis=1)
        recording = fit_episodes(scaled, inputs, scaled.followed, compared, settings, generator)
        found.append(
            _in_view(scaled, compared, inputs, scaled.followed, recording, settings, generator, recording=True)
        )
    return max(found, key=lambda groups: groups.evidence)


def fit_episodes(
    scaled: Scaled,
    inputs: Singles,
    allowed: Flags,
    compared: Places,
    settings: AuditSettings,
    generator: np.random.Generator,
) -> Fitted:
    """Features and statistics of some episodes, by their allowed rows (N,)."""
    rows = [drawn_rows(scaled, int(place), allowed, settings) for place in compared]
    return Fitted.to(inputs, scaled.actions, rows, settings.features, generator)


def drawn_rows(scaled: Scaled, place: int, allowed: Flags, settings: AuditSettings) -> Places:
    """Of one episode."""
    mine = scaled.episodes[place]
    return evenly_in_time(mine[allowed[mine]], settings.states)


def _in_view(
    scaled: Scaled,
    compared: Places,
    inputs: Singles,
    allowed: Flags,
    fitted: Fitted,
    settings: AuditSettings,
    generator: np.random.Generator,
    recording: bool,
) -> Groups:
    episodes = len(scaled.grouping.names)
    pairs = scaled.grouping.lengths[compared].astype(np.float64)
    search = Search(pairs, fitted.spread, recording, settings.coarsening)
    everybody = np.ones(len(pairs), np.bool_)
    split = search.likeliest(fitted.statistics, generator) or Split(0.0, everybody, (fitted.spread, fitted.spread))
    parts = [(everybody, fitted.spread), (split.first, split.spreads[0]), (~split.first, split.spreads[1])]
    # One policy must not lose by a spread that was not tried for it.
    one = max(fitted.statistics.likelihood(everybody, spread) for spread in (fitted.spread, *split.spreads))
    known = [fitted.policy(*part) for part in parts]
    blocks, states = np.zeros((len(parts), episodes, BLOCKS)), np.zeros(episodes)
    places = np.full(episodes, -1)
    places[compared] = np.arange(len(compared))
    for episode, place in enumerate(places.tolist()):
        if place >= 0:
            features, actions = fitted.shown[place]
            policies = [
                fitted.policy(*part, without=place) if part[0][place] else policy
                for part, policy in zip(parts, known, strict=True)
            ]
        else:
            rows = drawn_rows(scaled, episode, allowed, settings)
            features, actions = fitted.features.of(inputs[rows]), scaled.actions[rows].astype(np.float64)
            policies = known
        states[episode] = max(1, len(features))
        blocks[:, episode] = [policy.by_blocks(features, actions, BLOCKS) for policy in policies]
    misfit = -blocks[0].sum(1) / states
    if split.first.all():
        nothing = np.zeros(episodes)
        return Groups(everybody, SURELY_NOT, nothing, nothing, misfit)
    against = (blocks[2] - blocks[1]).sum(1) / settings.coarsening
    if not recording and split.spreads[0] == split.spreads[1]:
        evidence = split.value - one / settings.coarsening
    else:
        lasting = BLOCKS * np.median(blocks[2] - blocks[1], axis=1)[compared][~split.first].sum()
        evidence = float(lasting / settings.coarsening - search.price(split.first))
    return Groups(split.first, evidence, against + search.odds(split.first), against / states, misfit)


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
