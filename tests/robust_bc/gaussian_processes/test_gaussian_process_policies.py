"""Gaussian processes as policies: what they find, keep, refuse and show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from robust_bc import Demonstrations, RobustBCError, fit, load_policy
from robust_bc.gaussian_processes import model as model_module
from robust_bc.gaussian_processes.fitted import fit_exact
from robust_bc.gaussian_processes.kernels import SquaredExponential
from robust_bc.gaussian_processes.likelihood import Variances, fit_plain_variances
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods import get_method
from robust_bc.methods.gaussian_process import bootstrap_rows
from robust_bc.policies.policy import Policy
from robust_bc.system.seeding import MemberSeed
from robust_bc_benchmarks.suites.functions import FUNCTIONS, grid, uniform_outliers
from tests.robust_bc.gaussian_processes.test_gaussian_processes import literal_kernel, problem

COSEXP = FUNCTIONS["cosexp"]
Array = NDArray[np.float64]
both_forms = pytest.mark.parametrize("size", [1, 5], ids=["low rank", "full rank"])
robust_ones = pytest.mark.parametrize("method", ["lgpr", "rgpr"])
every_process = pytest.mark.parametrize("method", ["gpr", "lgpr", "rgpr"])


def error_of(policy: Policy) -> float:
    """RMSE against cosexp itself."""
    return float(np.sqrt(np.mean((policy.predict(grid())[0] - COSEXP.formula(grid())) ** 2)))


def test_exact_regression_finds_cosexp() -> None:
    policy = fit(uniform_outliers(COSEXP, 0.0, 0), "gpr", device="cpu")
    assert error_of(policy) < 0.002
    assert policy.pair_trust is None


@pytest.mark.parametrize(("method", "largest"), [("lgpr", 0.5), ("rgpr", 0.1)])
def test_robust_processes_are_clearly_better_than_the_exact_one(method: str, largest: float) -> None:
    shown = uniform_outliers(COSEXP, 0.2, 7, pairs=300)
    plain, robust = (error_of(fit(shown, name, device="cpu")) for name in ("gpr", method))
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


@robust_ones
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
@pytest.mark.parametrize("metric", ["equal", "learned"])
@pytest.mark.parametrize("what", ["two pairs", "constant actions", "constant observations", "copies"])
def test_poor_data_gives_a_finite_policy(method: str, what: str, metric: str) -> None:
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
    shown = Demonstrations.from_arrays(observations, actions)
    for members in (1, 2):
        policy = fit(shown, method, members=members, device="cpu", metric=metric)
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


def test_the_fit_is_the_literal_one_at_its_variances() -> None:
    inputs, targets = problem(1)
    prior = Prior.at(inputs, SquaredExponential(0.7))
    fitted = fit_exact(prior, targets)
    assert fitted.variances == fit_plain_variances(prior, targets)
    signal, noise = fitted.variances.signal, fitted.variances.noise
    assert isinstance(fitted.variances, Variances)
    kernel = literal_kernel(inputs.numpy(), inputs.numpy(), 0.7)
    expected = kernel @ (signal * np.linalg.inv(signal * kernel + noise * np.eye(60)) @ targets.numpy())
    np.testing.assert_allclose(kernel @ fitted.coefficients.numpy(), expected, atol=1e-8)
