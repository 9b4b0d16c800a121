"""A duel of two functions: which pairs does one smooth policy explain, when another may explain the rest.

An adversary with a policy of its own is learned as well as the good demonstrator, and with 40 % of the pairs a network
takes up the one here and the other there. Nothing but smoothness says that the good policy of one region is the same
as that of the next. Gaussian processes are smooth over long ways, so

    p(a | s) = π₁·N(a; f₁(s), v₁(s)) + π₂·N(a; f₂(s), v₂(s)) + π₀·N(a; 0, 1),      fₖ ~ GP

with shares that do not depend on the state (Lázaro-Gredilla, Van Vaerenbergh & Lawrence, "Overlapping mixtures of
Gaussian processes for the data association problem", 2012) is fitted by annealed expectation maximisation. Predictions
leave the pair itself out, which for Gaussian processes costs nothing. There are many local optima, so many starts are
made, the best go on after half of the way, and the likelihood of pairs left out chooses. It may also say that there is
no duel: where one function with more noise explains all pairs about as well, as with clean pairs or an unsteady hand,
all of them stand.

Two functions can also share one policy between them, each in regions of its own. So it is not asked who owns a pair,
but whether it contradicts the function that owns most: whether its action is farther off than that function's
uncertainty. What does not is where `conflict` begins, whose networks look again, and what `choicenet-duel` is shown
first: whoever changes who stands counts up the revision of both (`robust_bc/auditing`, `ChoiceNetDuel.revision`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular
from scipy.spatial.distance import cdist

from robust_bc.auditing.pooling import Grouping, single_pairs
from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.normalisation import Affine

Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]

FEWEST, MOST = 50, 500
"""Pairs below which there is no duel, and pairs that take part, drawn at random: work grows with their cube."""
STARTS, GO_ON = 12, 3
"""So many are made, and so many go on. The first gives nearly everything to one function, the others 50 to 70 % of each
pair at random. Where an adversary has 40 % of the pairs, one start of five may be right; half of the way tells which
are the better ones."""
HALFWAY, MORE = 20, 8
"""Steps of expectation maximisation in each half, and after each time that the first function is offered more."""
FIRST_POWER, POWER_STEP = 0.3, 0.03
"""Power of the probabilities at first, and by how much it rises in each step."""
OFFERS = 3
NOISES = (0.002, 0.006, 0.02, 0.06, 0.2, 0.6, 1.0)
FIRST_NOISE, LEAST_NOISE = 0.3, 0.002
"""Variance of actions around a function, in units of their own: where it begins, and its limit."""
CONTRADICTION = 5.0
"""Squared distance in units of the first function's variance, per dimension, from which a pair contradicts it."""
CLEARLY = 1.0
"""Log likelihood per pair by which two functions must explain more than one: two have more to fit with."""
OFFERED = 2.0
"""The same, up to which pairs of others are offered to it."""
LEAST_SHARE, LEAST_WEIGHT = 0.01, 1e-3
LEAST_VARIANCE = 1e-6
QUERIES = 5_000
"""Pairs that are looked up at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class Stand:
    """How a duel stands: N pairs, three owners (two functions, and nobody)."""

    likelihood: float
    owners: Floats  # (3, N) probabilities
    noise: float
    away: Floats  # (2, N) squared distance from each function, per dimension and in units of its variance

    @property
    def first(self) -> int:
        """The function that owns most."""
        return int(self.owners[1].sum() > self.owners[0].sum())


def standing_pairs(observations: Floats, actions: Floats, seed: int) -> Flags:
    """(N,) pairs of observations (N, S) and actions (N, A) that do not contradict the winner of a duel."""
    return uncontradicted(Affine.of(observations).forward(observations), Affine.of(actions).forward(actions), seed)


def standing(pairs: Demonstrations, eligible: Flags, seed: int) -> Flags:
    """(N,) eligible pairs that stand a duel; whole episodes stand or fall by what most of their pairs do."""
    rows = np.flatnonzero(eligible)
    calm = standing_pairs(pairs.observations[rows], pairs.actions[rows], seed)
    if not single_pairs(pairs.episodes):
        grouping = Grouping.of(pairs.episodes[rows])
        calm = grouping.means(calm.astype(np.float64))[grouping.places] > 0.5
    stands = np.array(eligible)
    stands[rows] = calm
    return stands


def uncontradicted(states: Floats, actions: Floats, seed: int) -> Flags:
    """(N,) pairs that do not contradict the function that explains most; states (N, S) and actions (N, A) are scaled.

    All of them, where one function explains everything about as well, or there is too little to tell by.
    """
    alive = np.ptp(actions, axis=0) > 0
    calm = np.ones(len(states), np.bool_)
    if len(states) < FEWEST or not alive.any():
        return calm
    generator = np.random.default_rng([seed, 15])
    some = np.arange(len(states)) if len(states) <= MOST else generator.choice(len(states), MOST, replace=False)
    squared = cdist(states[some], states[some], "sqeuclidean")
    width = float(np.median(squared))
    if width <= 0:
        return calm
    kernel = np.exp(-squared / (2 * width)).astype(np.float32)
    targets = actions[some][:, alive].astype(np.float32)
    best = _best_start(kernel, targets, generator)
    if best.likelihood < alone(kernel, targets) + CLEARLY:
        return calm
    noise = best.noise / np.clip(best.owners[best.first], LEAST_WEIGHT, 1)
    others = np.setdiff1d(np.arange(len(states)), some)
    for start in range(0, len(others), QUERIES):
        rows = others[start : start + QUERIES]
        across = np.exp(-cdist(states[rows], states[some], "sqeuclidean") / (2 * width)).astype(np.float32)  # (Q, L)
        predicted, spread = elsewhere(kernel, noise, targets, across)
        away = ((actions[rows][:, alive] - predicted) ** 2).mean(1) / (spread + best.noise)
        calm[rows] = away < CONTRADICTION
    calm[some] = best.away[best.first] < CONTRADICTION
    return calm


def alone(kernel: Floats, targets: Floats) -> float:
    """The mean log likelihood of pairs left out if one function owns all of them, with the best of some noises."""
    dimensions, found = targets.shape[1], []
    for noise in NOISES:
        predicted, spread = left_out(kernel, np.full(len(targets), noise), targets)
        variance = spread + noise
        squared = ((targets - predicted) ** 2).sum(1)
        found.append(float((-0.5 * squared / variance - 0.5 * dimensions * np.log(variance)).mean()))
    return max(found)


def _best_start(kernel: Floats, targets: Floats, generator: np.random.Generator) -> Stand:
    """The likeliest of many starts."""
    count = len(targets)
    halfway = []
    for number in range(STARTS):
        share = np.full(count, 0.97) if number == 0 else 0.5 + 0.2 * generator.random(count)
        owners = np.stack([0.98 * share, 0.98 * (1 - share), np.full(count, 0.02)])
        halfway.append(maximise(kernel, targets, owners, FIRST_NOISE, HALFWAY, FIRST_POWER))
    best = sorted(halfway, key=lambda stand: -stand.likelihood)[:GO_ON]
    return max((_to_the_end(kernel, targets, stand) for stand in best), key=lambda stand: stand.likelihood)


def _to_the_end(kernel: Floats, targets: Floats, stand: Stand) -> Stand:
    """The second half; then the first function is offered what it could own as well, as long as that is likelier."""
    # It goes on from the probabilities themselves, and takes powers of those that follow.
    stand = maximise(kernel, targets, stand.owners, stand.noise, HALFWAY, FIRST_POWER + POWER_STEP * HALFWAY)
    for _ in range(OFFERS):
        first = stand.first
        owners = stand.owners[[first, 1 - first, 2]]
        owners = np.where(stand.away[first] < OFFERED, np.array([[0.97], [0.02], [0.01]]), owners)
        offered = maximise(kernel, targets, owners, stand.noise, MORE, power=1.0)
        if offered.likelihood <= stand.likelihood:
            break
        stand = offered
    return stand


def maximise(kernel: Floats, targets: Floats, owners: Floats, noise: float, steps: int, power: float) -> Stand:
    """Expectation maximisation; probabilities are taken to a power that rises to 1."""
    dimensions = targets.shape[1]
    nobody = -0.5 * (targets**2).sum(1)
    likelihood, away = -np.inf, np.zeros((2, len(targets)))
    for step in range(steps):
        share = np.clip(owners.mean(1), LEAST_SHARE, None)
        share = np.log(share / share.sum())
        squared, variance = np.empty((2, len(targets))), np.empty((2, len(targets)))
        for which in (0, 1):
            predicted, spread = left_out(kernel, noise / np.clip(owners[which], LEAST_WEIGHT, 1), targets)
            squared[which] = ((targets - predicted) ** 2).sum(1)
            variance[which] = spread + noise
        log = np.stack([*(-0.5 * squared / variance - 0.5 * dimensions * np.log(variance)), nobody]) + share[:, None]
        top = log.max(0)
        likelihood = float((top + np.log(np.exp(log - top).sum(0))).mean())
        away = squared / variance / dimensions
        exact = _shares(log - top, 1.0)
        owners = _shares(log - top, min(1.0, power + POWER_STEP * step))
        error = float((exact[:2] * squared).sum() / (dimensions * exact[:2].sum()))
        # Half of the error is put down to noise, so that it falls step by step, as the functions get better.
        noise = max(LEAST_NOISE, min(noise, 0.5 * noise + 0.25 * error))
    return Stand(likelihood, exact, noise, away)


def left_out(kernel: Floats, noise: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """What a Gaussian process says of each pair from all others: (N, A) means and (N,) variances without noise.

    `noise` (N,) is the variance of each pair's action: a pair of little weight has much.
    """
    factor = _factor(kernel, noise)
    solved, _ = lapack.spotrs(factor, targets)  # K⁻¹y, (N, A)
    inverse, _ = lapack.spotri(factor, overwrite_c=1)  # one triangle of K⁻¹: all that is wanted is its diagonal
    diagonal = np.diag(inverse)
    return targets - solved / diagonal[:, None], np.maximum(1 / diagonal - noise, LEAST_VARIANCE)


def elsewhere(kernel: Floats, noise: Floats, targets: Floats, across: Floats) -> tuple[Floats, Floats]:
    """What a Gaussian process says at other states, from their kernel (Q, N): (Q, A) means and (Q,) variances.

    By the factor itself: from an inverse in single precision the variance would be rounding.
    """
    factor = _factor(kernel, noise)
    reached = solve_triangular(factor, across.T, trans="T", check_finite=False)  # (N, Q)
    known = solve_triangular(factor, targets, trans="T", check_finite=False)
    return reached.T @ known, np.maximum(1 - (reached**2).sum(0), LEAST_VARIANCE)


def _factor(kernel: Floats, noise: Floats) -> Floats:
    """Cholesky's upper factor of a kernel with noise on its diagonal; what is below the diagonal means nothing."""
    matrix = np.array(kernel, np.float32, order="F")
    matrix[np.diag_indices(len(matrix))] += noise
    factor, failed = lapack.spotrf(matrix, clean=0, overwrite_a=1)
    if failed:
        raise RobustBCError("the states are too much alike to be told apart; give them with more digits.")
    return np.asarray(factor)


def _shares(log: Floats, power: float) -> Floats:
    raised = np.exp(power * log)
    return np.asarray(raised / raised.sum(0))


def judge_single_pairs(scaled, demonstrations, settings, seed, tell):  # type: ignore[no-untyped-def]
    from robust_bc.auditing.verdict import cannot_tell

    return cannot_tell(scaled, demonstrations, "not yet.")
