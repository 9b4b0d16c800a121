from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, distributions

from robust_bc.networks.mixture import MixtureParameters, component_log_likelihood, log_likelihood, sample

M, K, D, B = 2, 3, 4, 5


def random_mixture(seed: int = 0, batch: int = B) -> MixtureParameters:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return MixtureParameters(
        log_weights=torch.log_softmax(normal(M, K, batch), 1),
        means=normal(M, K, D, batch),
        variances=normal(M, K, D, batch).exp(),
    )


def test_likelihood_equals_torchs_mixture() -> None:
    parameters = random_mixture()
    actions = torch.randn(M, D, B, dtype=torch.float64)
    reference = distributions.MixtureSameFamily(
        distributions.Categorical(logits=parameters.log_weights.transpose(1, 2)),
        distributions.Independent(
            distributions.Normal(parameters.means.permute(0, 3, 1, 2), parameters.variances.permute(0, 3, 1, 2).sqrt()),
            1,
        ),
    )
    expected = reference.log_prob(actions.transpose(1, 2))  # type: ignore[no-untyped-call]
    torch.testing.assert_close(log_likelihood(parameters, actions), expected)


def test_standard_normal_at_zero() -> None:
    parameters = MixtureParameters(torch.zeros(1, 1, 1), torch.zeros(1, 1, D, 1), torch.ones(1, 1, D, 1))
    found = component_log_likelihood(parameters, torch.zeros(1, D, 1)).item()
    assert found == pytest.approx(-0.5 * math.log(2 * math.pi) * D, abs=1e-5)


def test_far_actions_stay_finite() -> None:
    parameters = random_mixture()
    assert log_likelihood(parameters, torch.full((M, D, B), 1e6, dtype=torch.float64)).isfinite().all()


def test_samples_have_the_moments_of_the_mixture() -> None:
    one = random_mixture(1, batch=1)
    count = 100_000
    many = MixtureParameters(
        one.log_weights.expand(-1, -1, count),
        one.means.expand(-1, -1, -1, count),
        one.variances.expand(-1, -1, -1, count),
    )
    drawn = sample(many, torch.Generator().manual_seed(0))  # (M, D, count)
    weights = one.log_weights.exp().unsqueeze(2)  # (M, K, 1, 1)
    mean = (weights * one.means).sum(1).squeeze(-1)
    second = (weights * (one.variances + one.means.square())).sum(1).squeeze(-1)
    torch.testing.assert_close(drawn.mean(2).double(), mean, atol=0.03, rtol=0)
    torch.testing.assert_close(drawn.square().mean(2).double(), second, atol=0.15, rtol=0.03)
