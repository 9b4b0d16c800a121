"""The paper's lemmas, against the literal formula and against Monte Carlo."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from robust_bc.networks.cholesky import (
    correlated_means,
    literal_transform,
    local_products,
    marginal_variance,
    shared_products,
    slack,
)

DRAWS = 400_000
MEAN, SIGMA_W, SIGMA_Z = 0.7, 0.4, 1.3


def draws(seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    sampled = MEAN + SIGMA_W * torch.randn(DRAWS, generator=generator, dtype=torch.float64)
    auxiliary = SIGMA_Z * torch.randn(DRAWS, generator=generator, dtype=torch.float64)
    return sampled, auxiliary


@pytest.mark.parametrize("rho", [-0.95, -0.4, 0.0, 0.3, 0.8])
def test_moments_and_correlation_of_the_transform(rho: float) -> None:
    """E W̃ = ρμ, V W̃ = (1 − ρ²)σ_Z², Corr(W, W̃) = ρ."""
    sampled, auxiliary = draws(0)
    made = literal_transform(sampled, auxiliary, rho, torch.tensor(MEAN), SIGMA_W, SIGMA_Z)
    assert made.mean().item() == pytest.approx(rho * MEAN, abs=0.01)
    assert made.var().item() == pytest.approx((1 - rho**2) * SIGMA_Z**2, rel=0.01)
    assert torch.corrcoef(torch.stack([sampled, made]))[0, 1].item() == pytest.approx(rho, abs=0.005)


def test_limits_of_the_transform() -> None:
    sampled, auxiliary = draws(1)
    mean = torch.tensor(MEAN, dtype=torch.float64)
    for rho in (1.0, -1.0):
        made = literal_transform(sampled, auxiliary, rho, mean, SIGMA_W, SIGMA_Z)
        assert torch.equal(made, torch.full_like(made, rho) * mean)


@pytest.mark.parametrize("sigma_w", [0.1, 3.0])
def test_block_equals_the_literal_weights(sigma_w: float) -> None:
    """μ_k = W̃_k h with the K weight matrices really built; σ_W does not matter."""
    generator = torch.Generator().manual_seed(2)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    members, features, actions, mixtures, batch = 2, 7, 3, 4, 5
    h, mean, noise = (
        normal(members, features, batch),
        normal(members, actions, features),
        normal(members, 2, actions, features),
    )
    rho = torch.tanh(normal(members, mixtures, batch))
    fast = correlated_means(torch.bmm(mean, h), rho, shared_products(h, noise), SIGMA_Z)
    for m in range(members):
        sampled, auxiliary = mean[m] + sigma_w * noise[m, 0], SIGMA_Z * noise[m, 1]
        for k in range(mixtures):
            for b in range(batch):
                weights = literal_transform(sampled, auxiliary, rho[m, k, b].item(), mean[m], sigma_w, SIGMA_Z)
                torch.testing.assert_close(fast[m, k, :, b], weights @ h[m, :, b])


@pytest.mark.parametrize("kind", ["local", "shared"])
@pytest.mark.parametrize("rho", [-0.6, 0.0, 0.5])
def test_sampled_means_have_the_marginal_moments(kind: str, rho: float) -> None:
    """The affine theorem: E μ_k = ρ·μh and V μ_k = (1 − ρ²)σ_Z²‖h‖², whichever way the noise is drawn."""
    generator = torch.Generator().manual_seed(3)
    features, draws_each = 6, 100_000
    h = torch.randn(1, features, 1, generator=generator).expand(draws_each, -1, -1)  # members are draws
    target = torch.full((draws_each, 1, 1), 0.9)
    shape = (draws_each, 2, 1, 1) if kind == "local" else (draws_each, 2, 1, features)
    noise = torch.randn(shape, generator=generator)
    products = (local_products if kind == "local" else shared_products)(h, noise)
    correlations = torch.full((draws_each, 1, 1), rho)
    made = correlated_means(target, correlations, products, SIGMA_Z).flatten()
    expected = marginal_variance(h[:1], correlations[:1], SIGMA_Z).item()
    assert expected == pytest.approx((1 - rho**2) * SIGMA_Z**2 * h[0].square().sum().item(), rel=1e-5)
    assert made.mean().item() == pytest.approx(rho * 0.9, abs=4 * (expected / draws_each) ** 0.5)
    assert made.var().item() == pytest.approx(expected, rel=0.02)


def test_gradient_survives_saturation() -> None:
    """tanh(20) is exactly 1 in float32, where the gradient of √(1 − ρ²) would be infinite."""
    raw = torch.tensor([20.0, -20.0, 0.3], requires_grad=True)
    slack(torch.tanh(raw)).sqrt().sum().backward()  # type: ignore[no-untyped-call]
    assert raw.grad is not None
    assert raw.grad.isfinite().all()
