"""Alignment: whether the action of a row leads from its observation to the next one, or that of another row does.

Published files pair s(t+1) with a(t). It can be seen without a simulator: the change s(t+1) − s(t) is predicted from
s(t) and a(t + lag) by extremely randomised trees, once for each lag. The lag of the whole pile is the one whose trees
predict episodes best that they have not seen. Each episode is then asked which lag fits these trees best: an episode
that was recorded one step off fits them one step off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from robust_bc.auditing.scaled import Floats, Places, Scaled
from robust_bc.demonstrations import Demonstrations

LAGS = (-2, -1, 0, 1, 2)
ROWS = 2000
"""Rows that trees learn from; more change no lag."""
ROWS_IN_ALL = 20_000
"""Rows that trees are asked about, at most 100 of an episode."""
MOST_ROWS = 100
FEWEST_ROWS = 300
"""Below, trees cannot tell."""
TREES, LEAF = 20, 3
LEAST_EXPLAINED = 0.2
"""Share of the variance that trees must explain to be believed."""
LEAST_SPREAD = 1e-12
PLAINLY = 0.03
"""Share of the variance by which another lag must explain more than none before the pile is said to be off. Clean piles
of the development tasks have less; published files that are off have 0.03 to 0.09."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which lag fits best."""

    lag: int
    """Of the whole pile; 0 is right."""
    explained: Floats  # (lags,) share of the variance of changes that is explained in episodes left out
    lags: Places  # (E,) of each episode, relative to that of the pile
    gains: Floats  # (E,) logarithm of the error at the pile's lag over that at the best other one; above 0 if that fits

    @property
    def plain(self) -> bool:
        """Whether the pile's lag explains plainly more than any other: only then can an episode be told to be off."""
        others = np.delete(self.explained, LAGS.index(self.lag))
        return bool(self.explained[LAGS.index(self.lag)] > others.max() + PLAINLY)


def alignment(demonstrations: Demonstrations, seed: int = 0) -> Alignment | None:
    """None where it cannot be told: few rows, single pairs, or constant actions."""
    scaled = Scaled.of(demonstrations)
    rows, places = _usable(scaled)
    known = np.unique(places)
    if len(rows) < FEWEST_ROWS or len(known) < 2 or not scaled.live.any():
        return None
    generator = np.random.default_rng(seed)
    changes = _changes(scaled)
    first = np.zeros(len(scaled.grouping.names), np.bool_)
    first[generator.permutation(known)[: (len(known) + 1) // 2]] = True
    halves = [rows[first[places]], rows[~first[places]]]
    drawn = [half[np.sort(generator.permutation(len(half))[:ROWS])] for half in halves]
    if min(len(half) for half in drawn) < FEWEST_ROWS // 2:
        return None
    explained = np.zeros(len(LAGS))
    for shown, asked in (drawn, drawn[::-1]):
        spread = np.mean((changes[asked] - changes[asked].mean(0)) ** 2)
        for number, lag in enumerate(LAGS):
            errors = _errors(_fit(scaled, changes, shown, lag, seed), scaled, changes, asked, lag)
            explained[number] += 0.5 * (1 - errors.mean() / max(spread, LEAST_SPREAD))
    if explained.max() < LEAST_EXPLAINED:
        return None
    best = LAGS[int(np.argmax(explained))] if explained.max() > explained[LAGS.index(0)] + PLAINLY else 0
    most = int(np.clip(ROWS_IN_ALL // len(known), 10, MOST_ROWS))
    asked, whose = _some(rows, places, most)
    errors = np.empty((len(LAGS), len(asked)))
    shifts = [lag for lag in LAGS if abs(best + lag) <= max(LAGS)]
    for half in (0, 1):
        trees = _fit(scaled, changes, drawn[half], best, seed)
        mine = first[whose] == (half == 1)  # the episodes of the other half
        for number, lag in enumerate(shifts):
            errors[number, mine] = _errors(trees, scaled, changes, asked[mine], best + lag)
    count = len(scaled.grouping.names)
    sums = np.stack([np.bincount(whose, errors[number], count) for number in range(len(shifts))])
    sums = np.where(np.isin(np.arange(count), known), sums, 1.0)
    others = [number for number, lag in enumerate(shifts) if lag != 0]
    lowest = sums[others].argmin(0)
    gains = np.log(sums[shifts.index(0)] + LEAST_SPREAD) - np.log(sums[others].min(0) + LEAST_SPREAD)
    lags = np.where(gains > 0, np.array([shifts[number] for number in others])[lowest], 0)
    return Alignment(best, explained, lags, gains)


def _usable(scaled: Scaled) -> tuple[Places, Places]:
    """Rows, episode after episode in time, that have all lags and a successor within their episode; and whose."""
    grouping = scaled.grouping
    reach = max(LAGS)
    steps, lengths = grouping.steps, np.repeat(grouping.lengths, grouping.lengths)
    inside = (steps >= reach) & (steps < lengths - reach)
    return np.flatnonzero(inside), np.repeat(np.arange(len(grouping.names)), grouping.lengths)[inside]


def _changes(scaled: Scaled) -> Floats:
    """(N, S) in the sorted order: how each state changes; of a last row nothing is asked."""
    order = scaled.grouping.order
    states = scaled.states[order].astype(np.float64)
    following = np.roll(states, -1, axis=0)
    changes = following - states
    inside = scaled.grouping.steps < np.repeat(scaled.grouping.lengths, scaled.grouping.lengths) - 1
    spread = changes[inside].std(0) if inside.any() else np.ones(states.shape[1])
    return np.asarray(np.clip(changes / np.where(spread > 0, spread, 1.0), -5, 5))


def _inputs(scaled: Scaled, rows: Places, lag: int) -> Floats:
    order = scaled.grouping.order
    return np.concatenate([scaled.states[order[rows]], scaled.actions[order[rows + lag]]], axis=1)


def _fit(scaled: Scaled, changes: Floats, rows: Places, lag: int, seed: int) -> ExtraTreesRegressor:
    trees = ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, random_state=seed)
    return trees.fit(_inputs(scaled, rows, lag), changes[rows])


def _errors(trees: ExtraTreesRegressor, scaled: Scaled, changes: Floats, rows: Places, lag: int) -> Floats:
    """(n,) mean squared error of each row's change."""
    if len(rows) == 0:
        return np.zeros(0)
    return np.asarray(((trees.predict(_inputs(scaled, rows, lag)) - changes[rows]) ** 2).mean(1))


def _some(rows: Places, places: Places, most: int) -> tuple[Places, Places]:
    """At most so many rows of each episode, evenly in time."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(places) != 0]))
    lengths = np.diff(np.append(starts, len(places)))
    within = np.arange(len(places)) - np.repeat(starts, lengths)
    every = np.repeat(np.ceil(lengths / most).astype(np.int64), lengths)
    taken = within % every == 0
    return rows[taken], places[taken]
