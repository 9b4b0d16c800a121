"""Contradiction: the literal mixture, and who is bad by an unsteady hand, by a moment, or not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from robust_bc import audit
from robust_bc.auditing.judging.contradiction import (
    APART,
    FULLY,
    LEAST_SPREAD,
    MOST_TRUSTED,
    TAILS,
    Mixture,
    fit_mixture,
    in_bounds,
)
from robust_bc.auditing.judging.policies import MOST, Shown, Told
from tests.robust_bc.auditing.toys import flipped_episodes


def test_contradiction_is_the_literal_formula() -> None:
    shown = Shown.of(np.zeros((5, 1)), np.zeros((5, 2)), [2, 3])
    errors, variances = np.arange(12.0).reshape(2, 3, 2), np.full((2, 3), 0.5)
    ours = np.array([((0 + 1) / 2 + (4 + 9) / 2) / 2, MOST])  # the second one is beyond it in every state
    told = Told(np.zeros(2), np.zeros(2), errors, variances)
    assert shown.contradiction(told, 0.5) == pytest.approx(np.log(ours))


def test_the_second_policy_is_trusted_only_as_far_as_there_is_a_contradiction() -> None:
    odds, found = np.array([100.0, 100.0, 100.0, -100.0]), np.array([-1.0, FULLY / 2, 3.0, -1.0])
    assert in_bounds(odds, found) == pytest.approx([0, MOST_TRUSTED / 2, MOST_TRUSTED, -MOST_TRUSTED])


def test_odds_are_those_of_the_literal_mixture() -> None:
    mixture = Mixture((0.1, 0.4), (2.0, 0.5), 0.3)
    good = stats.t.pdf(1.2, TAILS, 0.1, 0.4) * 0.7
    assert mixture.odds(np.array([1.2])) == pytest.approx([np.log(stats.norm.pdf(1.2, 2.0, 0.5) * 0.3 / good)])
    assert (
        np.diff(mixture.odds(np.linspace(-5, 8, 100))).min() >= -1e-12
    )  # who contradicts more is never more likely good


def test_the_mixture_finds_both_kinds_and_their_share() -> None:
    generator = np.random.default_rng(0)
    found = np.concatenate([generator.normal(0.2, 0.3, 70), generator.normal(3, 0.4, 30)])
    everybody, start = np.ones(100, np.bool_), (found > 1).astype(np.float64)
    mixture, bad = fit_mixture(found, everybody, np.ones(100), start, np.zeros(100))
    assert (bad > 0.95).tolist() == (np.arange(100) >= 70).tolist()
    assert mixture.share == pytest.approx(0.3, abs=0.02)
    assert mixture.bad[0] == pytest.approx(3, abs=0.2)
    calm, none = fit_mixture(found[:70], everybody[:70], np.ones(70), np.zeros(70), np.zeros(70))
    assert none.max() < 0.5
    assert calm.bad[0] >= calm.good[0] + APART
    assert calm.good[1] >= LEAST_SPREAD


def test_who_has_less_noise_is_not_bad_for_that_and_who_has_far_more_is() -> None:
    pairs = flipped_episodes(0.0)
    noise = np.where(pairs.episodes < 6, 0.0, 0.5)[:, None]
    draws = np.random.default_rng(0).normal(size=pairs.actions.shape)
    assert audit(replace(pairs, actions=pairs.actions + noise * draws)).keep().all()
    noisy = audit(replace(pairs, actions=pairs.actions + (0.5 - noise) * draws))
    assert noisy.bad_episodes.tolist() == [True] * 6 + [False] * 14
    assert noisy.agreement is not None
    assert noisy.agreement.majority.tolist() == [False] * 6 + [True] * 14  # who is bad has no part in its policy


def test_one_odd_moment_makes_no_bad_episode() -> None:
    pairs = flipped_episodes(0.0, episodes=20, length=50)
    actions = np.array(pairs.actions)
    for episode in range(5):
        actions[episode * 50 + 10 : episode * 50 + 16] *= -1
    assert audit(replace(pairs, actions=actions)).keep().all()
