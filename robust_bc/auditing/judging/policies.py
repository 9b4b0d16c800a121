"""Policies of groups of episodes: what a demonstrator would do, as far as its episodes tell.

The action of a state x in episode i of a group is

    y = φ(x)ᵀw + ε,    w ~ N(0, 1) for the group,  ε ~ N(0, σᵢ²) with a noise of its own for every episode

φ are `features` that stand for the kernel of a Gaussian process. Errors that follow each other in time are alike, so κ
states count as one. With the precision 1/(κσᵢ²) of a state, A = Σ φφᵀ and b = Σ φyᵀ of each episode, the policy of a
group is N(P⁻¹B, P⁻¹) with P = 1 + Σ A/(κσᵢ²) and B = Σ b/(κσᵢ²), and without one of its episodes it is the same sum
without it. A policy that has not seen episode i says of its states

    e = y − φᵀP⁻¹B,    v = φᵀP⁻¹φ + 1 − φᵀφ,    log density = −½ mean of (e²/(v + σᵢ²) + log(v + σᵢ²))

v is small where the group has been and 1, as much as all actions vary, elsewhere: a policy knows what it does not know.
It expects a squared error of v + σ², with σ² as usual in the group. So how much an episode contradicts the group is

    c = log of the mean of min(e²/(v + σ²), MOST)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from robust_bc.auditing.judging.features import Features, learn_metric
from robust_bc.auditing.judging.scaled import Flags, Floats, Places, Singles, spread_evenly
from robust_bc.errors import RobustBCError

NOISES = np.geomspace(0.01, 3.0, 16)
"""σ², in units of the actions' variance; the likeliest is taken. An error of a tenth of their deviation does no harm,
and what features cannot follow is of that size: with 1e-5 as the least, clean sets of a swimmer pass for two policies.
"""
FIRST_NOISE, REWEIGHTED = 0.1, 2
"""σ² of all episodes at first, and how often it is set anew."""
LENGTH = 0.5
"""Of the kernel, in medians of the distances. It is not fitted: the likeliest length of a pile with two policies is
long, for a smooth policy between them, and then neither is seen."""
MOST_ALIKE = 5.0
"""κ is no larger than this while groups are looked for: two policies taken for one err for long."""
LEAST_CORRELATION = 0.05
"""Of the errors of two states, up to which states count as alike."""
METRIC_STATES = 600
"""States that the metric is learned from: the work grows with their cube."""
DRAWN_FROM = 4000
"""States that the points of the features are chosen among."""
MOST, TINY = 10.0, 1e-12
"""Of a state: one bad moment does not make a bad episode. With a tenth of the states far off, c is about 0.6."""
MOST_KNOWN = 64
"""Groups whose policies' words are held."""


@dataclass(frozen=True, eq=False)
class Told:
    """What a policy says of C episodes of at most T states: of its own ones, without having seen the episode."""

    density: Floats  # (C,) mean log density of a state, per column of the action and up to a constant
    noise: Floats  # (C,) σ²
    errors: Floats  # (C, T, D)
    variances: Floats  # (C, T) v


@dataclass(frozen=True, eq=False)
class Shown:
    """States and actions of C episodes, as features (C, T, m) and actions (C, T, D); shorter episodes end in zeros."""

    values: Floats
    actions: Floats
    there: Flags  # (C, T) which states there are

    @classmethod
    def of(cls, values: Floats, actions: Floats, lengths: Sequence[int]) -> Shown:
        """From the rows (n, m) and (n, D) of episodes, one after the other."""
        there = np.arange(max(lengths))[None] < np.array(lengths)[:, None]
        wide = [np.zeros((*there.shape, rows.shape[1]), np.float32) for rows in (values, actions)]
        for place, rows in zip(wide, (values, actions), strict=True):
            place[there] = rows
        return cls(wide[0], wide[1], there)

    @cached_property
    def states(self) -> Floats:
        """(C,) how many states there are, 1 at least."""
        return np.asarray(np.maximum(1.0, self.there.sum(1)))

    @cached_property
    def missed(self) -> Floats:
        """(C, T) of the kernel, by the features."""
        return np.asarray(np.maximum(0.0, 1 - (self.values**2).sum(2)))

    def means(self, values: Floats) -> Floats:
        """(C,) over the states, of (C, T)."""
        return np.asarray((values * self.there).sum(1) / self.states)

    def judged(self, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
        """Errors (C, T, D) and variances (C, T) of one policy (m, D), (m, m), or of one for each episode."""
        spread = np.einsum("ctm,ctm->ct", self.values @ covariance.astype(np.float32), self.values)
        return self.actions - self.values @ mean.astype(np.float32), spread + self.missed

    def contradiction(self, told: Told, noise: float) -> Floats:
        """c (C,) with the usual noise of a group; 0 for an episode without states."""
        ratios = np.minimum((told.errors**2).mean(2) / (told.variances + noise), MOST)
        return np.asarray(np.where(self.there.any(1), np.log(self.means(ratios) + TINY), 0.0))

    def told(self, errors: Floats, variances: Floats, least: float) -> Told:
        """With the likeliest noise of each episode, no smaller than the least."""
        squares = (errors**2).mean(2)
        grid = NOISES[least * (1 - 1e-9) <= NOISES]
        tried = [self.means(-0.5 * (squares / (variances + noise) + np.log(variances + noise))) for noise in grid]
        best = np.argmax(tried, axis=0)
        return Told(np.max(tried, axis=0), grid[best], errors, variances)


@dataclass(frozen=True, eq=False)
class Policy:
    """What is known of one."""

    mean: Floats  # (m, D)
    covariance: Floats  # (m, m)
    noise: float
    """σ² that is usual for its episodes."""

    def predict(self, features: Floats) -> tuple[Floats, Floats]:
        """Mean (n, D) and variance (n,) of an action."""
        spread = ((features @ self.covariance) * features).sum(1)
        return features @ self.mean, spread + np.maximum(0.0, 1 - (features**2).sum(1)) + self.noise


@dataclass(frozen=True, eq=False)
class Fitted:
    """C episodes, and what the policies of any groups of them say."""

    features: Features
    shown: Shown
    pairs: Floats  # (C,) how long each episode is
    alike: float = 1.0
    """κ: so many states count as one."""
    least: float = float(NOISES[0])
    """Least σ² of an episode: nobody is trusted more than usual for being easy to predict."""
    known: dict[bytes, Told] = field(default_factory=dict, repr=False)

    @classmethod
    def to(
        cls, inputs: Singles, actions: Singles, episodes: Sequence[Places], size: int, generator: np.random.Generator
    ) -> Fitted:
        """To the rows of each episode of inputs (N, S) and actions (N, D), with `size` features at most."""
        rows = np.concatenate(episodes)
        some = generator.permutation(rows)[:DRAWN_FROM]
        # Half of them as they come, half spread evenly: rare states count, too.
        usual, others = some[: METRIC_STATES // 2], some[METRIC_STATES // 2 :]
        drawn = np.concatenate([usual, others[spread_evenly(inputs[others], METRIC_STATES // 2)]])
        metric = learn_metric(inputs[drawn], actions[drawn])
        points = inputs[some[spread_evenly((inputs[some] @ metric).astype(np.float32), size)]]
        features = Features.at(metric / LENGTH, points)
        lengths = [len(mine) for mine in episodes]
        shown = Shown.of(features.of(inputs[rows]), actions[rows].astype(np.float64), lengths)
        return cls(features, shown, np.array(lengths, np.float64))

    def settled(self, members: Flags) -> Fitted:
        """With the noise and κ that one policy of some episodes (C,) leads to."""
        fresh = replace(self, least=float(NOISES[0]), alike=1.0, known={})
        calm = replace(fresh, least=fresh.usual_noise(members), known={})
        return replace(calm, alike=min(MOST_ALIKE, calm.states_alike(members)), known={})

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def sums(self) -> tuple[Floats, Floats]:
        """A (C, m, m) and b (C, m, D)."""
        turned = self.shown.values.transpose(0, 2, 1)
        return turned @ self.shown.values, turned @ self.shown.actions

    def first(self, features: int) -> Fitted:
        """With the first few features only, for `told`."""
        fewer = replace(self.shown, values=np.ascontiguousarray(self.shown.values[:, :, :features]))
        return replace(self, shown=fewer, known={})

    def told(self, members: Flags) -> Told:
        """What the policy of a group (C,) says of all, each member left out when it is judged."""
        key = members.tobytes()
        if key not in self.known:
            noise = np.full(len(self), max(FIRST_NOISE, self.least))
            for _ in range(REWEIGHTED):
                told = self.shown.told(*self._judged(members, noise), self.least)
                noise = told.noise
            while len(self.known) >= MOST_KNOWN:
                self.known.pop(next(iter(self.known)))
            self.known[key] = told
        return self.known[key]

    def _judged(self, members: Flags, noise: Floats) -> tuple[Floats, Floats]:
        weights = 1 / (self.alike * noise)
        precision, target = self._known_by(members * weights)
        covariance = inverse(precision)
        own, mine = self._of(members), weights[members, None, None]
        errors, variances = np.empty_like(self.shown.actions), np.empty(self.shown.there.shape)
        errors[~members], variances[~members] = self._of(~members).judged(covariance @ target, covariance)
        if own.values.shape[1] < own.values.shape[2]:  # few states and many features: leave the states out
            wide = own.values.astype(np.float64)  # what is left after an episode has been taken out can be very little
            spread = (wide.reshape(-1, len(target)) @ covariance).reshape(wide.shape) @ wide.transpose(0, 2, 1)
            left = np.concatenate([own.actions - wide @ (covariance @ target), spread], axis=2)
            left = inverse(np.eye(spread.shape[1]) - mine * spread) @ left  # spread (M, T, T) is φᵀP⁻¹φ
            size = errors.shape[2]
            errors[members] = left[:, :, :size]
            variances[members] = np.diagonal(left[:, :, size:], axis1=1, axis2=2) + own.missed
        else:
            products, along = self.sums
            without = inverse(precision - mine * products[members])
            errors[members], variances[members] = own.judged(without @ (target - mine * along[members]), without)
        return errors, variances

    def _known_by(self, weights: Floats) -> tuple[Floats, Floats]:
        """P (m, m) and B (m, D) from the weights (C,) of the states of each episode."""
        values = self.shown.values
        if values.shape[1] == 1:  # a state for each episode: sums would take m times the memory
            rows = values[:, 0]
            weighed = rows.T * weights
            return np.eye(rows.shape[1]) + weighed @ rows, weighed @ self.shown.actions[:, 0]
        products, along = self.sums
        return np.eye(products.shape[1]) + np.tensordot(weights, products, 1), np.tensordot(weights, along, 1)

    def _of(self, group: Flags) -> Shown:
        return Shown(self.shown.values[group], self.shown.actions[group], self.shown.there[group])

    def policy(self, members: Flags, without: int | None = None) -> Policy:
        """Of a group (C,), all members known or all but one."""
        noise = self.told(members).noise
        weights = members / (self.alike * noise)
        if without is not None:
            weights[without] = 0.0
        precision, target = self._known_by(weights)
        covariance = inverse(precision)
        return Policy(covariance @ target, covariance, self.usual_noise(members))

    def contradiction(self, members: Flags) -> Floats:
        """c (C,) of all episodes, by a group."""
        return self.shown.contradiction(self.told(members), self.usual_noise(members))

    def usual_noise(self, members: Flags) -> float:
        """σ² in a group (C,), the median of its pairs."""
        return weighted_median(self.told(members).noise[members], self.pairs[members])

    def states_alike(self, members: Flags) -> float:
        """κ: sum of the correlations in time of the errors that a group makes in its own episodes; their median."""
        told, shown = self.told(members), self._of(members)
        deviations = np.sqrt(told.variances + told.noise[:, None])[members, :, None]
        white = told.errors[members] / deviations * shown.there[:, :, None]
        total = np.maximum((white**2).sum(1), TINY)
        found, going = np.ones(len(white)), np.ones(len(white), np.bool_)
        for lag in range(1, white.shape[1] // 2):
            alike = ((white[:, lag:] * white[:, :-lag]).sum(1) / total).mean(1)
            going &= (alike >= LEAST_CORRELATION) & (2 * lag < shown.states)
            if not going.any():
                break
            found[going] += 2 * alike[going]
        return weighted_median(found, self.pairs[members])


def inverse(matrices: Floats) -> Floats:
    """Of symmetric positive definite matrices (..., m, m); in numpy it takes three times as long."""
    try:
        factors = torch.linalg.cholesky(torch.from_numpy(np.asarray(matrices, np.float64)))
    except RuntimeError:  # torch's LinAlgError is one
        raise RobustBCError("the states are too much alike to be told apart; give them with more digits.") from None
    return np.asarray(torch.cholesky_inverse(factors).numpy())


def weighted_median(values: Floats, weights: Floats) -> float:
    """The smallest value with half of the weights at or below it."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, sums[-1] / 2)])
