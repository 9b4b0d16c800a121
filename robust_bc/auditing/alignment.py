"""Alignment: whether the action of a row leads from its observation to the next one, or that of another row does.

Published files pair s(t+1) with a(t). It can be seen without a simulator: the change s(t+1) − s(t) is predicted from
s(t) and a(t + lag) by extremely randomised trees, once for each lag. The lag of the pile is the one whose trees predict
episodes best that they have not seen. Single episodes that are off are found by `lags`.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from robust_bc.auditing.scaled import Floats, Places, Scaled

LAGS = (-2, -1, 0, 1, 2)
ROWS, FEWEST_ROWS = 2000, 300
"""Rows that trees learn from, more change no lag; and below which they cannot tell."""
TREES, LEAF = 20, 3
LEAST_EXPLAINED = 0.2
"""Share of the variance that trees must explain to be believed."""
PLAINLY = 0.03
"""Share of the variance by which another lag must explain more than none before the pile is said to be off. Clean piles
of the development tasks have less; published files that are off have 0.03 to 0.09."""
LEAST_SPREAD, FARTHEST = 1e-12, 5.0
"""Of changes, in deviations: one blow must not outweigh all others."""


def alignment(scaled: Scaled, seed: int = 0) -> int:
    """The lag of the pile; 0 is right, and what is said where it cannot be told."""
    rows, places = _usable(scaled)
    known = np.unique(places)
    if len(rows) < FEWEST_ROWS or len(known) < 2 or not scaled.live.any():
        return 0
    generator = np.random.default_rng(seed)
    first = np.isin(places, generator.permutation(known)[: (len(known) + 1) // 2])
    halves = [half[np.sort(generator.permutation(len(half))[:ROWS])] for half in (rows[first], rows[~first])]
    if min(len(half) for half in halves) < FEWEST_ROWS // 2:
        return 0
    explained = np.zeros(len(LAGS))
    for shown, asked in (halves, halves[::-1]):
        for number, lag in enumerate(LAGS):
            explained[number] += _explained(scaled, shown, asked, lag, seed) / 2
    best, plain = int(explained.argmax()), explained.max() > explained[LAGS.index(0)] + PLAINLY
    return LAGS[best] if plain and explained[best] >= LEAST_EXPLAINED else 0


def _usable(scaled: Scaled) -> tuple[Places, Places]:
    """Rows, in the sorted order, that have all lags and a successor within their episode; and whose they are."""
    grouping, reach = scaled.grouping, max(LAGS)
    lengths = np.repeat(grouping.lengths, grouping.lengths)
    inside = (grouping.steps >= reach) & (grouping.steps < lengths - reach)
    return np.flatnonzero(inside), np.repeat(np.arange(len(grouping.names)), grouping.lengths)[inside]


def _explained(scaled: Scaled, shown: Places, asked: Places, lag: int, seed: int) -> float:
    """Share of the variance of the asked rows' changes that trees explain which learned from the shown ones."""
    targets = _changes(scaled, shown), _changes(scaled, asked)
    trees = ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, random_state=seed).fit(
        _inputs(scaled, shown, lag), targets[0].ravel() if targets[0].shape[1] == 1 else targets[0]
    )
    errors = trees.predict(_inputs(scaled, asked, lag)).reshape(targets[1].shape) - targets[1]
    return float(1 - (errors**2).mean() / max(LEAST_SPREAD, targets[1].var(0).mean()))


def _changes(scaled: Scaled, rows: Places) -> Floats:
    return np.clip(scaled.changes[scaled.grouping.order[rows]].astype(np.float64), -FARTHEST, FARTHEST)


def _inputs(scaled: Scaled, rows: Places, lag: int) -> Floats:
    order = scaled.grouping.order
    return np.concatenate([scaled.states[order[rows]], scaled.actions[order[rows + lag]]], axis=1)
