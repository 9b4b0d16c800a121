"""The mixture of Gaussian processes for single pairs."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc.auditing.mixture import left_out, separate
from tests.auditing.toys import Floats, smooth


def single(count: int, seed: int = 0) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    states = generator.uniform(-1, 1, (count, 2))
    actions = smooth(states)
    return states, (actions - actions.mean(0)) / actions.std(0) + 0.05 * generator.normal(size=(count, 2))


def test_left_out_is_the_regression_without_the_pair() -> None:
    generator = np.random.default_rng(0)
    states = generator.normal(size=(12, 2))
    kernel = np.exp(-((states[:, None] - states) ** 2).sum(2) / 2)
    noise, targets = generator.uniform(0.1, 0.5, 12), generator.normal(size=(12, 3))
    means, variances = left_out(kernel.astype(np.float32), noise, targets.astype(np.float32))
    for pair in range(12):
        others = np.arange(12) != pair
        solved = np.linalg.solve(kernel[np.ix_(others, others)] + np.diag(noise[others]), kernel[others, pair])
        assert means[pair] == pytest.approx(solved @ targets[others], abs=1e-4)
        assert variances[pair] == pytest.approx(1 - solved @ kernel[others, pair], abs=1e-4)


def test_pairs_of_another_policy_are_separated() -> None:
    states, actions = single(200)
    actions[:70] = -actions[:70] + 1.5
    found = separate(states, actions, np.random.default_rng(0))
    assert not isinstance(found, str)
    assert found.second is not None
    assert found.first == pytest.approx(0.65, abs=0.05)
    assert not found.agree[:70].any()
    assert found.agree[70:].mean() > 0.95


def test_one_policy_is_not_separated_and_like_states_are_refused() -> None:
    states, actions = single(150)
    found = separate(states, actions, np.random.default_rng(0))
    assert not isinstance(found, str)
    assert found.second is None
    assert found.agree.all()
    assert separate(np.zeros((60, 2)), actions[:60], np.random.default_rng(0)) == "the states are all alike."
