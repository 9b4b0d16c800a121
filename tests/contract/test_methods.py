"""What every method in the registry must do."""

from __future__ import annotations

import functools
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, RobustBCError, fit, fit_fleet, load_policy, method_names
from robust_bc.methods import AUTO, get_method
from robust_bc.methods.network import NetworkMethod
from robust_bc_benchmarks.suites.functions import FUNCTIONS, grid, uniform_outliers
from tests.conftest import known_settings, make_pairs, quick

pytestmark = pytest.mark.usefixtures("small_budget")
every_method = pytest.mark.parametrize("method", method_names())
every_learner = pytest.mark.parametrize("method", [name for name in method_names() if name != AUTO])
"""Without `auto`, whose policies are those of the others and whose audits take seconds."""


@every_learner
def test_learns_a_clean_linear_map(method: str) -> None:
    generator = np.random.default_rng(0)
    weights = generator.normal(size=(3, 2))
    observations = generator.normal(size=(400, 3))
    shown = Demonstrations.from_arrays(observations, 5 + observations @ weights)
    policy = fit(shown, method, device="cpu", **known_settings(method, steps=600))
    fresh = generator.normal(size=(200, 3))
    error = policy.predict(fresh)[0] - (5 + fresh @ weights)
    assert np.sqrt((error**2).mean()) < 0.2 * (fresh @ weights).std()


CLAIMS = [name for name in method_names() if get_method(name).robust]


@functools.cache
def error_after_flips(method: str, early_stopping: bool = False) -> float:
    """RMSE against a smooth map, of a method that saw 30 % of its actions negated: at the same states as good ones."""
    generator = np.random.default_rng(1)
    observations = generator.uniform(-1, 1, size=(500, 2))
    weights = generator.normal(size=(2, 2))

    def right(at: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.asarray(1 + np.sin(2 * at @ weights))

    bad = np.arange(500) % 10 < 3
    shown = np.where(bad[:, None], -right(observations), right(observations))
    given = known_settings(method, steps=800, early_stopping=early_stopping)
    policy = fit(Demonstrations.from_arrays(observations, shown), method, device="cpu", **given)
    fresh = generator.uniform(-1, 1, size=(200, 2))
    return float(np.sqrt(np.mean((policy.predict(fresh)[0] - right(fresh)) ** 2)))


@pytest.mark.parametrize("method", CLAIMS)
def test_who_claims_robustness_is_better_than_least_squares(method: str) -> None:
    assert error_after_flips(method) < 0.9 * error_after_flips("mlp")


def test_bcnd_stays_robust_when_it_stops_early() -> None:
    """Held-out pairs are corrupt, too: by their likelihood, the first round would always be the best."""
    assert error_after_flips("bcnd", early_stopping=True) < 0.3 * error_after_flips("mlp")


@every_learner
def test_locked_joints_change_nothing(method: str) -> None:
    """Constant columns beside it leave the error in a live one as it is, and are themselves given back exactly."""
    cosexp, locked = FUNCTIONS["cosexp"], [0.5, -3.0, 0.0]
    alone = [uniform_outliers(cosexp, 0.4, seed, pairs=300) for seed in range(5)]
    beside = [
        Demonstrations.from_arrays(pairs.observations, np.c_[pairs.actions, np.tile(locked, (300, 1))])
        for pairs in alone
    ]
    without, with_locked = (
        [
            policy.predict(grid())[0]
            for policy in fit_fleet(data, method, device="cpu", **known_settings(method, steps=400))
        ]
        for data in (alone, beside)
    )
    assert all(np.array_equal(found[:, 1:], np.tile(np.array(locked, np.float32), (1000, 1))) for found in with_locked)
    # The median over data sets: a network starts elsewhere when it has more outputs.
    usual, found = (
        np.median([np.sqrt(np.mean((each[:, :1] - cosexp.formula(grid())) ** 2)) for each in predictions])
        for predictions in (without, with_locked)
    )
    assert found < 1.5 * usual + 0.03


@every_method
def test_same_seed_same_bits(method: str, pairs: Demonstrations) -> None:
    one, other = (fit(pairs, method, members=2, seed=3, device="cpu", **quick(method)).tensors() for _ in range(2))
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


@every_method
def test_saves_and_loads_to_the_same_predictions(method: str, pairs: Demonstrations, tmp_path: Path) -> None:
    policy = fit(pairs, method, members=2, device="cpu", **quick(method))
    policy.save(tmp_path)
    loaded = load_policy(tmp_path, device="cpu")
    assert loaded.method.name == policy.method.name
    assert method in (AUTO, policy.method.name)
    assert (loaded.settings, loaded.choice) == (policy.settings, policy.choice)
    for deterministic in (True, False):
        policy.reseed(1)
        loaded.reseed(1)
        one, other = (p.predict(pairs.observations, deterministic=deterministic)[0] for p in (policy, loaded))
        assert np.array_equal(one, other)


@every_learner
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("members", [1, 9])
def test_an_action_does_not_feel_its_company(method: str, activation: str, members: int) -> None:
    if activation == "tanh" and not isinstance(get_method(method), NetworkMethod):
        pytest.skip("it has no activation")
    generator = np.random.default_rng(members)
    observations = generator.normal(size=(257, 17))
    for actions in (1, 6):
        shown = Demonstrations.from_arrays(observations, np.tanh(observations[:, :actions]))
        given = known_settings(method, activation=activation) | quick(method)
        policy = fit(shown, method, members=members, device="cpu", **given)
        together = policy.predict(observations)[0]
        for size in (1, *generator.integers(2, 257, 6).tolist()):
            start = int(generator.integers(0, 257 - size))
            some = policy.predict(observations[start : start + size])[0]
            assert np.array_equal(some, together[start : start + size])  # to the bit
        assert all(np.array_equal(policy.predict(observations[i])[0], together[i]) for i in range(20))


@every_method
def test_works_in_a_fleet_with_restarts_and_early_stopping(method: str) -> None:
    data = [make_pairs(seed, 60 + 20 * seed) for seed in range(2)]
    given = known_settings(method, restarts=2, early_stopping=True) | quick(method)
    policies = fit_fleet(data, method, members=2, device="cpu", **given)
    assert [policy.members for policy in policies] == [2, 2]
    assert [policy.networks for policy in policies] == [2 * policies[0].settings.peers] * 2
    assert all(np.isfinite(policy.predict(np.zeros((4, 3)))[0]).all() for policy in policies)


@every_method
def test_rejects_bad_settings_by_name(method: str, pairs: Demonstrations) -> None:
    with pytest.raises(RobustBCError, match=f"method '{method}' has no setting 'nonsense'"):
        fit(pairs, method, nonsense=1)
    for name, value in asdict(get_method(method).settings_type()).items():
        if isinstance(value, float):
            with pytest.raises(RobustBCError, match=f"setting '{name}' must be"):
                get_method(method).settings({name: -1.0})


@every_method
def test_says_what_it_is(method: str) -> None:
    described = get_method(method)
    assert described.name == method
    assert 20 < len(described.summary) < 120
    assert "assumes" in described.summary
    assert 20 < len(described.when) < 90
    assert described.when.split()[0] in ("for", "when", "as", "to", "like")
