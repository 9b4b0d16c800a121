"""Policies of groups of episodes: what a demonstrator would do, as far as its episodes tell.

An episode of a group acts by the group's policy w, with a deviation of its own and with noise:

    y = φ(x)ᵀ(w + d) + ε,    w ~ N(0, 1),  d ~ N(0, τ²) for each episode,  ε ~ N(0, σ²) for each state

φ are `features` that stand for the kernel of a Gaussian process; the share of the kernel that they miss is taken off
the likelihood, as in Titsias, "Variational learning of inducing variables", 2009. An episode enters by A = Σ φφᵀ and
b = Σ φyᵀ only. With its own deviation integrated out, these become

    A' = (σ² + τ²A)⁻¹A,    b' = (σ² + τ²A)⁻¹b

so no direction of the features has more than 1/τ² from one episode: a long straight says no more than a swerve, and
states of an episode, which are much alike, are not taken for independent. A group's policy given its episodes is
N(P⁻¹B, P⁻¹) with P = 1 + ΣA' and B = Σb', and its log likelihood is ½ tr(BᵀP⁻¹B) − ½ D log|P| and a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from robust_bc.auditing.features import Features, learn_metric
from robust_bc.auditing.scaled import Flags, Floats, Places, Singles, spread_evenly

NOISES = np.geomspace(1e-4, 1.0, 9)
"""σ², in units of the actions' variance; the likeliest is taken. Finer steps change little."""
DEVIATIONS = np.array([0.0, 0.01, 0.1, 1.0])
"""τ², from demonstrators who are always the same to those who share little."""
LENGTHS = 0.7 * 2.0 ** np.arange(-3, 7)
"""Of the kernel, in medians of the distances; the likeliest is looked for from 0.7 on. Where most states are at rest,
the median is small."""
FIRST_LENGTH = 3
FIRST_SPREAD = (4, 1)
METRIC_STATES = 600
"""States that the metric is learned from: the work grows with their cube."""
DRAWN_FROM = 4000
"""States that the points of the features are chosen among."""
LEAST_EIGENVALUE = 1e-7
"""Of A, a thousandth of the least noise: directions below say nothing."""
MOST_KNOWN = 8
"""Spreads whose statistics are held: each takes C·m² numbers."""
COARSE = 64
"""Features that groups are looked for with; the best go on with all."""

Spread = tuple[int, int]
"""Places of σ² in `NOISES` and of τ² in `DEVIATIONS`."""
STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))


@dataclass(frozen=True, eq=False)
class Statistics:
    """All that the features say of C episodes with D columns of actions."""

    products: Floats  # (C, m, m) A
    actions: Floats  # (C, m, D) b
    squares: Floats  # (C,) sum of the squared actions
    counts: Floats  # (C,) states
    missed: Floats  # (C,) what the features leave out of the kernel, summed over states
    known: dict[Spread, tuple[Floats, Floats, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, features: Floats, actions: Floats, owners: Places, episodes: int) -> Statistics:
        """From features (n, m) and actions (n, D) of states whose episodes are in `owners` (n,), in order."""
        ends = np.searchsorted(owners, np.arange(episodes + 1))
        parts = [slice(begin, end) for begin, end in pairwise(ends)]
        counts = np.diff(ends).astype(np.float64)
        products = np.stack([features[part].T @ features[part] for part in parts])
        return cls(
            products,
            np.stack([features[part].T @ actions[part] for part in parts]),
            np.array([(actions[part] ** 2).sum() for part in parts]),
            counts,
            np.maximum(0.0, counts - np.trace(products, axis1=1, axis2=2)),
        )

    def first(self, features: int) -> Statistics:
        """With the first few features only."""
        products = self.products[:, :features, :features]
        missed = np.maximum(0.0, self.counts - np.trace(products, axis1=1, axis2=2))
        return Statistics(products, self.actions[:, :features], self.squares, self.counts, missed)

    def __len__(self) -> int:
        return len(self.counts)

    def integrated(self, spread: Spread) -> tuple[Floats, Floats, Floats]:
        """A' (C, m, m), b' (C, m, D) and the constant (C,) of the log likelihood, without own deviations."""
        if spread not in self.known:
            noise, deviation = NOISES[spread[0]], DEVIATIONS[spread[1]]
            values, vectors, along = self.directions
            columns = self.actions.shape[2]
            scale = 1 / (noise + deviation * values)  # (C, r)
            constant = columns * (self.counts * np.log(2 * np.pi * noise) + self.missed / noise) + self.squares / noise
            constant += columns * np.log1p(deviation * values / noise).sum(1)
            constant -= deviation / noise * (scale[:, :, None] * along**2).sum((1, 2))
            while len(self.known) >= MOST_KNOWN:
                self.known.pop(next(iter(self.known)))
            self.known[spread] = (
                (vectors * (values * scale)[:, None]) @ vectors.transpose(0, 2, 1),
                vectors @ (scale[:, :, None] * along),
                -0.5 * constant,
            )
        return self.known[spread]

    @cached_property
    def directions(self) -> tuple[Floats, Floats, Floats]:
        """Eigenvalues (C, r) and eigenvectors (C, m, r) of A that matter for some episode, and b along these."""
        values, vectors = np.linalg.eigh(self.products)
        first = int((values.max(0) > LEAST_EIGENVALUE).argmax())
        kept = vectors[:, :, first:]
        return np.maximum(values[:, first:], 0.0), kept, kept.transpose(0, 2, 1) @ self.actions

    def sums(self, members: Flags, spread: Spread) -> tuple[Floats, Floats, float]:
        """P (m, m), B (m, D) and the constant of a group (C,)."""
        products, actions, constants = self.integrated(spread)
        weights = members.astype(np.float64)
        precision = np.eye(products.shape[1]) + np.tensordot(weights, products, 1)
        return precision, np.tensordot(weights, actions, 1), float(constants @ weights)

    def likelihood(self, members: Flags, spread: Spread) -> float:
        """Log likelihood of the actions of a group."""
        return float(log_evidence(*self.sums(members, spread)))

    def left_out(self, members: Flags, spread: Spread) -> Floats:
        """(C,) log likelihood of each episode given the members but for itself."""
        products, actions, constants = self.integrated(spread)
        precision, target, constant = self.sums(members, spread)
        sign = np.where(members, -1.0, 1.0)
        changed = log_evidence(
            precision + sign[:, None, None] * products,
            target + sign[:, None, None] * actions,
            constant + sign * constants,
        )
        return sign * (changed - log_evidence(precision, target, np.float64(constant)))

    def posterior(self, members: Flags, spread: Spread, without: int | None = None) -> tuple[Floats, Floats]:
        """Mean (m, D) and covariance (m, m) of a group's policy, all members known or all but one."""
        shown = members.copy()
        if without is not None:
            shown[without] = False
        precision, target, _ = self.sums(shown, spread)
        covariance: Floats = np.asarray(np.linalg.inv(precision), np.float64)
        return covariance @ target, covariance


def log_evidence(precision: Floats, target: Floats, constant: Floats | float) -> Floats:
    """½ tr(BᵀP⁻¹B) − ½ D log|P| + c for P (..., m, m), B (..., m, D) and c (...)."""
    factor = np.linalg.cholesky(precision)
    white = np.linalg.solve(factor, target)
    halves = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return np.asarray(constant + 0.5 * (white**2).sum((-1, -2)) - target.shape[-1] * halves)


def climb_spreads(
    value: Callable[[Spread], float], start: Spread, allowed: Callable[[Spread], bool] = lambda spread: True
) -> tuple[float, Spread]:
    """The largest value that single steps from a start lead to, and where that is."""
    known: dict[Spread, float] = {start: value(start)}
    best = start
    while True:
        before = best
        for step in STEPS:
            near = before[0] + step[0], before[1] + step[1]
            if not (0 <= near[0] < len(NOISES) and 0 <= near[1] < len(DEVIATIONS) and allowed(near)):
                continue
            if near not in known:
                known[near] = value(near)
            if known[near] > known[best]:
                best = near
        if best == before:
            return known[best], best


@dataclass(frozen=True, eq=False)
class Fitted:
    """Features and statistics of some episodes, and what one policy makes of all of them."""

    features: Features
    statistics: Statistics
    shown: list[tuple[Floats, Floats]]  # features (T, m) and actions (T, D) of each
    spread: Spread

    @classmethod
    def to(
        cls,
        inputs: Singles,
        actions: Singles,
        episodes: Sequence[Places],
        size: int,
        generator: np.random.Generator,
    ) -> Fitted:
        """To the rows of each episode of inputs (N, S) and actions (N, D), with `size` features at most."""
        rows = np.concatenate(episodes)
        owners = np.repeat(np.arange(len(episodes)), [len(mine) for mine in episodes])
        some = generator.permutation(rows)[:DRAWN_FROM]
        # Half of them as they come, half spread evenly: rare states count, too.
        usual, others = some[: METRIC_STATES // 2], some[METRIC_STATES // 2 :]
        drawn = np.concatenate([usual, others[spread_evenly(inputs[others], METRIC_STATES // 2)]])
        metric = learn_metric(inputs[drawn], actions[drawn])
        points = inputs[some[spread_evenly((inputs[some] @ metric).astype(np.float32), size)]]
        everybody, targets = np.ones(len(episodes), np.bool_), actions[rows].astype(np.float64)
        ends = np.cumsum([len(mine) for mine in episodes])[:-1]
        known: dict[int, tuple[float, Fitted]] = {}

        def likelihood(place: int, start: Spread) -> float:
            if place not in known:
                features = Features.at(metric / LENGTHS[place], points)
                values = features.of(inputs[rows])
                statistics = Statistics.of(values, targets, owners, len(episodes))
                value, spread = climb_spreads(lambda at: statistics.likelihood(everybody, at), start)
                statistics.known.clear()  # most lengths are not taken
                shown = list(zip(np.split(values, ends), np.split(targets, ends), strict=True))
                known[place] = value, cls(features, statistics, shown, spread)
            return known[place][0]

        best = FIRST_LENGTH
        likelihood(best, FIRST_SPREAD)
        for step in (1, -1):
            while 0 <= (near := best + step) < len(LENGTHS):
                if likelihood(near, known[best][1].spread) <= known[best][0]:
                    break
                best = near
        return known[best][1]

    @property
    def states(self) -> Floats:
        """(C,) how many states of each episode are known; 1 at least."""
        return np.maximum(self.statistics.counts, 1.0)

    def policy(self, members: Flags, spread: Spread, without: int | None = None) -> Policy:
        """Of a group (C,), all members known or all but one."""
        return Policy(*self.statistics.posterior(members, spread, without), spread)


@dataclass(frozen=True, eq=False)
class Policy:
    """What is known of one."""

    mean: Floats  # (m, D)
    covariance: Floats  # (m, m)
    spread: Spread

    def log_density(self, features: Floats, actions: Floats) -> float:
        """Of actions (T, D) at features (T, m) of one episode that it was not learned from."""
        noise, deviation = NOISES[self.spread[0]], DEVIATIONS[self.spread[1]]
        errors = actions - features @ self.mean
        covariance = features @ self.covariance @ features.T + deviation * features @ features.T
        factor = np.linalg.cholesky(covariance + noise * np.eye(len(features)))
        white = np.linalg.solve(factor, errors)
        missed = max(0.0, len(features) - float((features**2).sum())) / noise
        constant = errors.size * np.log(2 * np.pi) + errors.shape[1] * (2 * np.log(np.diag(factor)).sum() + missed)
        return float(-0.5 * ((white**2).sum() + constant))

    def by_blocks(self, features: Floats, actions: Floats, blocks: int) -> Floats:
        """The same for each of so many blocks in time."""
        parts = np.array_split(np.arange(len(features)), blocks)
        return np.array([self.log_density(features[part], actions[part]) if len(part) else 0.0 for part in parts])

    def predict(self, features: Floats) -> tuple[Floats, Floats]:
        """Mean (n, D) and variance (n,) of an action."""
        noise, deviation = NOISES[self.spread[0]], DEVIATIONS[self.spread[1]]
        missed = np.maximum(0.0, 1 - (features**2).sum(1))
        spread = ((features @ self.covariance) * features).sum(1)
        return features @ self.mean, spread + missed + deviation + noise
