"""Policies: the literal Gaussian densities behind the statistics of episodes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from robust_bc.auditing.features import JITTER, Features
from robust_bc.auditing.policies import DEVIATIONS, NOISES, Fitted, Statistics, climb_spreads
from robust_bc.auditing.scaled import Floats, Scaled
from tests.auditing.toys import flipped_episodes

LENGTHS = (4, 6, 5)
OWNERS = np.repeat(np.arange(3), LENGTHS)
SPREADS = [(4, 0), (3, 2), (6, 3)]


def shown(seed: int = 0) -> tuple[Floats, Floats, Features]:
    """Features (15, 4) and actions (15, 2) of three episodes."""
    generator = np.random.default_rng(seed)
    inputs = generator.uniform(-1, 1, (15, 2)).astype(np.float32)
    features = Features.at(np.eye(2), inputs[:4])
    return features.of(inputs), generator.normal(size=(15, 2)), features


def literal(values: Floats, actions: Floats, spread: tuple[int, int], episodes: list[int]) -> float:
    """log N(y; 0, φφᵀ + τ²φφᵀ within episodes + σ²) for both columns, and what the features miss."""
    noise, deviation = NOISES[spread[0]], DEVIATIONS[spread[1]]
    rows = np.isin(OWNERS, episodes)
    mine, owners = values[rows], OWNERS[rows]
    kernel = mine @ mine.T
    covariance = kernel + deviation * kernel * (owners[:, None] == owners) + noise * np.eye(len(mine))
    density = sum(stats.multivariate_normal.logpdf(column, cov=covariance) for column in actions[rows].T)
    return float(density - actions.shape[1] * (len(mine) - (mine**2).sum()) / (2 * noise))


def members(*episodes: int) -> np.ndarray:
    return np.isin(np.arange(3), episodes)


@pytest.mark.parametrize("spread", SPREADS)
def test_the_likelihood_of_a_group_is_the_literal_density(spread: tuple[int, int]) -> None:
    values, actions, _ = shown()
    statistics = Statistics.of(values, actions, OWNERS, 3)
    for group in ([0], [0, 2], [0, 1, 2]):
        assert statistics.likelihood(members(*group), spread) == pytest.approx(literal(values, actions, spread, group))


@pytest.mark.parametrize("spread", SPREADS)
def test_left_out_is_the_density_given_the_other_members(spread: tuple[int, int]) -> None:
    values, actions, _ = shown()
    statistics = Statistics.of(values, actions, OWNERS, 3)
    found = statistics.left_out(members(0, 1), spread)
    both = literal(values, actions, spread, [0, 1])
    assert found == pytest.approx(
        [
            both - literal(values, actions, spread, [1]),
            both - literal(values, actions, spread, [0]),
            literal(values, actions, spread, [0, 1, 2]) - both,
        ]
    )


@pytest.mark.parametrize("spread", SPREADS)
def test_a_policy_tells_of_a_new_episode_as_the_group_with_it_does(spread: tuple[int, int]) -> None:
    values, actions, features = shown()
    fitted = Fitted(features, Statistics.of(values, actions, OWNERS, 3), [], spread)
    policy = fitted.policy(members(0, 1, 2), spread, without=2)
    mine = OWNERS == 2
    given = literal(values, actions, spread, [0, 1, 2]) - literal(values, actions, spread, [0, 1])
    assert policy.log_density(values[mine], actions[mine]) == pytest.approx(given)
    whole = policy.by_blocks(values[mine], actions[mine], 1)
    assert whole == pytest.approx([given])
    blocks = policy.by_blocks(values[mine], actions[mine], 2)
    parts = [policy.log_density(values[mine][a:b], actions[mine][a:b]) for a, b in pairwise([0, 3, 5])]
    assert blocks == pytest.approx(parts)


def test_features_stand_for_the_kernel_and_the_first_few_for_themselves() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.uniform(-1, 1, (6, 2)).astype(np.float32)
    values = Features.at(np.eye(2), inputs).of(inputs)
    kernel = 1 / (1 + 0.5 * ((inputs[:, None] - inputs).astype(np.float64) ** 2).sum(2))
    assert values @ values.T == pytest.approx(kernel, abs=100 * JITTER)
    assert values[:, :3] == pytest.approx(Features.at(np.eye(2), inputs[:3]).of(inputs), rel=1e-6)
    statistics = Statistics.of(values, np.ones((6, 1)), np.zeros(6, np.intp), 1)
    fewer = Statistics.of(values[:, :3], np.ones((6, 1)), np.zeros(6, np.intp), 1)
    assert statistics.first(3).likelihood(np.ones(1, bool), (4, 1)) == pytest.approx(
        fewer.likelihood(np.ones(1, bool), (4, 1))
    )


def test_predictions_are_those_of_the_regression() -> None:
    values, actions, features = shown()
    spread = (4, 0)
    fitted = Fitted(features, Statistics.of(values, actions, OWNERS, 3), [], spread)
    means, variances = fitted.policy(members(0, 1, 2), spread).predict(values[:3])
    inverse = np.linalg.inv(values @ values.T + NOISES[4] * np.eye(15))
    across = values[:3] @ values.T
    assert means == pytest.approx(across @ inverse @ actions)
    left = 1 - np.diag(across @ inverse @ across.T)  # the kernel's own variance is 1, with what the features miss
    assert variances == pytest.approx(left + NOISES[4])


def test_the_likeliest_spread_is_found_step_by_step() -> None:
    value, at = climb_spreads(lambda spread: -((spread[0] - 7) ** 2) - (spread[1] - 2) ** 2, (0, 0))
    assert (value, at) == (0, (7, 2))
    value, at = climb_spreads(lambda spread: float(spread[0]), (4, 0), lambda spread: spread[0] <= 5)
    assert at[0] == 5


def test_a_policy_of_clean_episodes_knows_their_noise() -> None:
    scaled = Scaled.of(flipped_episodes(0.0))
    fitted = Fitted.to(scaled.states, scaled.actions, scaled.episodes, 64, np.random.default_rng(0))
    noise = float(np.mean((0.05 / scaled.units.scale) ** 2))  # in units of the actions' variance
    assert 0.3 < NOISES[fitted.spread[0]] / noise < 3
    assert fitted.spread[1] == 0  # one demonstrator, who is always the same
