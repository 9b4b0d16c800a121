"""Gaussian processes against their literal formulas, and what the robust ones must find."""

from __future__ import annotations

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from robust_bc import Demonstrations, fit
from robust_bc.gaussian_processes.experts import cavity, marginals
from robust_bc.gaussian_processes.kernels import KERNELS, KernelName, SquaredExponential, median_distance
from robust_bc.gaussian_processes.leverage import leveraged_covariance, proximal_gradient
from robust_bc.gaussian_processes.likelihood import fit_plain_variances, negative_log_likelihood
from robust_bc.gaussian_processes.metric import MetricName
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods.gaussian_process import bootstrap_rows
from robust_bc.system.seeding import MemberSeed
from robust_bc_benchmarks.suites.functions import FUNCTIONS

COSEXP = FUNCTIONS["cosexp"]
Array = NDArray[np.float64]
both_forms = pytest.mark.parametrize("size", [1, 5], ids=["low rank", "full rank"])
robust_ones = pytest.mark.parametrize("method", ["lgpr", "rgpr"])
every_process = pytest.mark.parametrize("method", ["gpr", "lgpr", "rgpr"])


def problem(size: int, pairs: int = 60, outputs: int = 2) -> tuple[Tensor, Tensor]:
    """Inputs (n, S) and noisy targets (n, D)."""
    generator = torch.Generator().manual_seed(size)
    inputs = torch.randn(pairs, size, generator=generator, dtype=torch.float64)
    targets = torch.stack([torch.sin(inputs.sum(1) + shift) for shift in range(outputs)], 1)
    return inputs, targets + 0.1 * torch.randn(targets.shape, generator=generator, dtype=torch.float64)


def literal_kernel(one: Array, other: Array, length_scale: float) -> Array:
    kernel: Array = np.exp(-((one[:, None] - other[None]) ** 2).sum(2) / (2 * length_scale**2))
    return kernel


def literal_network_kernel(one: Array, other: Array, length_scale: float) -> Array:
    """The formula, number by number."""

    def covariance(x: Array, y: Array, layers: int) -> float:
        if layers == 0:
            return 1 + float(x @ y) / length_scale**2
        scale = np.sqrt(covariance(x, x, layers - 1) * covariance(y, y, layers - 1))
        angle = np.arccos(min(1.0, covariance(x, y, layers - 1) / scale))
        return float(1 + scale / np.pi * (np.sin(angle) + (np.pi - angle) * np.cos(angle)))

    return np.array([[covariance(x, y, 2) / 3 for y in other] for x in one])


LITERAL_KERNELS = {"squared-exponential": literal_kernel, "wide-network": literal_network_kernel}


def literal_log_density(covariance: Array, targets: Array) -> float:
    """log N(Y; 0, Σ) by an inverse and a determinant."""
    _, log_determinant = np.linalg.slogdet(covariance)
    squares = np.trace(targets.T @ np.linalg.inv(covariance) @ targets)
    return float(-0.5 * (squares + targets.shape[1] * (log_determinant + len(targets) * np.log(2 * np.pi))))


@both_forms
def test_the_prior_is_the_squared_exponential_and_its_root_gives_it_back(size: int) -> None:
    inputs, _ = problem(size)
    prior = Prior.at(inputs, SquaredExponential(0.7))
    kernel = literal_kernel(inputs.numpy(), inputs.numpy(), 0.7)
    np.testing.assert_allclose(prior.correlation, kernel, atol=1e-12)
    assert (prior.root is not None) == (size == 1)
    if prior.root is not None:
        np.testing.assert_allclose(prior.root @ prior.root.T, kernel, atol=1e-9)


def test_the_median_distance_is_that_of_different_inputs() -> None:
    stream = np.random.default_rng(0)
    assert median_distance(torch.tensor([[0.0], [0.0], [0.0], [3.0]]), stream) == 3
    assert median_distance(torch.zeros(5, 2), stream) == 1
    many = torch.from_numpy(np.random.default_rng(1).normal(size=(3000, 1)))
    assert median_distance(many, stream) == pytest.approx(0.954, abs=0.05)  # √2 times the median of |N(0, 1)|


@both_forms
def test_variances_maximise_gpytorchs_own_marginal_likelihood(size: int) -> None:
    inputs, targets = problem(size, outputs=1)
    prior = Prior.at(inputs, SquaredExponential(1.5))
    found = fit_plain_variances(prior, targets)

    class Exact(gpytorch.models.ExactGP):  # type: ignore[misc]
        def __init__(self, likelihood: gpytorch.likelihoods.GaussianLikelihood) -> None:
            super().__init__(inputs, targets[:, 0], likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    def likelihood_of(signal: float, noise: float) -> float:
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        exact = Exact(likelihood).double()
        likelihood.noise = noise
        exact.covar_module.base_kernel.lengthscale = 1.5
        exact.covar_module.outputscale = signal
        marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, exact)
        return float(marginal(exact(inputs), targets[:, 0]).detach()) * len(inputs)

    best = likelihood_of(found.signal, found.noise)
    literal = found.signal * prior.correlation.numpy() + found.noise * np.eye(len(inputs))
    assert best == pytest.approx(literal_log_density(literal, targets.numpy()), abs=1e-4)
    for factor in (0.8, 1.25):
        assert likelihood_of(factor * found.signal, found.noise) < best
        assert likelihood_of(found.signal, factor * found.noise) < best


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["equal", "learned"])
def test_mean_and_variance_are_the_literal_ones(metric: MetricName, kernel: KernelName, members: int) -> None:
    inputs, targets = problem(3)
    shown = Demonstrations.from_arrays(inputs.numpy(), targets.numpy())
    policy = fit(shown, "gpr", members=members, device="cpu", kernel=kernel, metric=metric)
    literal = LITERAL_KERNELS[kernel]
    where = np.random.default_rng(0).normal(size=(20, 3))
    maps = policy.normalisation
    x, y, new = (
        affine.forward(values).astype(np.float64)
        for affine, values in (
            (maps.observations, shown.observations),
            (maps.actions, shown.actions),
            (maps.observations, where),
        )
    )
    mixture, tensors = policy.mixture(where), policy.tensors()
    chosen = np.zeros((20, 2))
    for member in range(members):
        rows = np.arange(60) if members == 1 else bootstrap_rows(60, MemberSeed(0, member))
        length, signal, noise = (float(tensors[name][member]) for name in ("length_scales", "signals", "noises"))
        turn = tensors["metrics"][member].double().numpy() if metric == "learned" else np.eye(3)
        known, asked = x[rows] @ turn, new @ turn
        covariance = signal * literal(known, known, length) + noise * np.eye(len(rows))
        across = signal * literal(asked, known, length)
        mean = maps.actions.backward(across @ np.linalg.inv(covariance) @ y[rows])
        explained = np.einsum("bi,ij,bj->b", across, np.linalg.inv(covariance), across)
        alone = signal * np.diagonal(literal(asked, asked, length))
        variance = (alone - explained + noise)[:, None] * maps.actions.scale**2
        np.testing.assert_allclose(mixture.means[member, :, 0], mean, atol=2e-4)
        np.testing.assert_allclose(mixture.variances[member, :, 0], variance, rtol=1e-3)
        chosen += mean / members
    np.testing.assert_allclose(policy.predict(where)[0], chosen, atol=2e-4)
    assert mixture.weights.shape == (members, 20, 1)
    assert np.allclose(mixture.weights, 1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=60, max_size=60), st.sampled_from([1, 5]))
def test_the_leveraged_kernel_is_the_literal_one_and_positive_semi_definite(given: list[float], size: int) -> None:
    inputs, targets = problem(size)
    prior, leverages = Prior.at(inputs, SquaredExponential(0.7)), torch.tensor(given, dtype=torch.float64)
    signal, noise = torch.tensor(1.7, dtype=torch.float64), torch.tensor(0.3, dtype=torch.float64)
    operator = leveraged_covariance(prior, leverages, signal, noise)
    apart = np.abs(np.subtract.outer(leverages.numpy(), leverages.numpy()))
    kernel = 1.7 * literal_kernel(inputs.numpy(), inputs.numpy(), 0.7) * np.cos(np.pi / 2 * apart)
    np.testing.assert_allclose(operator.to_dense(), kernel + 0.3 * np.eye(60), atol=1e-9)
    assert np.linalg.eigvalsh(kernel).min() > -1e-10
    expected = -literal_log_density(kernel + 0.3 * np.eye(60), targets.numpy())
    assert float(negative_log_likelihood(operator, targets)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sparsity", [0.0, 1.0])
def test_the_proximal_objective_falls(sparsity: float) -> None:
    inputs, targets = problem(1)
    targets[::5] += 3
    prior = Prior.at(inputs, SquaredExponential(0.7))
    one = torch.tensor(1.0, dtype=torch.float64)

    def loss(leverages: Tensor) -> Tensor:
        return negative_log_likelihood(leveraged_covariance(prior, leverages, one, 0.5 * one), targets)

    start = torch.linspace(1, -0.5, 60, dtype=torch.float64)
    search = proximal_gradient(loss, start, sparsity, 40, 0.0)
    objectives = np.array(search.objectives)
    assert len(objectives) > 5
    assert (np.diff(objectives) < 0).all()
    reached = float(loss(search.leverages)) + sparsity * float((1 - search.leverages).sum())
    assert reached == pytest.approx(objectives[-1])
    assert search.leverages.abs().max() <= 1


def test_the_proximal_step_minimises_a_known_objective() -> None:
    """½‖l − c‖² + λ‖1 − l‖₁ over [−1, 1] has its minimum at c + λ, clipped."""
    centre = torch.tensor([-3.0, -0.5, 0.2, 0.9, 2.0], dtype=torch.float64)
    search = proximal_gradient(
        lambda leverages: 0.5 * (leverages - centre).square().sum(), torch.zeros(5, dtype=torch.float64), 0.3, 100, 0.0
    )
    np.testing.assert_allclose(search.leverages, (centre + 0.3).clamp(-1, 1), atol=1e-6)


@both_forms
@pytest.mark.parametrize("name", KERNELS)
def test_a_cavity_is_what_the_others_say(name: KernelName, size: int) -> None:
    inputs, targets = problem(size)
    prior = Prior.at(inputs, KERNELS[name](0.7))
    precisions = torch.linspace(0, 30, 60, dtype=torch.float64)  # the first pair says nothing
    without = cavity(marginals(prior, 1.3, precisions, targets), precisions, targets)
    kernel = 1.3 * LITERAL_KERNELS[name](inputs.numpy(), inputs.numpy(), 0.7)
    for pair in (0, 1, 17, 59):
        others = np.array([other for other in range(1, 60) if other != pair])
        covariance = kernel[np.ix_(others, others)] + np.diag(1 / precisions.numpy()[others])
        weights = kernel[pair, others] @ np.linalg.inv(covariance)
        np.testing.assert_allclose(without.means[pair], weights @ targets.numpy()[others], atol=1e-7)
        assert float(without.variances[pair]) == pytest.approx(
            kernel[pair, pair] - weights @ kernel[others, pair], abs=1e-7
        )
