"""Gaussian processes against their literal formulas, and what the robust ones must find."""

from __future__ import annotations

from pathlib import Path

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from robust_bc import Demonstrations, RobustBCError, fit, load_policy
from robust_bc.benchmark.functions import FUNCTIONS, grid, root_mean_square_error, uniform_outliers
from robust_bc.gaussian_processes import model as model_module
from robust_bc.gaussian_processes.experts import cavity, marginals
from robust_bc.gaussian_processes.figures import pair_trust_figure
from robust_bc.gaussian_processes.fitted import fit_exact
from robust_bc.gaussian_processes.leverage import leveraged_covariance, proximal_gradient
from robust_bc.gaussian_processes.likelihood import Variances, fit_plain_variances, negative_log_likelihood
from robust_bc.gaussian_processes.method import bootstrap_rows
from robust_bc.gaussian_processes.prior import Prior, median_distance
from robust_bc.methods import get_method
from robust_bc.policy import Policy
from robust_bc.seeding import MemberSeed

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


def literal_log_density(covariance: Array, targets: Array) -> float:
    """log N(Y; 0, Σ) by an inverse and a determinant."""
    _, log_determinant = np.linalg.slogdet(covariance)
    squares = np.trace(targets.T @ np.linalg.inv(covariance) @ targets)
    return float(-0.5 * (squares + targets.shape[1] * (log_determinant + len(targets) * np.log(2 * np.pi))))


@both_forms
def test_the_prior_is_the_squared_exponential_and_its_root_gives_it_back(size: int) -> None:
    inputs, _ = problem(size)
    prior = Prior.at(inputs, 0.7)
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
    prior = Prior.at(inputs, 1.5)
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
def test_mean_and_variance_are_the_literal_ones(members: int) -> None:
    inputs, targets = problem(3)
    shown = Demonstrations.from_arrays(inputs.numpy(), targets.numpy())
    policy = fit(shown, "gpr", members=members, device="cpu")
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
        covariance = signal * literal_kernel(x[rows], x[rows], length) + noise * np.eye(len(rows))
        across = signal * literal_kernel(new, x[rows], length)
        mean = maps.actions.backward(across @ np.linalg.inv(covariance) @ y[rows])
        explained = np.einsum("bi,ij,bj->b", across, np.linalg.inv(covariance), across)
        variance = (signal - explained + noise)[:, None] * maps.actions.scale**2
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
    prior, leverages = Prior.at(inputs, 0.7), torch.tensor(given, dtype=torch.float64)
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
    prior = Prior.at(inputs, 0.7)
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
def test_a_cavity_is_what_the_others_say(size: int) -> None:
    inputs, targets = problem(size)
    prior = Prior.at(inputs, 0.7)
    precisions = torch.linspace(0, 30, 60, dtype=torch.float64)  # the first pair says nothing
    without = cavity(marginals(prior, 1.3, precisions, targets), precisions, targets)
    kernel = 1.3 * literal_kernel(inputs.numpy(), inputs.numpy(), 0.7)
    for pair in (0, 1, 17, 59):
        others = np.array([other for other in range(1, 60) if other != pair])
        covariance = kernel[np.ix_(others, others)] + np.diag(1 / precisions.numpy()[others])
        weights = kernel[pair, others] @ np.linalg.inv(covariance)
        np.testing.assert_allclose(without.means[pair], weights @ targets.numpy()[others], atol=1e-7)
        assert float(without.variances[pair]) == pytest.approx(1.3 - weights @ kernel[others, pair], abs=1e-7)


def test_exact_regression_finds_cosexp() -> None:
    policy = fit(uniform_outliers(COSEXP, 0.0, 0), "gpr", device="cpu")
    assert root_mean_square_error(policy.predict(grid())[0], COSEXP, grid()) < 0.002
    assert policy.pair_trust is None


@pytest.mark.parametrize(("method", "largest"), [("lgpr", 0.5), ("rgpr", 0.1)])
def test_robust_processes_are_clearly_better_than_the_exact_one(method: str, largest: float) -> None:
    shown = uniform_outliers(COSEXP, 0.2, 7, pairs=300)
    plain, robust = (
        root_mean_square_error(fit(shown, name, device="cpu").predict(grid())[0], COSEXP, grid())
        for name in ("gpr", method)
    )
    assert robust < largest * plain


def test_experts_find_planted_outliers() -> None:
    shown = uniform_outliers(COSEXP, 0.4, 3, pairs=300)
    trust = fit(shown, "rgpr", device="cpu").pair_trust
    assert trust is not None
    assert shown.corrupt is not None
    near = np.abs(shown.actions - COSEXP.formula(shown.observations.astype(np.float64)))[:, 0] < 0.05
    assert trust[~shown.corrupt].mean() > 0.95
    assert trust[shown.corrupt & ~near].max() < 0.01


def test_experts_set_a_second_smooth_group_apart() -> None:
    """A third of the actions are negated: two experts, and the larger group acts."""
    inputs, targets = problem(2, pairs=150)
    flipped = np.arange(150) % 3 == 0
    actions = np.where(flipped[:, None], -targets.numpy(), targets.numpy())
    policy = fit(Demonstrations.from_arrays(inputs.numpy(), actions), "rgpr", device="cpu")
    assert policy.pair_trust is not None
    assert policy.pair_trust[~flipped].mean() > 0.9
    assert policy.pair_trust[flipped].mean() < 0.1


@every_process
def test_a_saved_policy_keeps_everything(method: str, tmp_path: Path) -> None:
    shown = uniform_outliers(COSEXP, 0.2, 0, pairs=80)
    policy = fit(shown, method, device="cpu")
    loaded = load_policy(policy.save(tmp_path), device="cpu")
    assert all(torch.equal(tensor, loaded.tensors()[name]) for name, tensor in policy.tensors().items())
    one, other = policy.mixture(grid(50)), loaded.mixture(grid(50))
    assert np.array_equal(one.means, other.means)
    assert np.array_equal(one.variances, other.variances)
    assert (policy.pair_trust is None) == (method == "gpr")
    if policy.pair_trust is not None and loaded.pair_trust is not None:
        assert np.array_equal(policy.pair_trust, loaded.pair_trust)
    np.testing.assert_allclose(one.means[0, :, 0], policy.predict(grid(50))[0], atol=1e-5)


@every_process
def test_the_same_seed_gives_the_same_bits_and_another_seed_another_ensemble(method: str) -> None:
    shown = uniform_outliers(COSEXP, 0.2, 0, pairs=80)
    one, same, another = (
        fit(shown, method, members=2, seed=seed, device="cpu").tensors()["coefficients"] for seed in (1, 1, 2)
    )
    assert torch.equal(one, same)
    assert not torch.equal(one, another)
    assert not torch.equal(one[0], one[1])


def test_a_bootstrap_holds_about_two_thirds_of_the_pairs() -> None:
    rows = bootstrap_rows(3000, MemberSeed(0, 1))
    assert len(np.unique(rows)) == len(rows)
    assert len(rows) / 3000 == pytest.approx(1 - np.exp(-1), abs=0.03)
    tensors = fit(uniform_outliers(COSEXP, 0.0, 0, pairs=80), "gpr", members=2, device="cpu").tensors()
    for member in range(2):
        drawn = np.flatnonzero(tensors["precisions"][member].numpy())
        assert np.array_equal(drawn, bootstrap_rows(80, MemberSeed(0, member)))


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    policy = fit(uniform_outliers(COSEXP, 0.0, 0, pairs=30), "gpr", device="cpu")
    tensors = policy.tensors()
    good = policy.method.empty(policy.settings, 1, 1, 1, tensors)
    good.load_state_dict(tensors)
    for broken in (
        {**tensors, "inputs": torch.zeros(30)},
        {**tensors, "trust": torch.zeros(1, 29)},
        {**tensors, "length_scales": torch.ones(2)},
        {name: tensor for name, tensor in tensors.items() if name != "noises"},
    ):
        with pytest.raises((KeyError, TypeError, ValueError, RuntimeError)):
            policy.method.empty(policy.settings, 1, 1, 1, broken).load_state_dict(broken)


@every_process
def test_too_many_pairs_are_refused_in_a_sentence(method: str) -> None:
    shown = uniform_outliers(COSEXP, 0.0, 0, pairs=51)
    refused = rf"^method '{method}' was given 51 pairs, but max_pairs is 50: .* 1 MB, .*--max-pairs"
    with pytest.raises(RobustBCError, match=refused):
        fit(shown, method, device="cpu", max_pairs=50)
    known = get_method(method)
    known.check(known.settings({}), 4000)
    for pairs, memory in ((4001, "128 MB"), (10_000, "800 MB"), (20_000, "3.2 GB")):
        with pytest.raises(RobustBCError, match=rf"given {pairs} pairs, but max_pairs is 4000: .* {memory},"):
            known.check(known.settings({}), pairs)
    with pytest.raises(RobustBCError, match="setting 'max_pairs' must be at least 2, but it is 1"):
        fit(shown, method, device="cpu", max_pairs=1)


@every_process
@pytest.mark.parametrize("what", ["two pairs", "constant actions", "constant observations", "copies"])
def test_poor_data_gives_a_finite_policy(method: str, what: str) -> None:
    generator = np.random.default_rng(0)
    observations, actions = generator.normal(size=(20, 2)), generator.normal(size=(20, 2))
    if what == "two pairs":
        observations, actions = observations[:2], actions[:2]
    elif what == "constant actions":
        actions = np.full((20, 2), 3.0)
    elif what == "constant observations":
        observations = np.full((20, 2), 3.0)
    else:
        observations, actions = np.repeat(observations[:4], 5, 0), np.repeat(actions[:4], 5, 0)
    for members in (1, 2):
        policy = fit(Demonstrations.from_arrays(observations, actions), method, members=members, device="cpu")
        mixture = policy.mixture(observations)
        assert np.isfinite(policy.predict(10 * observations)[0]).all()
        assert np.isfinite(mixture.means).all()
        assert (mixture.variances >= 0).all()
        if what == "constant actions":
            np.testing.assert_allclose(policy.predict(observations)[0], 3)


@every_process
def test_a_locked_joint_changes_nothing_that_is_found(method: str) -> None:
    """To the bit: variances, leverages and assignments come from the other columns only."""
    shown = uniform_outliers(COSEXP, 0.2, 0, pairs=80)
    locked = np.c_[np.full(80, 0.7), shown.actions, np.full(80, -2.0)]
    for members in (1, 2):
        alone, beside = (
            fit(Demonstrations.from_arrays(shown.observations, actions), method, members=members, device="cpu")
            for actions in (shown.actions, locked)
        )
        one, other = alone.tensors(), beside.tensors()
        assert torch.equal(one.pop("coefficients"), other["coefficients"][:, :, 1:2])
        assert not other.pop("coefficients")[:, :, [0, 2]].any()
        assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
        assert np.array_equal(beside.predict(grid(9))[0][:, [0, 2]], np.tile(np.array([0.7, -2], np.float32), (9, 1)))
        assert not beside.mixture(grid(9)).variances[..., [0, 2]].any()


def test_a_large_batch_goes_in_parts_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = fit(uniform_outliers(COSEXP, 0.0, 0, pairs=50), "gpr", device="cpu")
    whole, believed = policy.predict(grid(200))[0], policy.mixture(grid(200))
    monkeypatch.setattr(model_module, "LARGEST_KERNEL", 50 * 7)
    in_parts = Policy(
        policy.method, policy.settings, policy._model, policy.normalisation, None, policy.device
    )  # the chooser is made anew
    assert np.array_equal(in_parts.predict(grid(200))[0], whole)
    np.testing.assert_allclose(in_parts.mixture(grid(200)).variances, believed.variances, rtol=1e-4)


@robust_ones
def test_figures_show_every_pair(method: str) -> None:
    flat = uniform_outliers(COSEXP, 0.2, 0, pairs=60)
    figure = pair_trust_figure(fit(flat, method, device="cpu"), flat)
    assert len(figure.axes) == 2  # the pairs, and what their colours mean
    assert [np.shape(dots.get_offsets()) for dots in figure.axes[0].collections] == [(60, 2)]
    inputs, targets = problem(3)
    deep = Demonstrations.from_arrays(inputs.numpy(), targets.numpy(), corrupt=np.arange(60) < 5)
    policy = fit(deep, method, device="cpu")
    shown = pair_trust_figure(policy, deep).axes[0].collections
    assert [np.shape(dots.get_offsets()) for dots in shown] == [(55, 2), (5, 2)]
    with pytest.raises(RobustBCError, match="demonstrations has 59 pairs, but the policy was fitted to 60"):
        pair_trust_figure(policy, deep.select(np.arange(59)))
    with pytest.raises(RobustBCError, match="'gpr' with 1 members does not"):
        pair_trust_figure(fit(deep, "gpr", device="cpu"), deep)


def test_the_fit_is_the_literal_one_at_its_variances() -> None:
    inputs, targets = problem(1)
    prior = Prior.at(inputs, 0.7)
    fitted = fit_exact(prior, targets)
    assert fitted.variances == fit_plain_variances(prior, targets)
    signal, noise = fitted.variances.signal, fitted.variances.noise
    assert isinstance(fitted.variances, Variances)
    kernel = literal_kernel(inputs.numpy(), inputs.numpy(), 0.7)
    expected = kernel @ (signal * np.linalg.inv(signal * kernel + noise * np.eye(60)) @ targets.numpy())
    np.testing.assert_allclose(kernel @ fitted.coefficients.numpy(), expected, atol=1e-8)
