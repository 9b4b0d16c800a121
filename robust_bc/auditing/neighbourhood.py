"""What pairs nearby say: whom they side with, how rare a state is, and whether others do the same there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from robust_bc.auditing.calibration import TINY, distances

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Index = NDArray[np.int64]
States = NDArray[np.float32]

REFERENCES, QUERIES = 5_000, 50_000
"""Pairs that are looked among, drawn at random where there are more, and pairs that are looked up at a time."""
SIDES = 100
"""Pairs nearby that are asked whom they side with."""
NEAREST = 5
"""The state at this rank tells how rare another one is."""
COMPANY = 10
"""Pairs nearby whose actions are compared."""
ALIKE = 0.5
"""Share of the median distance between actions of any two pairs, up to which two actions are the same."""


def share_nearby(states: States, sides: Flags, eligible: Flags, mark: tuple[int, int]) -> Floats:
    """(N,) the share of the eligible pairs nearest to each that side with the trusted policy."""
    rows = _some(np.flatnonzero(eligible), [*mark, 10])
    found = np.zeros(len(states))
    for asked, near, _ in _nearest(states, rows, np.arange(len(states)), SIDES):
        found[asked] = sides[near].mean(1)
    return found


def novelty(states: States, fold: Index, mark: tuple[int, int]) -> Floats:
    """(N,) log distance of each state to the nearest ones of other folds: how little its judge has seen of the kind."""
    found = np.zeros(len(states))
    for part in range(int(fold.max()) + 1):
        rows = _some(np.flatnonzero(fold != part), [*mark, part, 12])
        for asked, _, distance in _nearest(states, rows, np.flatnonzero(fold == part), NEAREST):
            found[asked] = distance[:, -1]
    return np.asarray(np.log(found + TINY))


def company(
    states: States,
    actions: NDArray[np.floating],
    scale: Floats,
    fold: Index,
    eligible: Flags,
    mark: tuple[int, int],
) -> Floats:
    """(N,) the share of the eligible pairs of other folds nearest to each that do the same as it does."""
    generator = np.random.default_rng([*mark, 13])
    first, second = generator.integers(len(actions), size=(2, REFERENCES))
    alike = ALIKE * float(np.median(distances(actions[first], actions[second], scale)))
    found = np.zeros(len(states))
    for part in range(int(fold.max()) + 1):
        rows = _some(np.flatnonzero((fold != part) & eligible), [*mark, part, 14])
        if len(rows) < COMPANY:
            continue
        for asked, near, _ in _nearest(states, rows, np.flatnonzero(fold == part), COMPANY):
            for rank in range(COMPANY):
                found[asked] += distances(actions[asked], actions[near[:, rank]], scale) <= alike
    return found / COMPANY


def _some(rows: NDArray[np.intp], mark: list[int]) -> NDArray[np.intp]:
    return rows if len(rows) <= REFERENCES else np.random.default_rng(mark).choice(rows, REFERENCES, replace=False)


def _nearest(
    states: States, rows: NDArray[np.intp], asked: NDArray[np.intp], count: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
    """Some of the pairs that are asked (Q,), their nearest rows (Q, n) and the distances (Q, n)."""
    search = NearestNeighbors(n_neighbors=min(count, len(rows))).fit(states[rows])
    for start in range(0, len(asked), QUERIES):
        some = asked[start : start + QUERIES]
        distance, index = search.kneighbors(states[some])
        yield some, rows[index], distance
