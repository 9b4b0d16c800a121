"""Robust losses against their literal formulas, and what their gradients must and must not do."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm
from torch import Tensor

from robust_bc.methods import get_method
from robust_bc.networks.losses import negative_log_likelihood
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import (
    BIWEIGHT_CUTOFF,
    SCALE_FLOOR,
    absolute_errors,
    biweight,
    density_power_divergence,
    residual_scale,
)
from tests.conftest import network_method

M, D, B = 2, 3, 9
METHODS = (
    "l1",
    "tukey",
    "tukey-pair",
    "trimmed",
    "density-power",
    "background",
)


def example(mixtures: int = 1) -> tuple[MixtureParameters, Tensor]:
    """A mixture and actions, two of which are far out."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    parameters = MixtureParameters(
        torch.log_softmax(normal(M, mixtures, B), 1), normal(M, mixtures, D, B), normal(M, mixtures, D, B).exp()
    )
    actions = parameters.means[:, 0] + 0.3 * normal(M, D, B)
    actions[:, :, 2] += 8
    actions[:, 1, 5] -= 6
    return parameters, actions


def total(method: str, parameters: MixtureParameters, actions: Tensor, progress: float = 1.0, **given: Any) -> Tensor:
    known: Any = get_method(method)
    terms = known.loss(known.settings(given), parameters, actions, progress)
    assert tuple(terms.parts) == known.part_names
    return terms.total  # type: ignore[no-any-return]


def literal_tukey(r: NDArray[np.float64]) -> float:
    """The biweight of one member, residual by residual; r is (D, B)."""
    summed = 0.0
    for row in r:
        middle = sorted(row)[(B - 1) // 2]
        scale = 1.4826 * sorted(abs(value - middle) for value in row)[(B - 1) // 2]
        for value in row:
            u, c = value / scale, 4.6851
            summed += (c**2 / 6 * (1 - (1 - (u / c) ** 2) ** 3) if abs(u) <= c else c**2 / 6) / B
    return summed


def literal(method: str, r: NDArray[np.float64], v: NDArray[np.float64]) -> float:
    """What a method minimises for one member, from residuals and variances (D, B)."""
    squares = (r**2).sum(0)
    if method == "l1":
        return float(sum(abs(r[d, b]) for d in range(D) for b in range(B)) / B)
    if method == "tukey":
        return literal_tukey(r)
    if method == "trimmed":
        return float(np.sort(squares)[: B - 3].mean())  # 0.3·9 is 3
    b = 0.4 / math.sqrt(D)
    density = norm.pdf(r, scale=np.sqrt(v)).prod(0)
    integral = ((2 * np.pi * v) ** (-b / 2) * (1 + b) ** -0.5).prod(0)
    return float((integral - (1 + 1 / b) * density**b + 1 / b).mean())


GIVEN: dict[str, dict[str, Any]] = {
    "trimmed": {"rate": 0.3},
    "density-power": {"beta": 0.4},
}


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("tukey-pair", "background")])
def test_each_loss_is_the_literal_formula(method: str) -> None:
    parameters, actions = example()
    found = total(method, parameters, actions, **GIVEN.get(method, {}))
    r, v = (actions - parameters.means[:, 0]).numpy(), parameters.variances[:, 0].numpy()
    assert found.tolist() == pytest.approx([literal(method, r[m], v[m]) for m in range(M)], rel=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_members_do_not_mix(method: str) -> None:
    """What the second member sees changes neither the first one's loss nor its gradient, to the bit."""
    parameters, actions = example(2 if method == "background" else 1)
    results = []
    for shift in (0.0, 5.0):
        means = parameters.means.clone().requires_grad_()
        moved = actions.clone()
        moved[1] *= 1 + shift
        found = total(method, MixtureParameters(parameters.log_weights, means, parameters.variances), moved)
        found.sum().backward()  # type: ignore[no-untyped-call]
        assert means.grad is not None
        assert means.grad[0].any()
        results.append((found.detach(), means.grad))
    (one, gradient), (other, after) = results
    assert torch.equal(one[0], other[0])
    assert torch.equal(gradient[0], after[0])
    assert one[1] != other[1]


def without_dimension(parameters: MixtureParameters, actions: Tensor, dead: int) -> tuple[MixtureParameters, Tensor]:
    kept = [dimension for dimension in range(D) if dimension != dead]
    fewer = MixtureParameters(parameters.log_weights, parameters.means[:, :, kept], parameters.variances[:, :, kept])
    return fewer, actions[:, kept]


@pytest.mark.parametrize("method", [*METHODS, "mdn", "bcnd", "co-teaching"])
def test_a_dead_dimension_is_as_if_it_were_not_there(method: str) -> None:
    """The first member's last dimension is 0 for all pairs; in the second member nothing is, and nothing changes."""
    parameters, actions = example(2 if method in ("background", "mdn", "bcnd") else 1)
    whole = [total(method, parameters, actions), network_method(method).held_out_score(parameters, actions)]
    actions[0, -1] = 0
    means, variances = (values.clone().requires_grad_() for values in (parameters.means, parameters.variances))
    live = torch.ones(M, D, 1, dtype=torch.bool)
    live[0, -1] = False
    mixed = MixtureParameters(parameters.log_weights, means, variances, live=live)
    loss, score = total(method, mixed, actions), network_method(method).held_out_score(mixed, actions)
    fewer = without_dimension(parameters, actions, D - 1)
    torch.testing.assert_close(score[0], network_method(method).held_out_score(*fewer)[0])
    torch.testing.assert_close(score[1], whole[1][1])
    if method != "co-teaching":  # its two members choose for each other
        torch.testing.assert_close(loss[0], total(method, *fewer)[0])
        torch.testing.assert_close(loss[1], whole[0][1])
    for gradient in torch.autograd.grad(loss.sum() + score.sum(), (means, variances), materialize_grads=True):
        assert (gradient[0, :, -1] == 0).all()
        assert gradient.isfinite().all()


def test_nothing_live_is_nothing_to_learn() -> None:
    parameters, actions = example()
    nothing = dataclasses.replace(parameters, live=torch.zeros(M, D, 1, dtype=torch.bool))
    for method in METHODS:
        assert torch.isfinite(total(method, nothing, torch.zeros_like(actions))).all()


def test_the_absolute_error_is_that_of_the_heaviest_mixture() -> None:
    parameters, actions = example(3)
    found = absolute_errors(parameters, actions)
    for member in range(M):
        for pair in range(B):
            heaviest = int(parameters.log_weights[member, :, pair].argmax())
            literal = sum(abs(actions[member, d, pair] - parameters.means[member, heaviest, d, pair]) for d in range(D))
            assert found[member, pair].item() == pytest.approx(float(literal))
    assert parameters.log_weights.argmax(1).any()  # not always the first


def test_beyond_the_cutoff_tukey_is_flat() -> None:
    c = BIWEIGHT_CUTOFF
    u = torch.tensor([-3 * c, -1.01 * c, -0.5 * c, 0.0, 0.7 * c, 1.01 * c, 3 * c], dtype=torch.float64)
    u.requires_grad_()
    (slope,) = torch.autograd.grad(biweight(u).sum(), u)
    far = u.detach().abs() > c
    assert (slope[far] == 0).all()
    torch.testing.assert_close(slope[~far], (u * (1 - (u / c) ** 2) ** 2).detach()[~far])
    edge = torch.tensor([c - 1e-9, c + 1e-9], dtype=torch.float64, requires_grad=True)
    value = biweight(edge)
    (steepness,) = torch.autograd.grad(value.sum(), edge)
    torch.testing.assert_close(value[0], value[1])  # neither the loss nor its slope jumps
    torch.testing.assert_close(steepness[0], steepness[1])


def test_the_scale_is_a_constant_with_a_floor() -> None:
    residuals = torch.zeros(1, 1, 5, requires_grad=True)
    scale = residual_scale(residuals)
    assert not scale.requires_grad
    assert scale.flatten().tolist() == pytest.approx([SCALE_FLOOR])
    assert torch.isfinite(torch.autograd.grad(biweight(residuals / scale).sum(), residuals)[0]).all()
    many = torch.randn(1, 2, 20001, generator=torch.Generator().manual_seed(0)) * torch.tensor([[[0.5], [3.0]]])
    torch.testing.assert_close(residual_scale(many).flatten(), torch.tensor([0.5, 3.0]), rtol=0.03, atol=0)


def test_the_biweight_of_a_pair_is_that_of_its_root_mean_square() -> None:
    parameters, actions = example()
    found = total("tukey-pair", parameters, actions, cutoff=2.5)
    residuals = (actions - parameters.means[:, 0]).numpy()  # (M, D, B)
    for member in range(M):
        costs = []
        for pair in range(B):
            square = 0.0
            for dimension in range(D):
                mine = np.sort(residuals[member, dimension])
                spread = np.sort(np.abs(mine - mine[B // 2]))[B // 2]
                square += (residuals[member, dimension, pair] / max(1.4826 * spread, SCALE_FLOOR)) ** 2 / D
            costs.append(2.5**2 / 6 * (1 - max(0.0, 1 - square / 2.5**2) ** 3))
        assert found[member].item() == pytest.approx(np.mean(costs), rel=1e-5)


def test_tukeys_gradient_is_that_of_a_fixed_scale() -> None:
    """By the literal ψ(u)/(s·B): no finite difference of the whole loss, in which the scale would move along."""
    parameters, actions = example()
    means = parameters.means.clone().requires_grad_()
    found = total("tukey", MixtureParameters(parameters.log_weights, means, parameters.variances), actions)
    (gradient,) = torch.autograd.grad(found.sum(), means)
    residuals = actions - parameters.means[:, 0]
    scale = residual_scale(residuals)
    u = residuals / scale
    kept = (1 - (u / BIWEIGHT_CUTOFF) ** 2).clamp_min(0) ** 2
    assert (kept == 0).any()
    torch.testing.assert_close(gradient[:, 0], -u * kept / (scale * B))


@pytest.mark.parametrize(("power", "variance"), [(0.1, 0.04), (0.5, 1.0), (1.0, 3.0)])
def test_the_divergence_has_the_integral_of_the_density(power: float, variance: float) -> None:
    deviation = math.sqrt(variance)
    y = 0.7
    integral, _ = quad(lambda t: norm.pdf(t, scale=deviation) ** (1 + power), -12 * deviation, 12 * deviation)
    expected = integral - (1 + 1 / power) * norm.pdf(y, scale=deviation) ** power + 1 / power
    at = torch.zeros(1, 1, 1, 1, dtype=torch.float64)
    found = density_power_divergence(
        MixtureParameters(at[0], at, torch.full_like(at, variance)), torch.full_like(at[0], y), power
    )
    assert found.item() == pytest.approx(expected, rel=1e-8)


def test_without_power_the_divergence_is_the_likelihood() -> None:
    parameters, actions = example()
    found = density_power_divergence(parameters, actions, 1e-9).mean(1)
    torch.testing.assert_close(found, negative_log_likelihood(parameters, actions), rtol=1e-5, atol=0)


def test_the_divergence_ignores_what_is_absurd_and_stays_a_number() -> None:
    actions = torch.tensor([[[0.1, 1e4]] * 6], requires_grad=True)  # M=1, D=6, B=2 in float32
    variances = torch.full((1, 1, 6, 2), 1e-3, requires_grad=True)
    parameters = MixtureParameters(torch.zeros(1, 1, 2), torch.zeros(1, 1, 6, 2), variances)
    value = density_power_divergence(parameters, actions, 0.2 * math.sqrt(6))
    towards_mean, towards_variance = torch.autograd.grad(value.sum(), (actions, variances))
    assert torch.isfinite(value).all()
    assert torch.isfinite(towards_variance).all()
    assert (towards_mean[:, :, 0] > 0).all()
    assert (towards_mean[:, :, 1] == 0).all()
