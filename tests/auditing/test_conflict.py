"""Conflict: the literal score, policies that have not seen what they judge, and the posterior of single pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from robust_bc import Demonstrations
from robust_bc.auditing.conflict import (
    LEAST_SHARE,
    Policies,
    conflict,
    drawn_evenly,
    episode_scores,
    limit_of,
    overconfidence,
    posterior,
)
from robust_bc.auditing.scaled import Scaled
from robust_bc.auditing.settings import AuditSettings
from tests.auditing.toys import flipped_episodes, smooth

SETTINGS = AuditSettings()


def test_score_is_the_literal_formula() -> None:
    pairs = flipped_episodes(0.2, episodes=10)
    scaled = Scaled.of(pairs)
    policies = Policies.of(scaled, np.arange(10) >= 2, SETTINGS, np.random.default_rng(0))
    scores, known = episode_scores(scaled, policies, SETTINGS)
    for episode in (0, 5):
        rows = scaled.episodes[episode]
        means, variances = policies.ask(scaled, rows, np.full(len(rows), episode))
        weights = np.clip(1 - variances, 0, 1)
        errors = np.log(1 + (scaled.actions[rows] - means) ** 2 / (4 * variances[:, None])).mean(1)
        assert scores[episode] == pytest.approx((weights * errors).sum() / (weights.sum() + 1))
        assert known[episode] == pytest.approx(weights.mean())


def test_no_policy_judges_an_episode_that_it_has_seen() -> None:
    pairs = flipped_episodes(0.0, episodes=9)
    scaled = Scaled.of(pairs)
    majority = np.arange(9) < 7
    policies = Policies.of(scaled, majority, SETTINGS, np.random.default_rng(0))
    for episode in np.flatnonzero(majority):
        seen = policies.models[policies.judge[episode]].inputs.numpy()
        own = scaled.states[scaled.episodes[episode]]
        assert not (seen[:, None] == own[None]).all(2).any()


def test_mirrored_episodes_are_beyond_the_limit_and_the_majority_is_not() -> None:
    found = conflict(flipped_episodes(0.3), np.arange(20) >= 6)
    assert found.scores[:6].min() > found.limit > found.scores[6:].max()
    assert found.probability[:120].mean() > 0.9
    assert found.probability[120:].mean() < 0.05


def test_what_is_expected_is_in_the_units_of_the_actions() -> None:
    pairs = flipped_episodes(0.3)
    found = conflict(pairs, np.arange(20) >= 6)
    good = np.asarray(pairs.episodes) >= 6
    assert np.abs(found.expected[good] - pairs.actions[good]).mean() < 0.1
    assert np.abs(found.expected[~good] + pairs.actions[~good]).mean() < 0.1


def test_states_where_nobody_has_been_are_not_held_against_an_episode() -> None:
    pairs = flipped_episodes(0.0, episodes=10)
    states, actions = np.array(pairs.observations), np.array(pairs.actions)
    states[:20] += 30.0
    actions[:20] = np.random.default_rng(0).normal(size=(20, 2))
    elsewhere = type(pairs).from_arrays(states, actions, pairs.episodes)
    found = conflict(elsewhere, np.arange(10) > 0)
    assert found.known[0] < 0.5 < found.known[1:].min()
    assert found.scores[0] < found.limit


def test_the_limit_has_a_least_spread() -> None:
    assert limit_of(np.full(5, 0.2), SETTINGS) == pytest.approx((0.2 + 4 * 0.03, 0.03))
    scores = np.array([0.1, 0.2, 0.6])
    assert limit_of(scores, SETTINGS) == pytest.approx((0.2 + 4 * scores.std(), scores.std()))


def test_posterior_finds_the_share_by_itself() -> None:
    log_odds = np.where(np.arange(1000) < 300, 20.0, -20.0)
    found = posterior(log_odds, np.ones(1000, bool), 0.05)
    assert found == pytest.approx(expit(log_odds + logit(0.3)), abs=1e-6)
    without = posterior(log_odds, np.arange(1000) >= 300, 0.05)
    assert without == pytest.approx(expit(log_odds + logit(LEAST_SHARE)), abs=1e-6)


def test_rare_states_are_among_those_that_a_policy_learns_from() -> None:
    pairs = flipped_episodes(0.0, episodes=50, length=40)
    states = np.array(pairs.observations)
    states[7] = [9.0, 9.0]
    scaled = Scaled.of(type(pairs).from_arrays(states, pairs.actions, pairs.episodes))
    for seed in range(3):
        assert 7 in drawn_evenly(scaled, np.arange(len(pairs)), 100, np.random.default_rng(seed))


def test_variances_that_are_too_small_are_found_by_the_errors() -> None:
    scaled = Scaled.of(flipped_episodes(0.0))
    off = scaled.actions.astype(np.float64) + 0.1
    fair = np.arange(len(scaled)) < 200
    off[~fair] += 5.0  # those that are not fair have no say
    found = overconfidence(scaled, off, np.full(len(scaled), 1e-4), fair, 4.0)
    assert found == pytest.approx(100 / stats.f.median(1, 4), rel=1e-3)
    assert overconfidence(scaled, off, np.full(len(scaled), 10.0), fair, 4.0) == 1.0


def test_no_pair_of_a_smooth_demonstrator_without_noise_is_in_conflict() -> None:
    generator = np.random.default_rng(0)
    states = generator.uniform(-1, 1, (400, 2))
    pairs = Demonstrations.from_arrays(states, smooth(states), np.repeat(np.arange(10), 40))
    assert conflict(pairs, np.ones(10, bool)).probability.max() < 0.5
