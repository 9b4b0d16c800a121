"""Policies: the literal Gaussian regression behind the sums of episodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from robust_bc.auditing.judging.features import JITTER, Features
from robust_bc.auditing.judging.policies import FIRST_NOISE, NOISES, REWEIGHTED, Fitted, Shown, weighted_median
from robust_bc.auditing.judging.scaled import Flags, Floats, Scaled
from tests.robust_bc.auditing.toys import flipped_episodes

LENGTHS = (4, 6, 5)
OWNERS = np.repeat(np.arange(3), LENGTHS)
ALIKE = 2.0


def shown(size: int = 4) -> tuple[Floats, Floats, Fitted]:
    """Features (15, size) and actions (15, 2) of three episodes."""
    generator = np.random.default_rng(0)
    inputs = generator.uniform(-1, 1, (15, 2)).astype(np.float32)
    features = Features.at(np.eye(2), inputs[:size])
    values, actions = features.of(inputs), generator.normal(size=(15, 2))
    fitted = Fitted(features, Shown.of(values, actions, LENGTHS), np.array(LENGTHS, np.float64), alike=ALIKE)
    return values, actions, fitted


def regression(values: Floats, actions: Floats, noise: Floats, rows: Flags, asked: Flags) -> tuple[Floats, Floats]:
    """Of the Gaussian process with the kernel φφᵀ: means and variances at some rows, from others."""
    covariance = values[rows] @ values[rows].T + np.diag(ALIKE * noise[OWNERS[rows]])
    across = values[asked] @ values[rows].T
    solved = np.linalg.solve(covariance, np.concatenate([actions[rows], across.T], axis=1))
    # The kernel's own variance is 1: what the features miss is not known.
    return across @ solved[:, :2], 1 - np.diag(across @ solved[:, 2:])


def members(*episodes: int) -> Flags:
    return np.isin(np.arange(3), episodes)


@pytest.mark.parametrize("size", [4, 9])  # fewer features than states of an episode, and more
def test_what_a_group_tells_is_the_literal_regression_without_the_episode_itself(size: int) -> None:
    values, actions, fitted = shown(size)
    group = members(0, 1)
    noise = np.full(3, FIRST_NOISE)
    for _ in range(REWEIGHTED):
        density, likeliest = np.empty(3), np.empty(3)
        for episode in range(3):
            mine = np.equal(OWNERS, episode)
            means, variances = regression(values, actions, noise, group[OWNERS] & ~mine, mine)
            error = ((actions[mine] - means) ** 2).mean(1)
            tried = [
                np.mean(stats.norm.logpdf(np.sqrt(error), 0, np.sqrt(variances + one)) + 0.5 * np.log(2 * np.pi))
                for one in NOISES
            ]
            density[episode], likeliest[episode] = max(tried), NOISES[int(np.argmax(tried))]
        noise = likeliest
    told = fitted.told(group)
    assert told.density == pytest.approx(density)
    assert told.noise == pytest.approx(noise)


def test_a_policy_predicts_as_the_regression_does() -> None:
    values, actions, fitted = shown()
    everybody = members(0, 1, 2)
    noise = fitted.told(everybody).noise
    for without in (None, 1):
        rows = np.ones(15, np.bool_) if without is None else np.not_equal(OWNERS, without)
        means, variances = fitted.policy(everybody, without).predict(values[:3])
        wanted = regression(values, actions, noise, rows, np.arange(15) < 3)
        assert means == pytest.approx(wanted[0])
        assert variances == pytest.approx(wanted[1] + weighted_median(noise, fitted.pairs))


def test_features_stand_for_the_kernel_and_the_first_few_for_themselves() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.uniform(-1, 1, (6, 2)).astype(np.float32)
    values = Features.at(np.eye(2), inputs).of(inputs)
    kernel = 1 / (1 + 0.5 * ((inputs[:, None] - inputs).astype(np.float64) ** 2).sum(2))
    assert values @ values.T == pytest.approx(kernel, abs=100 * JITTER)
    assert values[:, :3] == pytest.approx(Features.at(np.eye(2), inputs[:3]).of(inputs), rel=1e-6)
    _, actions, fitted = shown()
    fewer = Fitted(
        fitted.features,
        Shown.of(fitted.shown.values[fitted.shown.there][:, :2], actions, LENGTHS),
        fitted.pairs,
        alike=ALIKE,
    )
    assert fitted.first(2).told(members(0, 2)).density == pytest.approx(fewer.told(members(0, 2)).density)


def test_states_count_as_one_as_far_as_their_errors_are_alike() -> None:
    generator = np.random.default_rng(0)
    features = Features.at(np.eye(1), np.zeros((1, 1), np.float32))
    for repeated in (1, 4):
        actions = np.repeat(generator.normal(size=(10 * 100 // repeated, 1)), repeated, axis=0)
        nothing = np.full((1000, 1), 1e-6)  # features that explain nothing
        fitted = Fitted(features, Shown.of(nothing, actions, [100] * 10), np.full(10, 100.0))
        # Of equal runs of 4, errors at a distance of 1, 2 and 3 have correlations of 3/4, 2/4 and 1/4.
        assert fitted.states_alike(np.ones(10, np.bool_)) == pytest.approx({1: 1, 4: 1 + 2 * 1.5}[repeated], rel=0.2)


def test_a_policy_of_clean_episodes_knows_their_noise() -> None:
    pairs = flipped_episodes(0.0)
    noisy = pairs.actions + 0.3 * np.random.default_rng(0).normal(size=pairs.actions.shape)
    scaled = Scaled.of(type(pairs).from_arrays(pairs.observations, noisy, pairs.episodes))
    fitted = Fitted.to(scaled.states, scaled.actions, scaled.episodes, 64, np.random.default_rng(0))
    fitted = fitted.settled(np.ones(20, np.bool_))
    noise = float(np.mean((0.3 / noisy.std(0)) ** 2))  # in units of the actions' variance
    assert 0.5 < fitted.least / noise < 2
    assert fitted.alike < 1.5  # states mean nothing in time


def test_the_weighted_median_has_half_of_the_weights_at_or_below() -> None:
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0])) == 2
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([5.0, 1.0, 1.0])) == 3


def test_an_episode_that_stands_still_and_is_taken_out_leaves_nothing_known() -> None:
    generator = np.random.default_rng(4)
    inputs = np.concatenate([generator.normal(size=(400, 4)), 0.01 * generator.normal(size=(100, 4))]).astype(
        np.float32
    )
    actions = np.concatenate([np.sin(inputs[:400, :1]), np.zeros((100, 1))]).astype(np.float32)
    fitted = Fitted.to(inputs, actions, np.split(np.arange(500), 5), 200, generator)
    told = fitted.told(np.arange(5) == 4)
    assert told.variances[4] == pytest.approx(1.0, abs=0.02)
