"""Lags: whether actions stand a row off, in some episodes or in all.

Published files pair s(t+1) with a(t). It can be seen without a simulator, for all who act in one world share its
dynamics. The change of the state is predicted from the state and the action by regression on their products, and every
episode i has a lag kᵢ, the row from which its actions are read:

    s(t+1) − s(t) = Bᵀx(s(t), a(t + kᵢ)) + ε,    x(s, a) = (1, s, a, s⊗a, s⊗s),    ε of Student's t

B and the lags are found in turns, B without the fold of an episode that is asked about. An episode is off if another
lag is likelier than 0 by more than `CLEAR` nats, and if the others tell the two apart as clearly. Where actions change
slowly, or the state is not all observed, nobody can tell. Where the lag of most episodes is not 0, all are read with
one lag, and the pile is off if another one is likelier than 0 by more than `PLAINLY`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.judging.scaled import Flags, Floats, Places, Scaled, Singles, evenly_in_time

LAGS = (-1, 0, 1)
ZERO = LAGS.index(0)
CLEAR = 20.0
"""Nats, as the mean of the columns of the state: steps and columns are not independent, so it must be many."""
PLAINLY = 0.6
"""Nats of a state, as the mean of its columns. It must be many, for the next action of a steady policy tells the next
state, so that the lag 1 explains clean piles better, too."""
FEWEST = 300
"""States below which nothing is said of the pile."""
STATES, EPISODES = 200, 64
"""Of an episode, and episodes, that the dynamics are learned from; all others are asked about."""
FOLDS, ROUNDS, REWEIGHTED, TAILS = 4, 10, 3, 4.0
MOST_TERMS = 600
"""Of x: the work grows with their square. Where there are more, s⊗s and then s⊗a are left out."""
RIDGE, LEAST_SCALE, FARTHEST = 1e-4, 1e-12, 30.0
"""Of the regression, of errors, and of columns in their deviations."""


@dataclass(frozen=True)
class Lags:
    """Rows from which actions should be read; 0 is right, and what is said where it cannot be told."""

    pile: int
    episodes: dict[int, int]
    """Of those that are off and others are not, by their places."""


def find_lags(scaled: Scaled, generator: np.random.Generator) -> Lags:
    """Of the pile, or of some episodes."""
    places = np.flatnonzero(scaled.grouping.lengths > 2 * max(LAGS))
    some = np.sort(generator.permutation(places)[:EPISODES])
    if len(some) < FOLDS or not scaled.live.any() or not scaled.changes.any():
        return Lags(0, {})
    moving: Flags = np.asarray(scaled.changes.any(0))
    shown = Shown.of(scaled, some, moving)
    lags, dynamics, likely = lags_in_turns(shown)
    usual = lags == ZERO
    if 2 * shown.counts[usual].sum() <= shown.counts.sum():
        return Lags(lag_of_all(shown), {})
    if np.median(gains(likely[usual])) > -CLEAR:
        return Lags(0, {})
    found, others = _off(some, likely), np.setdiff1d(places, some)
    coefficients = ridge(shown.read(lags), shown.targets, dynamics.weights)
    for begin in range(0, len(others), EPISODES):
        part = others[begin : begin + EPISODES]
        more = Shown.of(scaled, part, moving)
        squares = (more.targets - more.terms @ coefficients) ** 2
        found |= _off(part, more.sums(t_log_densities(squares, dynamics.scales)))
    return Lags(0, found)


def _off(places: Places, likely: Floats) -> dict[int, int]:
    off = np.flatnonzero(gains(likely) > CLEAR)
    return {int(places[one]): LAGS[int(likely[one].argmax())] for one in off}


def gains(likely: Floats) -> Floats:
    """(C,) by which another lag is likelier than 0, from (C, lags)."""
    return np.asarray(np.delete(likely, ZERO, axis=1).max(1) - likely[:, ZERO])


def lags_in_turns(shown: Shown) -> tuple[Places, Dynamics, Floats]:
    """Places of the lags (C,) among `LAGS`, the dynamics and log likelihoods (C, lags)."""
    lags, weights = np.full(len(shown.counts), ZERO), np.ones(len(shown.whose))
    seen: set[bytes] = set()
    while True:
        seen.add(lags.tobytes())
        dynamics = Dynamics.of(shown, lags, weights)
        likely = shown.sums(t_log_densities(dynamics.squares, dynamics.scales))
        new, weights = likely.argmax(1), dynamics.weights
        if new.tobytes() in seen or len(seen) == ROUNDS:
            return lags, dynamics, likely
        lags = new


def lag_of_all(shown: Shown) -> int:
    """The likeliest, if it is so plainly."""
    found = []
    for place in range(len(LAGS)):
        lags, weights = np.full(len(shown.counts), place), np.ones(len(shown.whose))
        for _ in range(REWEIGHTED):
            dynamics = Dynamics.of(shown, lags, weights)
            weights = dynamics.weights
        likely = t_log_densities(dynamics.squares[place], dynamics.scales)
        found.append(float(likely.mean() - 0.5 * np.log(dynamics.scales).mean()))
    return LAGS[int(np.argmax(found))] if max(found) > found[ZERO] + PLAINLY and len(shown.whose) >= FEWEST else 0


@dataclass(frozen=True, eq=False)
class Dynamics:
    """What B leaves unexplained, with a lag for each episode."""

    squares: Floats  # (lags, n, S) squared errors, by a B that has not seen the episode
    scales: Floats  # (S,) of Student's t
    weights: Floats  # (n,) of the states, for the next B

    @classmethod
    def of(cls, shown: Shown, lags: Places, weights: Floats) -> Dynamics:
        """From the lags (C,) and weights of the states (n,)."""
        read, folds = shown.read(lags), (np.arange(len(lags)) % FOLDS)[shown.whose]
        squares = np.empty((len(LAGS), *shown.targets.shape))
        for fold in range(FOLDS):
            inside = folds == fold
            fitted = ridge(read[~inside], shown.targets[~inside], weights[~inside])
            squares[:, inside] = (shown.targets[inside] - shown.terms[:, inside] @ fitted) ** 2
        own = squares[lags[shown.whose], np.arange(len(shown.whose))]
        scales = t_scales(own)
        return cls(squares, scales, ((TAILS + 1) / (TAILS + own / scales)).mean(1))


def ridge(terms: Floats, targets: Floats, weights: Floats) -> Floats:
    """B (m, S), rows by their weights (n,)."""
    weighed = terms.T * weights
    inner = weighed @ terms + RIDGE * weights.sum() * np.eye(terms.shape[1])
    return np.asarray(np.linalg.solve(inner, weighed @ targets))


def t_scales(squares: Floats) -> Floats:
    """(S,) the likeliest squared scales of Student's t, from squared errors (n, S)."""
    scales = squares.mean(0) + LEAST_SCALE
    for _ in range(ROUNDS):
        scales = ((TAILS + 1) * squares / (TAILS + squares / scales)).mean(0) + LEAST_SCALE
    return np.asarray(scales)


def t_log_densities(squares: Floats, scales: Floats) -> Floats:
    """(..., n) up to a constant and the scales, the mean of the columns, from squared errors (..., n, S)."""
    return np.asarray(-(TAILS + 1) / 2 * np.log1p(squares / (TAILS * scales)).mean(-1))


@dataclass(frozen=True, eq=False)
class Shown:
    """Some states of C episodes, with the actions of all lags."""

    whose: Places  # (n,) of 0 to C − 1
    counts: Places  # (C,) states of each
    terms: Floats  # (lags, n, m) x
    targets: Floats  # (n, S) changes of the states

    @classmethod
    def of(cls, scaled: Scaled, places: Places, moving: Flags) -> Shown:
        """With rows that have all lags and a successor, and with the columns (S,) of the state that move."""
        reach, drawn = max(LAGS), []
        read: list[list[Places]] = [[] for _ in LAGS]
        for place in places.tolist():
            mine = scaled.episodes[place]
            steps = evenly_in_time(np.arange(reach, len(mine) - reach), STATES)
            steps = steps[scaled.followed[mine[steps]]]
            drawn.append(mine[steps])
            for each, lag in zip(read, LAGS, strict=True):
                each.append(mine[steps + lag])
        counts, rows = np.array([len(mine) for mine in drawn], np.intp), np.concatenate(drawn)
        states, targets = near(scaled.states[rows]), near(scaled.changes[rows][:, moving])
        terms = [products(states, near(scaled.actions[np.concatenate(each)])) for each in read]
        return cls(np.repeat(np.arange(len(counts)), counts), counts, np.stack(terms), targets)

    def sums(self, values: Floats) -> Floats:
        """(C, lags), from (lags, n)."""
        return np.stack([np.bincount(self.whose, each, len(self.counts)) for each in values], 1)

    def read(self, lags: Places) -> Floats:
        """x (n, m) with the lags (C,)."""
        return self.terms[lags[self.whose], np.arange(len(self.whose))]


def products(states: Floats, actions: Floats) -> Floats:
    """x (n, m)."""
    size, width = states.shape[1], actions.shape[1]
    parts = [np.ones((len(states), 1)), states, actions]
    if size * width <= MOST_TERMS:
        parts.append((states[:, :, None] * actions[:, None, :]).reshape(len(states), size * width))
    if size * width + size * (size + 1) // 2 <= MOST_TERMS:
        one, two = np.triu_indices(size)
        parts.append(states[:, one] * states[:, two])
    return np.concatenate(parts, axis=1)


def near(values: Singles) -> Floats:
    """One blow must not outweigh all others."""
    return np.clip(values.astype(np.float64), -FARTHEST, FARTHEST)
