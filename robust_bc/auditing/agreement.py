"""Agreement: how well demonstrations agree in the states that they share, and which group is the majority.

Of every episode some states are drawn evenly over what it visited: each is the one farthest from those before
(Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985). So a swerve counts as much as a long
straight. For episodes i and j, with the closest half of i's states and the state of j nearest to each,

    D[i, j] = root mean square of aᵢ − aⱼ,    L = log((D + Dᵀ)/2 + ε)

Two groups of episodes show as blocks in L: the disagreement within the one, within the other and between them. Each
block is a normal distribution of its own, so that neither group must agree with itself: careless demonstrators often
agree with nobody. The likeliest two groups are looked for from every episode as a start; the majority is the one with
more pairs, for a demonstrator who fails early leaves many short episodes, and must agree with itself more than with the
others. That there are two groups does not say that
one is bad: `conflict` asks whether the actions of the others contradict the majority's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.scaled import Flags, Floats, Places, Scaled, Singles
from robust_bc.auditing.settings import AuditSettings
from robust_bc.demonstrations import Demonstrations

LEAST_DISAGREEMENT = 0.02
"""ε, in deviations of the actions: below, differences are rounding."""
LEAST_VARIANCE = 1e-3
"""Of a block of L, so that a block of equal numbers does not outweigh all others."""
LEAST_WEIGHT = 1e-9
ROUNDS = 10
"""Times that each episode is offered the other group; most searches end after two."""
MOST_MATCHED = 1000
"""States of an episode among which the nearest is looked for; of a longer one, every so many."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """C compared episodes of E."""

    compared: Places  # (C,) their places among all
    disagreement: Floats  # (C, C) root mean square difference of their actions, in deviations; 0 with themselves
    majority: Flags  # (C,) which of them are the majority
    contrast: float
    """Log likelihood of two groups above that of one, per comparison: clean data have up to 0.6, two demonstrators 1
    and more."""
    scores: Floats  # (E,) mean logarithm of the disagreement with the majority; the higher, the worse

    @property
    def order(self) -> Places:
        """(C,) for a picture: the majority first, each group by its disagreement with the majority."""
        return np.lexsort((self.scores[self.compared], ~self.majority))


def agreement(demonstrations: Demonstrations, settings: AuditSettings | None = None, seed: int = 0) -> Agreement:
    """Compare the episodes of some demonstrations."""
    return compare_episodes(Scaled.of(demonstrations), settings or AuditSettings(), np.random.default_rng(seed))


def compare_episodes(scaled: Scaled, settings: AuditSettings, generator: np.random.Generator) -> Agreement:
    """The same for pairs that are scaled already; there must be two episodes at least."""
    episodes = scaled.episodes
    compared = np.arange(len(episodes))
    if len(episodes) > settings.compared:
        shares = scaled.grouping.lengths / len(scaled)
        compared = np.sort(generator.choice(len(episodes), settings.compared, replace=False, p=shares))
    matched = [_every(episodes[place], MOST_MATCHED) for place in compared]
    drawn = [rows[spread_evenly(scaled.states[rows], settings.states)] for rows in episodes]
    directed = np.stack([_disagreements(scaled, rows, matched, settings.closest) for rows in drawn])  # (E, C)
    both = (directed[compared] + directed[compared].T) / 2  # NaN nowhere but for an episode and itself
    np.fill_diagonal(both, 0.0)
    majority, contrast = two_groups(
        np.log(both + LEAST_DISAGREEMENT), scaled.grouping.lengths[compared].astype(np.float64)
    )
    # Of episodes that were not drawn, only the one direction is known.
    towards = directed.copy()
    towards[compared] = both
    logs = np.log(towards[:, majority] + LEAST_DISAGREEMENT)
    own = np.zeros_like(logs, np.bool_)
    members = compared[majority]
    own[members, np.arange(len(members))] = True
    scores = np.where(own, 0, logs).sum(1) / np.maximum((~own).sum(1), 1)
    return Agreement(compared, both, majority, contrast, scores)


def spread_evenly(states: Singles, count: int) -> Places:
    """Places of at most `count` of the states (T, S): the first one, and then always the farthest from all before."""
    if len(states) <= count:
        return np.arange(len(states))
    chosen = np.zeros(count, np.intp)
    nearest = ((states - states[0]) ** 2).sum(1)
    for place in range(1, count):
        chosen[place] = nearest.argmax()
        np.minimum(nearest, ((states - states[chosen[place]]) ** 2).sum(1), out=nearest)
    return chosen


def _disagreements(scaled: Scaled, rows: Places, others: list[Places], closest: float) -> Floats:
    """(C,) of one episode's drawn states with each other episode."""
    states, actions = scaled.states[rows], scaled.actions[rows]
    squares = (states**2).sum(1)
    count = int(np.ceil(closest * len(rows)))
    found = np.empty(len(others))
    for place, other in enumerate(others):
        theirs = scaled.states[other]
        # |x − y|² up to |x|², which is the same for all y
        distance = (theirs**2).sum(1) - 2 * states @ theirs.T  # (n, T)
        match = distance.argmin(1)
        near = np.argsort(distance[np.arange(len(rows)), match] + squares, kind="stable")[:count]
        difference = actions[near] - scaled.actions[other[match[near]]]
        found[place] = np.sqrt(np.mean(difference.astype(np.float64) ** 2)) if difference.size else 0.0
    return found


def _every(rows: Places, most: int) -> Places:
    """Evenly in time, at most so many."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).round().astype(np.intp)]


def two_groups(logs: Floats, pairs: Floats) -> tuple[Flags, float]:
    """The likeliest two groups: which episodes are the majority by pairs (C,), and the gain per comparison.

    Comparisons count by the pairs (C,) of both episodes: many short episodes are no more than a few long ones.
    """
    count = len(logs)
    weights = np.outer(pairs, pairs) * (count * (count - 1) / max(1.0, float(pairs.sum() ** 2 - (pairs**2).sum())))
    np.fill_diagonal(weights, 0.0)
    best, group = -np.inf, np.ones(count, np.bool_)
    for start in range(count):
        row = logs[start].copy()
        row[start] = -np.inf
        order = np.argsort(row, kind="stable")
        values = _prefix_likelihoods(logs[np.ix_(order, order)], weights[np.ix_(order, order)], pairs[order])
        if values.max() > best:
            best, group = float(values.max()), np.zeros(count, np.bool_)
            group[order[: int(values.argmax()) + 1]] = True
    for _ in range(ROUNDS):
        before = best
        for place in range(count):
            group[place] ^= True
            likelihood = _likelihood(logs, weights, pairs, group) if group.any() and not group.all() else -np.inf
            if likelihood > best:
                best = likelihood
            else:
                group[place] ^= True
        if best == before:
            break
    if pairs[group].sum() * 2 < pairs.sum():
        group = ~group
    everyone = np.ones(count, np.bool_)
    if not np.isfinite(best):
        return everyone, 0.0
    gain = best - _likelihood(logs, weights, pairs, everyone)
    return group, float(gain / (count * (count - 1)))


def _prefix_likelihoods(logs: Floats, weights: Floats, pairs: Floats) -> Floats:
    """(C - 1,) of the first 1, 2, ... episodes against the others; the weights' diagonal is 0.

    It is minus infinity where the side with more pairs disagrees more with itself than with the other.
    """
    last = np.arange(len(logs) - 1)  # the last of those that are first
    sums = []
    for matrix in (weights, weights * logs, weights * logs**2):
        corner = matrix.cumsum(0).cumsum(1)
        within = corner[last, last]
        between = 2 * (corner[last, -1] - within)
        sums.append((within, between, corner[-1, -1] - within - between))
    likelihoods = np.asarray(sum(_block(*block) for block in zip(*sums, strict=True)))
    first = pairs.cumsum()[last] * 2 >= pairs.sum()
    weight, total = (np.where(first, within, outside) for within, _, outside in sums[:2])
    agrees = (weight > 0) & (total * sums[0][1] < sums[1][1] * weight)  # mean within < mean between
    return np.where(agrees, likelihoods, -np.inf)


def _likelihood(logs: Floats, weights: Floats, pairs: Floats, group: Flags) -> float:
    """Of two groups, or of one where all are in it."""
    if group.all():
        return float(_block(weights.sum(), (weights * logs).sum(), (weights * logs**2).sum()))
    order = np.argsort(~group, kind="stable")
    values = _prefix_likelihoods(logs[np.ix_(order, order)], weights[np.ix_(order, order)], pairs[order])
    return float(values[int(group.sum()) - 1])


def _block(weight: Floats, total: Floats, square: Floats) -> Floats:
    """Log likelihood of numbers with this weight, sum and sum of squares, at the likeliest mean and variance."""
    several = np.maximum(weight, LEAST_WEIGHT)
    variance = np.maximum(square / several - (total / several) ** 2, 0.0)
    return -0.5 * weight * np.log(variance + LEAST_VARIANCE)
