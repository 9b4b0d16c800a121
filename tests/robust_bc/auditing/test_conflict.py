"""Conflict: the literal mixture, policies that have not seen what they judge, and the posterior of single pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from robust_bc import Demonstrations
from robust_bc.auditing.judging.conflict import (
    LEAST_SHARE,
    NEAREST,
    ONE_COLUMN,
    TAILS,
    Conflict,
    Majority,
    likeliest_power,
    log_densities,
    posterior,
)
from robust_bc.auditing.judging.scaled import Flags, Scaled
from robust_bc.auditing.judging.views import fit_policies
from robust_bc.auditing.settings import AuditSettings
from tests.robust_bc.auditing.toys import flipped_episodes, smooth


def majority_of(pairs: Demonstrations, members: Flags) -> tuple[Majority, Scaled]:
    scaled = Scaled.of(pairs)
    fitted = fit_policies(scaled, np.arange(len(members)), AuditSettings(), np.random.default_rng(0))
    return Majority(fitted, members), scaled


def conflict(pairs: Demonstrations, members: Flags) -> Conflict:
    majority, scaled = majority_of(pairs, members)
    return majority.judge(scaled, scaled.grouping.places, members[scaled.grouping.places])


def test_odds_are_the_literal_mixture() -> None:
    actions, means, variance = np.array([[0.3, -1.0]]), np.array([[0.1, 0.4]]), np.array([[0.09]])
    ours = stats.t.pdf(actions[0], TAILS, means[0], 0.3)
    others = stats.norm.pdf(actions[0], 0, np.sqrt(1.09))
    one = ONE_COLUMN / 2 * (others[0] * ours[1] + ours[0] * others[1])
    literal = ((1 - ONE_COLUMN) * others.prod() + one) / ours.prod()
    mine, theirs = log_densities(actions, means, variance)
    assert mine == pytest.approx([np.log(ours.prod())])
    assert theirs - mine == pytest.approx([np.log(literal)])


def test_no_policy_judges_an_episode_that_it_has_seen() -> None:
    pairs = flipped_episodes(0.0, episodes=9)
    members = np.arange(9) < 7
    majority, scaled = majority_of(pairs, members)
    judged = majority.judge(scaled, scaled.grouping.places, np.ones(len(pairs), np.bool_))
    for episode in (0, 6, 8):
        rows = scaled.episodes[episode]
        policy = majority.fitted.policy(members, episode if members[episode] else None)
        means, _ = policy.predict(majority.fitted.features.of(scaled.states[rows]))
        assert judged.expected[rows] == pytest.approx(scaled.unscaled(means))


def test_mirrored_episodes_are_in_conflict_and_the_majority_is_not() -> None:
    found = conflict(flipped_episodes(0.3), np.arange(20) >= 6)
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
    found = conflict(type(pairs).from_arrays(states, actions, pairs.episodes), np.arange(10) > 0)
    assert found.known[:20].max() < 0.5 < found.known[20:].mean()
    assert found.probability[:20].max() < 0.5


def test_what_others_did_nearby_is_the_literal_mean_of_their_densities() -> None:
    pairs = flipped_episodes(0.3)
    members = np.arange(20) >= 6
    majority, scaled = majority_of(pairs, members)
    row = 7 * 20 + 3  # of episode 7
    found = majority.nearby(scaled.states[[row]], scaled.actions[[row]], np.array([7]))
    others = np.flatnonzero((np.asarray(pairs.episodes) >= 6) & (np.asarray(pairs.episodes) != 7))
    features = majority.fitted.features.of(scaled.states)
    nearest = others[np.argsort(-features[others] @ features[row], kind="stable")[:NEAREST]]
    deviation = np.sqrt(majority.fitted.usual_noise(members))
    literal = stats.norm.pdf(scaled.actions[row], scaled.actions[nearest], deviation).prod(1).mean()
    assert found == pytest.approx([np.log(literal)], rel=1e-4)


def test_nobody_vouches_for_himself_where_few_others_have_been() -> None:
    members = np.ones(4, np.bool_)
    majority, scaled = majority_of(flipped_episodes(0.0, episodes=4, length=5), members)
    odd = scaled.actions[:1] + 5
    before = majority.nearby(scaled.states[:1], odd, np.zeros(1, np.intp))
    majority.fitted.shown.actions[0] += 5
    assert majority.nearby(scaled.states[:1], odd, np.zeros(1, np.intp)) == pytest.approx(before)


def test_posterior_finds_the_share_by_itself() -> None:
    log_odds = np.where(np.arange(1000) < 300, 20.0, -20.0)
    found = posterior(log_odds, np.ones(1000, bool))
    assert found == pytest.approx(expit(log_odds + logit(0.3)), abs=1e-6)
    without = posterior(log_odds, np.arange(1000) >= 300)
    assert without == pytest.approx(expit(log_odds + logit(LEAST_SHARE)), abs=1e-6)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_how_sure_a_policy_is_is_learned_from_its_errors(power: float) -> None:
    generator = np.random.default_rng(0)
    said = generator.uniform(0.02, 0.8, 4000)
    errors = generator.standard_t(TAILS, (4000, 3)) * np.sqrt(said**power)[:, None]
    errors[:1200] = generator.normal(size=(1200, 3))  # conflicts have no say
    errors[3900:] = 50.0  # nor have those that are not fair
    assert likeliest_power(errors, np.zeros((4000, 3)), said, np.arange(3900)) == power


def test_no_pair_of_a_smooth_demonstrator_without_noise_is_in_conflict() -> None:
    generator = np.random.default_rng(0)
    states = generator.uniform(-1, 1, (400, 2))
    pairs = Demonstrations.from_arrays(states, smooth(states), np.repeat(np.arange(10), 40))
    assert conflict(pairs, np.ones(10, bool)).probability.max() < 0.5
