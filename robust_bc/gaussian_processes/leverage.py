"""Leveraged Gaussian-process regression (Choi et al., ICRA 2016): how much each pair is worth, found with the fit.

Each pair has a leverage l in [−1, 1], and the kernel of two pairs is k(x, x')·cos(π/2·(l − l')): pairs of leverage 1
and 0 know nothing of each other, and a pair of −1 says the opposite. Leverages minimise

    −log N(Y; 0, K(l) + σ²I) + λ·‖1 − l‖₁

by proximal gradient, and predictions are made at l = 1. The kernel is positive semi-definite, for cos(a − b) =
cos a·cos b + sin a·sin b.

Where all leverages are equal the slope is zero, so the start breaks the tie: pairs are ranked by their residuals from
a plain fit, from l = 1 for the smallest to l = 0 for the largest, and λ draws back to 1 whoever loses nothing by it.
The noise σ² is meanwhile held at half of the actions' variance or above: a single output can be had exactly from
*some* angle at most inputs, so with little noise the leverages would explain every outlier instead of setting it apart.
Afterwards both variances are found by marginal likelihood at the leverages as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from linear_operator.operators import DenseLinearOperator, LinearOperator, LowRankRootLinearOperator
from torch import Tensor

from robust_bc.gaussian_processes.fitted import FittedProcess, angles, posterior_coefficients
from robust_bc.gaussian_processes.likelihood import (
    NOISE_FLOOR,
    SIGNAL_FLOOR,
    VARIANCE_EVALUATIONS,
    Variances,
    fit_plain_variances,
    fit_variances,
    negative_log_likelihood,
)
from robust_bc.gaussian_processes.prior import Prior

HELD_NOISE = 0.5
"""Smallest noise variance while leverages are sought, as a share of the actions' variance."""
FIRST_STEP, SMALLEST_STEP = 1.0, 1e-9
SETTLED = 1e-5
"""Leverages are found when a step lowers the objective by less than this for each number of the targets."""


@dataclass(frozen=True, eq=False)
class LeverageSearch:
    """Where proximal gradient arrived, and the objective after each of its steps."""

    leverages: Tensor  # (n,)
    objectives: list[float]


def leveraged_covariance(prior: Prior, leverages: Tensor, signal: Tensor, noise: Tensor) -> LinearOperator:
    """s·k(x_i, x_j)·cos(π/2·(l_i − l_j)) + σ²·δ_ij, by its root where the prior has one."""
    turn = angles(leverages)
    noises = noise.expand(len(leverages))
    if prior.root is None:
        cosines = torch.outer(turn.cos(), turn.cos()) + torch.outer(turn.sin(), turn.sin())
        return DenseLinearOperator(signal * prior.correlation * cosines).add_diagonal(noises)
    both = torch.cat((prior.root * turn.cos()[:, None], prior.root * turn.sin()[:, None]), 1)  # (n, 2R)
    return LowRankRootLinearOperator(signal.sqrt() * both).add_diagonal(noises)


def ranked_start(prior: Prior, targets: Tensor, variances: Variances) -> Tensor:
    """Leverages from 1 for the pair with the smallest residual from a plain fit to 0 for the largest, (n,)."""
    shrinkage = variances.noise / (variances.signal * prior.eigenvalues + variances.noise)
    residuals = prior.eigenvectors @ (shrinkage[:, None] * (prior.eigenvectors.T @ targets))  # (n, D)
    ranks = residuals.square().sum(1).argsort(stable=True).argsort(stable=True)
    return 1 - ranks.to(targets.dtype) / max(1, len(targets) - 1)


def proximal_gradient(
    loss: Callable[[Tensor], Tensor], start: Tensor, sparsity: float, iterations: int, tolerance: float
) -> LeverageSearch:
    """Minimise loss(l) + λ·‖1 − l‖₁ over [−1, 1]ⁿ; every step lowers it.

    Inside the box the penalty is λ·Σ(1 − l), so its proximal step is a shift towards 1 that stops there.
    """
    leverages = start.detach().requires_grad_(True)
    value = loss(leverages)
    objectives = [float(value.detach()) + sparsity * float((1 - start).sum())]
    step = FIRST_STEP
    for _ in range(iterations):
        (slope,) = torch.autograd.grad(value, leverages)
        while True:
            candidate = (leverages.detach() - step * (slope - sparsity)).clamp(-1, 1).requires_grad_(True)
            move = (candidate - leverages).detach()
            reached = loss(candidate)
            bound = value.detach() + slope @ move + move @ move / (2 * step)
            if reached <= bound or step < SMALLEST_STEP:
                break
            step /= 2
        objective = float(reached.detach()) + sparsity * float((1 - candidate.detach()).sum())
        if objective >= objectives[-1]:
            break
        leverages, value = candidate, reached
        objectives.append(objective)
        if objectives[-2] - objective < tolerance:
            break
        step *= 2
    return LeverageSearch(leverages.detach(), objectives)


def fit_leveraged(prior: Prior, targets: Tensor, sparsity: float, iterations: int) -> FittedProcess:
    """The leverages of targets (n, D), and the process that they make."""
    plain = fit_plain_variances(prior, targets)
    spread = max(float(targets.var(0, correction=0).mean()), SIGNAL_FLOOR)
    held = Variances(spread, max(plain.noise, HELD_NOISE * spread))

    def loss(leverages: Tensor) -> Tensor:
        signal, noise = (leverages.new_tensor(value) for value in (held.signal, held.noise))
        return negative_log_likelihood(leveraged_covariance(prior, leverages, signal, noise), targets)

    start = ranked_start(prior, targets, plain)
    leverages = proximal_gradient(loss, start, sparsity, iterations, SETTLED * targets.numel()).leverages
    variances = fit_variances(
        lambda signal, noise: leveraged_covariance(prior, leverages, signal, noise),
        targets,
        Variances(spread, max(plain.noise, NOISE_FLOOR)),
        VARIANCE_EVALUATIONS,
    )
    turn = angles(leverages)
    precisions = torch.full_like(leverages, 1 / variances.noise)
    covariance = variances.signal * prior.correlation * torch.cos(turn[:, None] - turn)
    solved = posterior_coefficients(covariance, precisions, targets)
    return FittedProcess(
        length_scale=prior.length_scale,
        variances=variances,
        coefficients=variances.signal * turn.sin()[:, None] * solved,  # cos(π/2·(1 − l)) = sin(π/2·l)
        leverages=leverages,
        precisions=precisions,
        trust=(1 + leverages) / 2,
    )
