"""Losses against their literal formulas, and gradients against finite differences in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from robust_bc.networks.linear import initialise
from robust_bc.networks.losses import choicenet_loss, correlation_divergence, squared_error
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.system.seeding import MemberSeed
from tests.conftest import NETWORK_METHODS, network_method

M, K, D, B = 2, 3, 2, 4


def example() -> tuple[MixtureParameters, Tensor]:
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    rho = torch.cat([torch.ones(M, 1, B, dtype=torch.float64), torch.tanh(normal(M, K - 1, B))], 1)
    parameters = MixtureParameters(
        torch.log_softmax(normal(M, K, B), 1), normal(M, K, D, B), normal(M, K, D, B).exp(), rho
    )
    return parameters, normal(M, D, B)


def literal(parameters: MixtureParameters, actions: Tensor, member: int, weights: tuple[float, float, float]) -> float:
    """λ_L2·mean‖y − μ_1‖² − λ_MDN·mean log Σ_k π_k N(y; μ_k, Σ_k) + λ_KL·mean KL(softmax(ρ) ‖ π), sum by sum."""
    assert parameters.correlations is not None
    pi, mu = parameters.log_weights.exp().numpy()[member], parameters.means.numpy()[member]
    var, rho = parameters.variances.numpy()[member], parameters.correlations.numpy()[member]
    y = actions.numpy()[member]
    total = 0.0
    for b in range(B):
        density = 0.0
        for k in range(K):
            gaussian = 1.0
            for d in range(D):
                scale = math.sqrt(2 * math.pi * var[k, d, b])
                gaussian *= math.exp(-((y[d, b] - mu[k, d, b]) ** 2) / (2 * var[k, d, b])) / scale
            density += pi[k, b] * gaussian
        preferred = np.exp(rho[:, b]) / np.exp(rho[:, b]).sum()
        divergence = sum(preferred[k] * math.log(preferred[k] / pi[k, b]) for k in range(K))
        error = sum((y[d, b] - mu[0, d, b]) ** 2 for d in range(D))
        total += (weights[0] * error - weights[1] * math.log(density) + weights[2] * divergence) / B
    return total


@pytest.mark.parametrize("weights", [(0.3, 1.0, 2.0), (0.0, 0.5, 0.0), (1.0, 1.0, 0.0)])
def test_choicenet_loss_is_the_literal_formula(weights: tuple[float, float, float]) -> None:
    parameters, actions = example()
    terms = choicenet_loss(
        parameters, actions, l2_weight=weights[0], likelihood_weight=weights[1], kl_weight=weights[2]
    )
    for member in range(M):
        assert terms.total[member].item() == pytest.approx(literal(parameters, actions, member, weights), rel=1e-10)


def test_parts_add_up_to_the_total() -> None:
    parameters, actions = example()
    terms = choicenet_loss(parameters, actions, l2_weight=0.3, likelihood_weight=1.5, kl_weight=2.0)
    whole = 0.3 * terms.parts["l2"] + 1.5 * terms.parts["nll"] + 2.0 * terms.parts["kl"]
    torch.testing.assert_close(terms.total, whole)


def test_divergence_vanishes_only_where_weights_follow_correlations() -> None:
    parameters, _ = example()
    assert parameters.correlations is not None
    follows = MixtureParameters(
        torch.log_softmax(parameters.correlations, 1), parameters.means, parameters.variances, parameters.correlations
    )
    torch.testing.assert_close(correlation_divergence(follows), torch.zeros(M, dtype=torch.float64))
    assert (correlation_divergence(parameters) > 0).all()


def test_squared_error_by_hand() -> None:
    means = torch.tensor([[[[1.0, 2.0], [0.0, 0.0]]]])  # M=1, K=1, D=2, B=2
    parameters = MixtureParameters(torch.zeros(1, 1, 2), means, torch.zeros_like(means))
    assert squared_error(parameters, torch.zeros(1, 2, 2)).tolist() == [2.5]


@pytest.mark.parametrize("noise", ["marginal", "local", "shared"])
@pytest.mark.parametrize("progress", [0.0, 0.05, 0.9])
def test_choicenet_gradients_are_finite_differences(noise: str, progress: float) -> None:
    check_gradients("choicenet", progress, {"noise": noise, "mixtures": 3})


CONSTANT_SCALE = {"tukey", "tukey-pair"}
"""They take the scale of the residuals for a constant, so their gradient is on purpose not that of the loss."""


@pytest.mark.parametrize("name", [name for name in NETWORK_METHODS if name not in CONSTANT_SCALE])
def test_gradients_are_finite_differences(name: str) -> None:
    check_gradients(name, 0.3, {})


def check_gradients(name: str, progress: float, given: dict[str, Any]) -> None:
    method = network_method(name)
    settings = method.settings({"hidden": (4,), "activation": "tanh", **given})
    fleet = method.fleet(settings, M, 3, D)
    initialise(fleet, [MemberSeed(0), MemberSeed(1)])
    fleet.double()
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(M, 3, B, generator=generator, dtype=torch.float64)
    y = torch.randn(M, D, B, generator=generator, dtype=torch.float64)
    shape = fleet.head.noise_shape(B)
    noise = torch.randn(M, *shape, generator=generator, dtype=torch.float64) if shape else None
    names = [key for key, _ in fleet.named_parameters()]

    def loss(*values: Tensor) -> Tensor:
        parameters = torch.func.functional_call(fleet, dict(zip(names, values, strict=True)), (x, noise, progress))
        return method.loss(settings, parameters, y, progress).total

    values = tuple(nn.Parameter(value.detach().clone()) for value in fleet.parameters())
    assert torch.autograd.gradcheck(loss, values)
