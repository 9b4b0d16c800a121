"""The learned metric: its literal formula, what it finds, and that a policy keeps it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, fit, load_policy
from robust_bc.gaussian_processes.fitted import fit_exact
from robust_bc.gaussian_processes.kernels import KERNELS, Kernel, SquaredExponential, median_distance
from robust_bc.gaussian_processes.metric import EQUAL_SHARE, learned_metric
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods.gaussian_process import bootstrap_rows
from robust_bc.system.seeding import MemberSeed, Purpose

every_kernel = pytest.mark.parametrize("kernel", [kind(2.0) for kind in KERNELS.values()], ids=KERNELS)


def pairs_along(direction: np.ndarray, count: int, seed: int = 0) -> Demonstrations:
    """Actions that depend on one direction of the observations only."""
    observations = np.random.default_rng(seed).normal(size=(count, len(direction)))
    along = observations @ direction
    return Demonstrations.from_arrays(observations, np.stack([np.sin(2 * along), np.cos(along)], 1))


@every_kernel
def test_it_is_the_literal_formula(kernel: Kernel) -> None:
    stream = torch.Generator().manual_seed(0)
    inputs, coefficients = (torch.randn(20, size, generator=stream, dtype=torch.float64) for size in (3, 2))
    outer = torch.zeros(3, 3, dtype=torch.float64)
    for row in inputs:
        # 1e-7 beside it: at a known input autograd meets the infinite slope of an arccosine
        at = (row + 1e-7).requires_grad_()
        for output in range(2):
            value = (kernel.between(at[None], inputs) @ coefficients)[0, output]
            (slope,) = torch.autograd.grad(value, at)
            outer += torch.outer(slope, slope) / 40
    expected = (1 - EQUAL_SHARE) * 3 / outer.trace() * outer + EQUAL_SHARE * torch.eye(3)
    found = learned_metric(inputs, kernel, coefficients)
    np.testing.assert_allclose(found @ found, expected, atol=1e-5)
    np.testing.assert_allclose(found, found.mT, atol=1e-12)
    assert torch.linalg.eigvalsh(found).min() > 0.99 * np.sqrt(EQUAL_SHARE)


@every_kernel
def test_it_is_found_part_by_part_and_is_the_same(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = np.random.default_rng(4)
    inputs, coefficients = (torch.from_numpy(stream.normal(size=(20, size))) for size in (3, 2))
    whole = learned_metric(inputs, kernel, coefficients)
    monkeypatch.setattr("robust_bc.gaussian_processes.metric.LARGEST_KERNEL", 7 * 20)
    np.testing.assert_allclose(learned_metric(inputs, kernel, coefficients), whole, atol=1e-12)


@every_kernel
def test_a_function_without_slopes_leaves_all_directions_alike(kernel: Kernel) -> None:
    inputs = torch.from_numpy(np.random.default_rng(3).normal(size=(10, 4)))
    assert torch.equal(learned_metric(inputs, kernel, torch.zeros(10, 2, dtype=torch.float64)), torch.eye(4).double())


@pytest.mark.parametrize("name", KERNELS)
def test_it_finds_the_direction_that_matters_and_is_far_better_for_it(name: str) -> None:
    direction = np.array([0.6, 0, 0, 0, -0.8, 0, 0, 0])
    shown, asked = pairs_along(direction, 200), pairs_along(direction, 500, seed=1)
    errors = {}
    for metric in ("equal", "learned"):
        policy = fit(shown, "gpr", device="cpu", kernel=name, metric=metric)
        errors[metric] = np.sqrt(np.mean((policy.predict(asked.observations)[0] - asked.actions) ** 2))
        if metric == "learned":
            values, vectors = torch.linalg.eigh(policy.tensors()["metrics"][0].double())
            assert abs(vectors[:, -1].numpy() @ direction) > 0.97
            assert values[-1] > 2 * values[-2]
    assert errors["learned"] < 0.6 * errors["equal"]


@pytest.mark.parametrize("name", KERNELS)
def test_a_constant_observation_changes_nothing(name: str) -> None:
    shown = pairs_along(np.array([1.0, 0, 0.5]), 60)
    wider = np.concatenate((np.full((60, 20), 3.0), shown.observations), 1)
    policies = [
        fit(Demonstrations.from_arrays(seen, shown.actions), "gpr", device="cpu", kernel=name, metric="learned")
        for seen in (shown.observations, wider)
    ]
    np.testing.assert_allclose(
        policies[0].predict(shown.observations)[0], policies[1].predict(wider)[0], rtol=1e-4, atol=1e-4
    )


def test_every_member_has_the_metric_and_the_length_of_its_own_pairs() -> None:
    shown = pairs_along(np.array([1.0, 0, 0.5]), 60)
    policy = fit(shown, "gpr", members=3, device="cpu", kernel="squared-exponential")
    tensors = policy.tensors()
    inputs = torch.from_numpy(policy.normalisation.observations.forward(shown.observations)).double()
    targets = torch.from_numpy(policy.normalisation.actions.forward(shown.actions)).double()
    for member in range(3):
        seed = MemberSeed(0, member)
        mine = torch.from_numpy(bootstrap_rows(60, seed))
        kernel = SquaredExponential(float(np.float32(0.5 * median_distance(inputs[mine], seed.stream(Purpose.TRAIN)))))
        first = fit_exact(Prior.at(inputs[mine], kernel), targets[mine])
        expected = learned_metric(inputs[mine], kernel, first.coefficients).float()
        assert torch.equal(tensors["metrics"][member], expected)
        turned = inputs[mine] @ expected.double()
        length = 0.5 * median_distance(turned, seed.stream(Purpose.TRAIN))
        assert tensors["length_scales"][member].item() == np.float32(length)
        second = fit_exact(Prior.at(turned, SquaredExponential(float(np.float32(length)))), targets[mine])
        assert torch.equal(tensors["coefficients"][member, mine], second.coefficients.float())


@pytest.mark.parametrize("members", [1, 3])
def test_a_policy_keeps_it_and_both_ways_to_predict_agree(members: int, tmp_path: Path) -> None:
    shown = pairs_along(np.array([1.0, 0, 0.5]), 60)
    policy = fit(shown, "gpr", members=members, device="cpu", metric="learned")
    new = np.random.default_rng(2).normal(size=(20, 3))
    np.testing.assert_allclose(policy.mixture(new).means[:, :, 0].mean(0), policy.predict(new)[0], atol=1e-5)
    policy.save(tmp_path)
    again = load_policy(tmp_path, "cpu")
    assert np.array_equal(again.predict(new)[0], policy.predict(new)[0])
    for row, action in zip(new, policy.predict(new)[0], strict=True):
        assert np.array_equal(policy.predict(row)[0], action)
    tensors = policy.tensors()
    assert tensors["metrics"].shape == (members, 3, 3)
    broken = {name: tensor for name, tensor in tensors.items() if name != "metrics"}
    with pytest.raises(RuntimeError):
        policy.method.empty(policy.settings, members, 3, 2, broken).load_state_dict(broken)
    assert "metrics" not in fit(shown, "gpr", device="cpu", metric="equal").tensors()
