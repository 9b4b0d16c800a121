"""Single pairs: which of them one smooth policy explains, when another policy may explain the rest.

Episodes can be compared; single pairs cannot, for a pair alone agrees with nothing. An adversary with a policy of its
own is learned as well as the good demonstrator, and with 40 % of the pairs a network takes up the one here and the
other there. Nothing but smoothness says that the good policy of one region is the same as that of the next. So a
mixture of two Gaussian processes and a background, whose shares do not depend on the state (Lázaro-Gredilla, Van
Vaerenbergh & Lawrence, "Overlapping mixtures of Gaussian processes for the data association problem", 2012),

    p(a | s) = π₁·N(a; f₁(s), v₁(s)) + π₂·N(a; f₂(s), v₂(s)) + π₀·N(a; 0, 1),      fₖ ~ GP

is fitted by annealed expectation maximisation. Predictions leave the pair itself out, which for Gaussian processes
costs nothing. There are many local optima, so many starts are made, the best go on after half of the way, and the
likelihood of pairs left out chooses. Where one process with more noise explains all pairs about as well, as with clean
pairs or an unsteady hand, there is no second policy and no pair is bad.

The process with the largest share is the majority. Pairs that do not contradict it are what the policies of `conflict`
learn from, which then judge every pair: the mixture separates, and the policies, with a better kernel, know which rare
pairs are only rare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.spatial.distance import cdist

from robust_bc.auditing.conflict import Majority
from robust_bc.auditing.policies import Fitted
from robust_bc.auditing.scaled import Flags, Scaled
from robust_bc.auditing.settings import AuditSettings
from robust_bc.auditing.verdict import Judged, cannot_tell
from robust_bc.auditing.verdict import Progress as Telling
from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError

Floats = NDArray[np.floating]

FOLDS, FEATURES = 8, 256
"""Of the pairs that policies learn from."""
FEWEST, MOST = 100, 500
"""Pairs below which nothing can be told, and pairs that the mixture is fitted to: the work grows with their cube."""
STARTS, GO_ON = 12, 3
"""So many are made, and so many go on. The first gives nearly everything to one process, the others 50 to 70 % of each
pair at random. Where an adversary has 40 % of the pairs, one start of five may be right; half of the way tells which
are the better ones."""
HALFWAY, MORE = 20, 8
"""Steps of expectation maximisation in each half, and after each time that the first process is offered more."""
FIRST_POWER, POWER_STEP = 0.3, 0.03
"""Power of the probabilities at first, and by how much it rises in each step."""
OFFERS = 3
NOISES = (0.002, 0.006, 0.02, 0.06, 0.2, 0.6, 1.0)
FIRST_NOISE, LEAST_NOISE = 0.3, 0.002
"""Variance of actions around a process, in units of their own: where it begins, and its limit."""
CONTRADICTION = 5.0
"""Squared distance in units of the first process's variance, per dimension, from which a pair contradicts it."""
CLEARLY = 1.0
"""Log likelihood per pair by which two processes must explain more than one: two have more to fit with."""
OFFERED = 2.0
"""The same, up to which pairs of others are offered to it."""
MIXED, NEAREST = 0.5, 5
"""How much the pairs of the second policy must be mixed with those of the first, halfway between apart and at random,
among so many nearest pairs: two parts of one bang-bang policy are apart, and contradict each other nowhere."""
LEAST_SHARE, LEAST_WEIGHT = 0.01, 1e-3
LEAST_VARIANCE = 1e-6


def judge_single_pairs(
    scaled: Scaled, demonstrations: Demonstrations, settings: AuditSettings, seed: int, tell: Telling
) -> Judged:
    """Pair by pair; episodes of a few steps have the mean of their pairs."""
    if len(scaled) < FEWEST:
        return cannot_tell(scaled, demonstrations, f"{len(scaled)} single pairs are too few; it takes {FEWEST}.")
    generator = np.random.default_rng([seed, 15])
    some = np.sort(generator.permutation(len(scaled))[:MOST])
    tell(0.0, "separating single pairs")
    found = separate(scaled.states[some], scaled.actions[some], generator)
    if isinstance(found, str):
        return cannot_tell(scaled, demonstrations, found)
    tell(0.5, "judging pairs")
    # Each fold of the majority's pairs is judged by the others, and all other pairs by all of them.
    agree = generator.permutation(some[found.agree])
    folds = np.array_split(agree, min(FOLDS, len(agree)))
    owners = np.full(len(scaled), -1, np.intp)
    for number, fold in enumerate(folds):
        owners[fold] = number
    policy = Fitted.to(scaled.states, scaled.actions, folds, FEATURES, generator)
    told = Majority(policy, np.ones(len(folds), np.bool_)).judge(
        scaled, owners, np.ones(len(scaled), np.bool_), lambda share: tell(0.5 + 0.5 * share, "judging pairs")
    )
    conflict, expected, known = told.probability, told.expected, told.known
    if found.second is None:
        conflict = np.zeros_like(conflict)
    grouping = scaled.grouping
    clean = grouping.means(1 - conflict)
    undecided = None
    if found.second is not None and found.first / (found.first + found.second) < settings.tie:
        undecided = (
            f"two policies explain about as many pairs ({found.first:.0%} and {found.second:.0%}), and nobody can tell"
            " which of them is right."
        )
    return Judged(clean, 1 - clean, grouping.means(known), conflict, expected, None, undecided)


@dataclass(frozen=True, eq=False)
class Separated:
    """What the mixture found in n pairs."""

    agree: Flags  # (n,) pairs that do not contradict the first process
    first: float
    second: float | None
    """Shares of both processes; None if one explains all about as well."""


def separate(states: Floats, actions: Floats, generator: np.random.Generator) -> Separated | str:
    """The pairs (n, S), (n, A) of the process with the largest share; or why it cannot be told, in a sentence."""
    squared = cdist(states, states, "sqeuclidean")
    width = float(np.median(squared))
    if width <= 0:
        return "the states are all alike."
    kernel = np.exp(-squared / (2 * width)).astype(np.float32)
    targets = actions.astype(np.float32)
    best = _best_start(kernel, targets, generator)
    if best.likelihood < alone(kernel, targets) + CLEARLY:
        return Separated(np.ones(len(states), np.bool_), 1.0, None)
    shares = best.responsibilities.mean(1)
    first = best.first
    if mixing(squared, best.away[first] < CONTRADICTION) < MIXED:
        return Separated(np.ones(len(states), np.bool_), 1.0, None)
    return Separated(best.away[first] < CONTRADICTION, float(shares[first]), float(shares[1 - first]))


def mixing(squared: Floats, agree: Flags) -> float:
    """How much the pairs that contradict are mixed with the others in the states (n, n): 1 if at random, 0 if apart.

    It is the share of those that agree among the nearest pairs of those that do not, over their share in all.
    """
    others = np.flatnonzero(~agree)
    if len(others) == 0 or not agree.any():
        return 0.0
    distances = squared[others].copy()
    distances[np.arange(len(others)), others] = np.inf
    nearest = np.argsort(distances, axis=1)[:, :NEAREST]
    return float(agree[nearest].mean() / agree.mean())


@dataclass(frozen=True, eq=False)
class Stand:
    """How the mixture stands: N pairs, three components (two processes, and the background)."""

    likelihood: float
    responsibilities: Floats  # (3, N) responsibilities
    noise: float
    away: Floats  # (2, N) squared distance from each process, per dimension and in units of its variance

    @property
    def first(self) -> int:
        """The process with the largest share."""
        return int(self.responsibilities[1].sum() > self.responsibilities[0].sum())


def alone(kernel: Floats, targets: Floats) -> float:
    """The mean log likelihood of pairs left out if one process owns all of them, with the best of some noises."""
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
        responsibilities = np.stack([0.98 * share, 0.98 * (1 - share), np.full(count, 0.02)])
        halfway.append(maximise(kernel, targets, responsibilities, FIRST_NOISE, HALFWAY, FIRST_POWER))
    best = sorted(halfway, key=lambda stand: -stand.likelihood)[:GO_ON]
    return max((_to_the_end(kernel, targets, stand) for stand in best), key=lambda stand: stand.likelihood)


def _to_the_end(kernel: Floats, targets: Floats, stand: Stand) -> Stand:
    """The second half; then the first process is offered what it could own as well, as long as that is likelier."""
    # It goes on from the probabilities themselves, and takes powers of those that follow.
    stand = maximise(kernel, targets, stand.responsibilities, stand.noise, HALFWAY, FIRST_POWER + POWER_STEP * HALFWAY)
    for _ in range(OFFERS):
        first = stand.first
        responsibilities = stand.responsibilities[[first, 1 - first, 2]]
        responsibilities = np.where(stand.away[first] < OFFERED, np.array([[0.97], [0.02], [0.01]]), responsibilities)
        offered = maximise(kernel, targets, responsibilities, stand.noise, MORE, power=1.0)
        if offered.likelihood <= stand.likelihood:
            break
        stand = offered
    return stand


def maximise(
    kernel: Floats, targets: Floats, responsibilities: Floats, noise: float, steps: int, power: float
) -> Stand:
    """Expectation maximisation; probabilities are taken to a power that rises to 1."""
    dimensions = targets.shape[1]
    nobody = -0.5 * (targets**2).sum(1)
    likelihood, away = -np.inf, np.zeros((2, len(targets)))
    for step in range(steps):
        share = np.clip(responsibilities.mean(1), LEAST_SHARE, None)
        share = np.log(share / share.sum())
        squared, variance = np.empty((2, len(targets))), np.empty((2, len(targets)))
        for which in (0, 1):
            predicted, spread = left_out(kernel, noise / np.clip(responsibilities[which], LEAST_WEIGHT, 1), targets)
            squared[which] = ((targets - predicted) ** 2).sum(1)
            variance[which] = spread + noise
        log = np.stack([*(-0.5 * squared / variance - 0.5 * dimensions * np.log(variance)), nobody]) + share[:, None]
        top = log.max(0)
        likelihood = float((top + np.log(np.exp(log - top).sum(0))).mean())
        away = squared / variance / dimensions
        exact = _shares(log - top, 1.0)
        responsibilities = _shares(log - top, min(1.0, power + POWER_STEP * step))
        error = float((exact[:2] * squared).sum() / (dimensions * exact[:2].sum()))
        # Half of the error is put down to noise, so that it falls step by step, as the processes get better.
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
