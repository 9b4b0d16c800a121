"""A noise for every episode: the literal formula, the fixed point of the likelihood, and what it is good for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, fit
from robust_bc.gaussian_processes import episode_noise
from robust_bc.gaussian_processes.episode_noise import PRIOR_PAIRS, with_episode_noise
from robust_bc.gaussian_processes.fitted import fit_exact
from robust_bc.gaussian_processes.kernels import SquaredExponential
from robust_bc.gaussian_processes.prior import Prior
from tests.robust_bc.gaussian_processes.test_gaussian_processes import problem


def test_two_rounds_are_the_literal_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_noise, "ROUNDS", 2)
    inputs, targets = problem(1)
    episodes = (torch.arange(len(inputs)) / 7).sqrt().long()  # of unequal size
    prior = Prior.at(inputs, SquaredExponential(1.1))
    fitted = fit_exact(prior, targets)
    found = with_episode_noise(fitted, prior, targets, episodes)
    noise = torch.full((int(episodes.max()) + 1,), fitted.variances.noise, dtype=inputs.dtype)
    for _ in range(2):
        of_pairs = noise[episodes]
        inverse = torch.linalg.inv(fitted.variances.signal * prior.correlation + torch.diag(of_pairs))
        squares = of_pairs * (inverse @ targets).square().sum(1)
        slacks = of_pairs * targets.shape[1] * inverse.diagonal()
        after = noise.clone()
        for e in range(len(noise)):
            mine, usual = (each[episodes == e].sum() + PRIOR_PAIRS * each.mean() for each in (squares, slacks))
            after[e] = noise[e] * mine / usual
        noise = after
    assert noise.max() > 1.1 * noise.min()
    torch.testing.assert_close(1 / found.precisions, noise[episodes], rtol=1e-6, atol=0)
    covariance = fitted.variances.signal * prior.correlation + torch.diag(noise[episodes])
    solved = fitted.variances.signal * torch.linalg.solve(covariance, targets)
    torch.testing.assert_close(found.coefficients, solved, rtol=1e-5, atol=1e-8)


def test_where_it_ends_no_noise_of_an_episode_is_likelier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_noise, "ROUNDS", 300)
    monkeypatch.setattr(episode_noise, "PRIOR_PAIRS", 0.0)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(60, 1, generator=generator, dtype=torch.float64) * 4
    episodes = torch.arange(60) % 2
    scale = torch.tensor([0.1, 0.8], dtype=torch.float64)[episodes][:, None]
    targets = torch.sin(inputs) + scale * torch.randn(60, 2, generator=generator, dtype=torch.float64)
    prior = Prior.at(inputs, SquaredExponential(1.0))
    fitted = fit_exact(prior, targets)
    noise = 1 / with_episode_noise(fitted, prior, targets, episodes).precisions[:2]
    logarithms = noise.log().requires_grad_()
    covariance = fitted.variances.signal * prior.correlation + torch.diag(logarithms.exp()[episodes])
    normal = torch.distributions.MultivariateNormal(torch.zeros(60, dtype=torch.float64), covariance)
    likelihood = torch.stack([normal.log_prob(column) for column in targets.mT]).sum()  # type: ignore[no-untyped-call]
    (slope,) = torch.autograd.grad(likelihood, logarithms)
    assert slope.abs().max() < 1e-3
    assert noise[1] > 10 * noise[0]


def test_careless_episodes_count_less_and_single_pairs_all_alike() -> None:
    generator = np.random.default_rng(0)
    x = generator.uniform(-2, 2, (200, 1))
    episodes = np.arange(200) // 20
    noise = np.where(episodes < 4, 0.7, 0.01)[:, None]
    shown = Demonstrations.from_arrays(x, np.sin(2 * x) + noise * generator.normal(size=x.shape), episodes)
    new = np.linspace(-2, 2, 100)[:, None]

    def error(pairs: Demonstrations, episode_noise: bool) -> float:
        policy = fit(pairs, "gpr", device="cpu", episode_noise=episode_noise)
        return float(np.sqrt(np.square(policy.predict(new)[0] - np.sin(2 * new)).mean()))

    assert error(shown, True) < 0.02 < 0.05 < error(shown, False)
    singles = Demonstrations.from_arrays(shown.observations, shown.actions)
    assert error(singles, True) == error(singles, False)
