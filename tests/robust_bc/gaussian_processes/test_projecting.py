"""Some pairs that stand for all: the exact process where they are all, and the literal formula where they are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from robust_bc import fit, load_policy
from robust_bc.gaussian_processes import projecting
from robust_bc.gaussian_processes.fitted import fit_exact
from robust_bc.gaussian_processes.kernels import KERNELS, KernelName
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.gaussian_processes.projecting import Summary, project
from robust_bc_benchmarks.suites.functions import FUNCTIONS, grid, uniform_outliers
from tests.robust_bc.gaussian_processes.test_gaussian_processes import problem

both_kernels = pytest.mark.parametrize("name", ["squared-exponential", "wide-network"])


@both_kernels
def test_all_pairs_stand_for_themselves(name: KernelName) -> None:
    inputs, targets = problem(3)
    prior = Prior.at(inputs, KERNELS[name](0.9))
    exact = fit_exact(prior, targets)
    found = project(exact, prior, inputs, inputs, targets)
    new = problem(3, pairs=7)[0] + 0.3
    across = prior.kernel.between(new, inputs)
    torch.testing.assert_close(across @ found.coefficients, across @ exact.coefficients, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(found.precisions, exact.precisions, rtol=1e-5, atol=0)


@both_kernels
def test_the_likelihood_is_the_literal_one_of_all_pairs(name: KernelName) -> None:
    inputs, targets = problem(5)
    prior = Prior.at(inputs[:12], KERNELS[name](1.1))
    features = prior.kernel.between(inputs, inputs[:12]) @ (prior.eigenvectors / prior.eigenvalues.sqrt())
    summary = Summary.of(features.mT @ features, features.mT @ targets, targets)
    for signal, noise in ((0.7, 0.2), (2.0, 0.01)):
        covariance = signal * features @ features.mT + noise * torch.eye(len(inputs), dtype=features.dtype)
        normal = torch.distributions.MultivariateNormal(torch.zeros_like(targets[:, 0]), covariance)
        literal = -sum(normal.log_prob(column) for column in targets.mT)  # type: ignore[no-untyped-call]
        found = summary.negative_log_likelihood(*torch.tensor([signal, noise], dtype=features.dtype))
        torch.testing.assert_close(found, literal, rtol=1e-8, atol=0)


@both_kernels
@pytest.mark.parametrize("portion", [1, 100, 10**6])
def test_few_pairs_are_the_literal_formula_in_any_portions(
    name: KernelName, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """f(x) = s·k(x, Z)·(σ²K + s·k(Z, X)k(X, Z))⁻¹·k(Z, X)·y."""
    monkeypatch.setattr(projecting, "LARGEST_PORTION", portion)
    inputs, targets = problem(4)
    few = inputs[:12]
    prior = Prior.at(few, KERNELS[name](1.1))
    fitted = fit_exact(prior, targets[:12])
    found = project(fitted, prior, few, inputs, targets)
    signal, noise = found.variances.signal, found.variances.noise
    across = prior.kernel.between(few, inputs)
    features = prior.kernel.between(inputs, few) @ (prior.eigenvectors / prior.eigenvalues.sqrt())
    summary = Summary.of(features.mT @ features, features.mT @ targets, targets)
    logarithms = torch.tensor([signal, noise], dtype=torch.float64).log().requires_grad_()
    (slope,) = torch.autograd.grad(summary.negative_log_likelihood(*logarithms.exp()), logarithms)
    assert slope.abs().max() < 0.01  # both variances are the likeliest of all pairs
    inner = noise * prior.correlation + signal * across @ across.mT
    literal = signal * torch.linalg.solve(inner, across @ targets)
    torch.testing.assert_close(found.coefficients, literal, rtol=1e-6, atol=1e-8)
    nearest = torch.cdist(inputs, few).argmin(1)
    counts = torch.tensor([(nearest == place).sum() for place in range(12)], dtype=torch.float64)
    torch.testing.assert_close(found.precisions, counts / noise)
    assert counts.sum() == len(inputs)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("metric", ["equal", "learned"])
def test_more_pairs_than_fit_into_a_matrix(members: int, metric: str, tmp_path: Path) -> None:
    shown = uniform_outliers(FUNCTIONS["cosexp"], 0.0, 0, pairs=600)
    policy = fit(shown, "gpr", members=members, device="cpu", metric=metric, max_pairs=100, inducing=40)
    assert len(policy.tensors()["inputs"]) <= 40 * members  # what a policy keeps
    error = policy.predict(grid())[0] - FUNCTIONS["cosexp"].formula(grid())
    assert np.sqrt((error**2).mean()) < 0.01
    loaded = load_policy(policy.save(tmp_path), device="cpu")
    assert np.array_equal(loaded.predict(grid())[0], policy.predict(grid())[0])
    again = fit(shown, "gpr", members=members, device="cpu", metric=metric, max_pairs=100, inducing=40)
    assert np.array_equal(again.predict(grid())[0], policy.predict(grid())[0])


def test_all_pairs_tell_more_than_those_that_stand_for_them() -> None:
    shown = uniform_outliers(FUNCTIONS["cosexp"], 0.0, 1, pairs=600)
    noisy = np.random.default_rng(0).normal(scale=0.3, size=shown.actions.shape)
    data = type(shown).from_arrays(shown.observations, shown.actions + noisy)
    few = data.select(np.sort(np.random.default_rng(1).choice(600, 40, replace=False)))
    errors = {}
    for name, pairs in (("few", few), ("all", data)):
        policy = fit(pairs, "gpr", device="cpu", max_pairs=50, inducing=40)
        errors[name] = float(np.sqrt(((policy.predict(grid())[0] - FUNCTIONS["cosexp"].formula(grid())) ** 2).mean()))
    assert errors["all"] < 0.6 * errors["few"]
