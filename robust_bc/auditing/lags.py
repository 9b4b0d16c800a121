"""Lags: which episodes have actions that stand some rows off those of the others.

All who act in one world share its dynamics. The change of the state is predicted from the state and the action by ridge
regression on their products, and every episode i has a lag kᵢ, the row from which its actions are read:

    s(t+1) − s(t) = Bᵀx(s(t), a(t + kᵢ)) + ε,    x(s, a) = (1, s, a, s⊗a, s⊗s),    ε of Student's t

B and the lags are found in turns, B without the fold of an episode that is asked about. The lag of most pairs must be
0, or nothing is said. An episode is off if another lag is likelier by more than `CLEAR` nats, and if the others tell
the two apart as clearly: where actions change slowly, or the state is not all observed, nobody can tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.scaled import Flags, Floats, Places, Scaled, Singles, evenly_in_time

LAGS = (-1, 0, 1)
CLEAR = 20.0
"""Nats, as the mean of the columns of the state: steps and columns are not independent, so it must be many."""
STATES, EPISODES = 200, 64
"""Of an episode, and episodes, that the dynamics are learned from; all others are asked about."""
FOLDS, ROUNDS, TAILS = 4, 10, 4.0
MOST_TERMS = 600
"""Of x: the work grows with their square. Where there are more, s⊗s and then s⊗a are left out."""
RIDGE, LEAST_SCALE, FARTHEST = 1e-4, 1e-12, 30.0
"""Of the regression, of errors, and of columns in their deviations."""


def episode_lags(scaled: Scaled, generator: np.random.Generator) -> dict[int, int] | None:
    """The lag of each episode that is off, by its place; None if it cannot be told whether any is."""
    places = np.flatnonzero(scaled.grouping.lengths > 2 * max(LAGS))
    some = np.sort(generator.permutation(places)[:EPISODES])
    if len(some) < FOLDS or not scaled.live.any() or not scaled.changes.any():
        return None
    moving: Flags = np.asarray(scaled.changes.any(0))
    shown = Shown.of(scaled, some, moving)
    lags, likely, coefficients, scales = find_lags(shown)
    usual = lags == LAGS.index(0)
    if 2 * shown.counts[usual].sum() <= shown.counts.sum() or np.median(gains(likely[usual])) > -CLEAR:
        return None
    found = _off(some, likely)
    others = np.setdiff1d(places, some)
    for begin in range(0, len(others), EPISODES):
        part = others[begin : begin + EPISODES]
        more = Shown.of(scaled, part, moving)
        found |= _off(part, more.sums(more.log_densities(coefficients, scales)))
    return found


def _off(places: Places, likely: Floats) -> dict[int, int]:
    off = np.flatnonzero(gains(likely) > CLEAR)
    return {int(places[one]): LAGS[int(likely[one].argmax())] for one in off}


def find_lags(shown: Shown) -> tuple[Places, Floats, Floats, Floats]:
    """Places of the lags (C,) among `LAGS`, log likelihoods (C, lags), and of the dynamics B (m, S) and scales (S,)."""
    terms, targets, whose = shown.terms, shown.targets, shown.whose
    lags = np.full(len(shown.counts), LAGS.index(0))
    folds, every = np.arange(len(lags)) % FOLDS, np.arange(len(whose))
    weights = np.ones(len(whose))
    seen: set[bytes] = set()
    for _ in range(ROUNDS):
        seen.add(lags.tobytes())
        read = terms[lags[whose], every]
        squares = np.empty((len(LAGS), *targets.shape))
        for fold in range(FOLDS):
            inside = folds[whose] == fold
            fitted = ridge(read[~inside], targets[~inside], weights[~inside])
            squares[:, inside] = (targets[inside] - terms[:, inside] @ fitted) ** 2
        own = squares[lags[whose], every]
        scales = t_scales(own)
        weights = ((TAILS + 1) / (TAILS + own / scales)).mean(1)
        likely = shown.sums(t_log_densities(squares, scales))
        new = likely.argmax(1)
        if new.tobytes() in seen:
            break
        lags = new
    return lags, likely, ridge(read, targets, weights), scales


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
    """(lags, n) up to a constant, the mean of the columns, from squared errors (lags, n, S)."""
    return np.asarray(-(TAILS + 1) / 2 * np.log1p(squares / (TAILS * scales)).mean(2))


def gains(likely: Floats) -> Floats:
    """(C,) by which another lag is likelier than 0."""
    zero = LAGS.index(0)
    return np.asarray(np.delete(likely, zero, axis=1).max(1) - likely[:, zero])


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

    def log_densities(self, coefficients: Floats, scales: Floats) -> Floats:
        """(lags, n) by dynamics that have not seen these episodes."""
        return t_log_densities((self.targets - self.terms @ coefficients) ** 2, scales)


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
