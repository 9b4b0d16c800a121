"""A truncated mixture of Gaussian-process experts, after Rasmussen and Ghahramani (2002).

Theirs is infinite: a Dirichlet process lets the data choose the number of experts, a gating network lets their weights
depend on the input, each expert has its own kernel, and Gibbs sampling draws who explains which pair. This one is
truncated and found by expectation-maximisation: a fixed number of experts (two, unless told otherwise) with weights
that do not depend on the input and one length scale, and a broad Gaussian as wide as all actions together for the pairs
that nobody explains.

The responsibility r_ie of expert e for pair i enters its regression as the noise σ_e²/r_ie. Responsibilities come from
*cavity* predictions, what an expert says about a pair when that pair is left out, so that no pair vouches for itself.
The first expert starts with all pairs, and a falling ceiling on its noise makes it decide (graduated non-convexity);
each further one starts with what the others leave. Predictions are made by the expert that explains most: the share
of its pairs times the share of the actions' variance that it takes away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from linear_operator.operators import DenseLinearOperator, LinearOperator, LowRankRootLinearOperator
from torch import Tensor

from robust_bc.data.demonstrations import MINIMUM_PAIRS
from robust_bc.gaussian_processes.fitted import FittedProcess, balanced_factor, posterior_coefficients
from robust_bc.gaussian_processes.likelihood import (
    NOISE_FLOOR,
    SIGNAL_FLOOR,
    VARIANCE_EVALUATIONS,
    Variances,
    fit_plain_variances,
    fit_variances,
)
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.networks.mixture import LOG_TWO_PI

ANNEALING_ITERATIONS, ANNEALED_NOISE = 20, 1e-2
"""The first expert's noise must fall to this share of the actions' variance within so many iterations."""
LATER_NOISE = 0.3
"""Noise with which a further expert starts, as a share of the actions' variance."""
FIRST_PORTION, LATER_PORTION = 0.9, 0.5
"""What the first and each later expert start with of the weight that the broad component had."""
LEAST_SHARE = 1e-3
"""No component's weight falls below this: a weight of zero never comes back."""
CAVITY_FLOOR = 1e-9
"""Smallest 1 − w·v of a cavity: a pair that alone decides its own prediction leaves rounding errors behind."""
UNHEARD = 1e-9
"""A pair whose precision is below this share of the prior's says nothing."""
SETTLED = 1e-4
"""Assignments are found when an iteration changes the log-likelihood by less than this for each number."""


@dataclass(eq=False)
class Expert:
    """One regression and the pairs that it answers for."""

    responsibilities: Tensor  # (n,)
    noise: float
    share: float


@dataclass(frozen=True, eq=False)
class Marginals:
    """Posterior means (n, D) and variances (n,) of the function at the inputs, pair by pair."""

    means: Tensor
    variances: Tensor


def marginals(prior: Prior, signal: float, precisions: Tensor, targets: Tensor) -> Marginals:
    """What the pairs, each with its own precision, say together: K·(K + W⁻¹)⁻¹·Y and the diagonal of its covariance."""
    if prior.root is not None:
        root = math.sqrt(signal) * prior.root  # (n, R)
        inner = torch.eye(root.shape[1], dtype=root.dtype) + root.T @ (precisions[:, None] * root)
        half = torch.linalg.solve_triangular(torch.linalg.cholesky(inner), root.T, upper=False)  # (R, n)
        return Marginals(half.T @ (half @ (precisions[:, None] * targets)), half.square().sum(0))
    heard = precisions * signal > UNHEARD  # the others' pairs would only make the factor larger
    weights = precisions[heard].sqrt()[:, None]  # (h, 1)
    covariance = signal * prior.correlation[heard]  # (h, n)
    factor = balanced_factor(covariance[:, heard], precisions[heard])
    half = torch.linalg.solve_triangular(factor, weights * covariance, upper=False)  # (h, n)
    means = half.T @ torch.linalg.solve_triangular(factor, weights * targets[heard], upper=False)
    return Marginals(means, (signal * prior.correlation.diagonal() - half.square().sum(0)).clamp_min(0))


def cavity(posterior: Marginals, precisions: Tensor, targets: Tensor) -> Marginals:
    """The same with each pair's own word taken back: v/(1 − w·v) and (m − v·w·y)/(1 − w·v)."""
    own = precisions * posterior.variances
    left = (1 - own).clamp_min(CAVITY_FLOOR)
    return Marginals((posterior.means - own[:, None] * targets) / left[:, None], posterior.variances / left)


class ExpertMixture:
    """Experts, and a broad component for the pairs that none of them explains."""

    def __init__(self, prior: Prior, targets: Tensor) -> None:
        self.prior = prior
        self.targets = targets
        self.spread = max(float(targets.var(0, correction=0).mean()), SIGNAL_FLOOR)
        self.broad = _log_normal(targets - targets.mean(0), targets.new_tensor(self.spread))  # (n,)
        self.broad_share = 1.0
        self.experts: list[Expert] = []

    def add(self, portion: float, noise: float) -> Expert:
        """One more expert; it starts with this portion of the weight, and all pairs, of the broad component."""
        taken = sum((expert.responsibilities for expert in self.experts), torch.zeros_like(self.broad))  # (n,)
        share = max(portion * self.broad_share, LEAST_SHARE)
        self.broad_share = max((1 - portion) * self.broad_share, LEAST_SHARE)
        self.experts.append(Expert((1 - taken).clamp(0, 1), noise, share))
        return self.experts[-1]

    def iterate(self) -> float:
        """One step of expectation-maximisation; the log-likelihood of the cavities before it."""
        posteriors = []
        scores = []
        for expert in self.experts:
            precisions = expert.responsibilities / expert.noise
            posterior = marginals(self.prior, self.spread, precisions, self.targets)
            without = cavity(posterior, precisions, self.targets)
            posteriors.append(posterior)
            scores.append(
                math.log(expert.share) + _log_normal(self.targets - without.means, without.variances + expert.noise)
            )
        scores.append(math.log(self.broad_share) + self.broad)
        joint = torch.stack(scores)  # (E + 1, n)
        responsibilities = joint.softmax(0)
        for expert, posterior, mine in zip(self.experts, posteriors, responsibilities, strict=False):
            errors = (self.targets - posterior.means).square().mean(1) + posterior.variances  # (n,)
            total = float(mine.sum())
            expert.noise = max(float(mine @ errors) / max(total, LEAST_SHARE), NOISE_FLOOR)
            expert.share = max(total / len(mine), LEAST_SHARE)
            expert.responsibilities = mine
        self.broad_share = max(float(responsibilities[-1].mean()), LEAST_SHARE)
        return float(joint.logsumexp(0).sum())

    def settle(self, iterations: int) -> None:
        """Iterate until little changes."""
        before = -math.inf
        for _ in range(iterations):
            now = self.iterate()
            if abs(now - before) < SETTLED * self.targets.numel():
                break
            before = now

    def winner(self) -> Expert:
        """Whoever explains most."""
        return max(self.experts, key=lambda expert: expert.share * max(0.0, 1 - expert.noise / self.spread))


def fit_experts(prior: Prior, targets: Tensor, experts: int, iterations: int) -> FittedProcess:
    """Find who explains which of the targets (n, D), and give the expert that explains most."""
    mixture = ExpertMixture(prior, targets)
    start = max(fit_plain_variances(prior, targets).noise, NOISE_FLOOR)
    first = mixture.add(FIRST_PORTION, start)
    end = min(ANNEALED_NOISE * mixture.spread, start)
    for iteration in range(ANNEALING_ITERATIONS):
        mixture.iterate()
        ceiling = start * (end / start) ** ((iteration + 1) / ANNEALING_ITERATIONS)
        first.noise = min(first.noise, ceiling)
    mixture.settle(iterations)
    for _ in range(experts - 1):
        mixture.add(LATER_PORTION, LATER_NOISE * mixture.spread)
        mixture.settle(iterations)
    best = mixture.winner()
    variances = winning_variances(prior, targets, best, mixture.spread)
    precisions = best.responsibilities / variances.noise
    solved = posterior_coefficients(variances.signal * prior.correlation, precisions, targets)
    return FittedProcess(
        length_scale=prior.length_scale,
        variances=variances,
        coefficients=variances.signal * solved,
        leverages=torch.ones_like(precisions),
        precisions=precisions,
        trust=best.responsibilities,
    )


def winning_variances(prior: Prior, targets: Tensor, expert: Expert, signal: float) -> Variances:
    """Marginal likelihood of the pairs that are more likely this expert's than not; the rest would only blur it."""
    start = Variances(signal, expert.noise)
    mine = expert.responsibilities > 0.5
    if int(mine.sum()) < MINIMUM_PAIRS:
        return start
    weights = expert.responsibilities[mine]

    def covariance(signal: Tensor, noise: Tensor) -> LinearOperator:
        if prior.root is None:
            return DenseLinearOperator(signal * prior.correlation[mine][:, mine]).add_diagonal(noise / weights)
        return LowRankRootLinearOperator(signal.sqrt() * prior.root[mine]).add_diagonal(noise / weights)

    return fit_variances(covariance, targets[mine], start, VARIANCE_EVALUATIONS)


def _log_normal(errors: Tensor, variances: Tensor) -> Tensor:
    """log N of errors (n, D) whose D numbers share a variance, (n,)."""
    outputs = errors.shape[1]
    return -0.5 * (errors.square().sum(1) / variances + outputs * (variances.log() + LOG_TWO_PI))
