"""From distances to opinions: the rival takes over where it explains more, and single pairs are compared with both."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from robust_bc import Demonstrations
from robust_bc.auditing.calibration import beside_a_rival
from robust_bc.auditing.conflict import deal
from robust_bc.auditing.opinions import form_opinion
from tests.auditing.toys import smooth

Flags = NDArray[np.bool_]


def everybody(pairs: Demonstrations) -> Flags:
    return np.ones(len(pairs), np.bool_)


def two_regions() -> tuple[Demonstrations, NDArray[np.float64], Flags]:
    """States left and right of 0; on the right, the good and the bad are learned by the wrong policy."""
    generator = np.random.default_rng(0)
    states = generator.uniform(-1, 1, (600, 2))
    bad = np.arange(600) % 10 < 3
    right = smooth(states)
    actions = np.where(bad[:, None], -right, right) + 0.05 * generator.normal(size=(600, 2))
    swapped = (states[:, 0] > 0)[:, None]
    said = np.stack([np.where(swapped, -right, right), np.where(swapped, right, -right)])
    return Demonstrations.from_arrays(states, actions), said, bad


def test_the_rival_takes_over_where_it_explains_more() -> None:
    pairs, said, bad = two_regions()
    found = form_opinion(pairs, said, True, everybody(pairs), deal(pairs.episodes, (0, 1)), (0, 1))
    border = np.abs(pairs.observations[:, 0]) < 0.3  # neighbours are of both sides
    assert ((found.good > 0.5) == ~bad)[~border].mean() > 0.98
    assert found.rate == pytest.approx(0.3, abs=0.08)
    without = form_opinion(pairs, said, False, everybody(pairs), deal(pairs.episodes, (0, 1)), (0, 1))
    assert ((without.good > 0.5) == bad)[(pairs.observations[:, 0] > 0)].mean() > 0.5  # some have company


def test_whole_episodes_change_sides_as_one() -> None:
    pairs, _, bad = two_regions()
    episodes = np.where(bad, 100 + np.arange(600) % 18, np.arange(600) % 42)  # each goes through both regions
    whole = Demonstrations.from_arrays(pairs.observations, pairs.actions, episodes)
    right = smooth(whole.observations.astype(np.float64))
    for of_both in (np.stack([right, -right]), np.stack([-right, right])):  # whoever was learned by the trusted
        found = form_opinion(whole, of_both, True, everybody(whole), deal(whole.episodes, (0, 1)), (0, 1))
        assert np.array_equal(found.good > 0.5, ~bad)
    without = form_opinion(
        whole, np.stack([-right, right]), False, everybody(whole), deal(whole.episodes, (0, 1)), (0, 1)
    )
    assert np.array_equal(without.good > 0.5, bad)
    # Only the eligible are counted.
    some = form_opinion(
        whole, np.stack([right, -right]), True, bad | (episodes < 10), deal(whole.episodes, (0, 1)), (0, 1)
    )
    assert np.array_equal(some.good > 0.5, bad)


def test_episodes_that_do_what_is_usual_are_of_no_bad_kind() -> None:
    """Of 30 episodes 6 are in a corner where all do the same, which the policy has not learned at all."""
    generator = np.random.default_rng(0)
    corner = np.repeat(np.arange(30) < 6, 40)
    states = generator.uniform(-1, 1, (1200, 2)) + np.where(corner, 5.0, 0.0)[:, None]
    actions = np.where(corner[:, None], 1.0, smooth(states)) + 0.03 * generator.normal(size=(1200, 2))
    said = np.where(corner[:, None], -1.0, smooth(states)) + 0.1 * generator.normal(size=(1200, 2))
    pairs = Demonstrations.from_arrays(states, actions, np.repeat(np.arange(30), 40))
    both = np.stack([said, said])
    found = form_opinion(pairs, both, False, everybody(pairs), deal(pairs.episodes, (0, 1)), (0, 1))
    assert (found.good > 0.5).mean() > 0.98
    # Where each of them does something else, they are.
    actions[corner] = generator.uniform(-2, 2, (240, 2))
    lonely = Demonstrations.from_arrays(states, actions, pairs.episodes)
    found = form_opinion(lonely, both, False, everybody(pairs), deal(pairs.episodes, (0, 1)), (0, 1))
    assert (found.good[corner] < 0.1).mean() > 0.95


def test_a_rival_tells_apart_what_is_equally_far_from_the_trusted() -> None:
    """Where little was seen, good and bad are equally far from the trusted policy; the rival knows whose they are."""
    generator = np.random.default_rng(0)
    bad, rare = np.arange(900) % 9 < 3, np.arange(900) % 5 == 0
    near, between, far = (generator.normal(place, width, 900) for place, width in ((-2, 0.25), (-1.1, 0.15), (0, 0.2)))
    log_found = np.where(bad | rare, between, near)
    log_rival = np.where(bad, near, far)
    believed = np.where(log_found < -1.5, 1.0, 0.5)
    law = stats.norm.pdf(log_found, 0, 0.3)
    good, ratio = beside_a_rival(log_found, log_rival, np.zeros(900), law, believed, 4)
    assert (good[bad] < 0.5).mean() > 0.98
    assert (good[~bad] > 0.5).mean() > 0.98
    # The ratio and the share of good pairs make up the probability.
    free = (good > 1e-9) & (good < 1 - 1e-9)
    share = good.mean()
    assert free.sum() > 100
    assert 1 / (1 + (1 - share) / share * np.exp(ratio[free])) == pytest.approx(good[free], abs=0.01)


def test_densities_of_actions_are_compared_not_those_of_distances() -> None:
    """Twice as near to the rival is 2^D times as likely to be the rival's, all else being equal."""
    generator = np.random.default_rng(1)
    log_found, log_rival = generator.normal(-1, 0.4, (2, 500))
    bad = np.full(500, 1e-9)
    ratios = [
        beside_a_rival(log_found, log_rival, np.zeros(500), bad, np.full(500, 0.5), dimensions)[1]
        for dimensions in (1, 6)
    ]
    slopes = [np.polyfit((log_found - log_rival)[np.abs(r) < 20], r[np.abs(r) < 20], 1)[0] for r in ratios]
    assert slopes[1] > slopes[0] + 3


def test_farther_is_never_better_beside_a_rival() -> None:
    """Beyond all that was shuffled both laws are next to nothing, and a wide one of the good is no excuse."""
    generator = np.random.default_rng(2)
    log_found = np.r_[generator.normal(-1, 0.8, 300), generator.normal(0.2, 0.2, 100), 1.6, 2.0]
    log_rival = np.r_[generator.normal(0.2, 0.2, 300), generator.normal(-1, 0.5, 100), 1.8, 2.2]
    law = stats.norm.pdf(log_found, 0.2, 0.2) + 1e-9
    good, ratio = beside_a_rival(log_found, log_rival, np.zeros(402), law, np.full(402, 0.7), 1)
    assert (ratio[-2:] > -1e-6).all()
    assert (good[-2:] < good[:300].mean()).all()


def test_rare_states_are_forgiven_beside_a_rival() -> None:
    """Of two pairs equally far from both, the one in a rarer state is the better one."""
    generator = np.random.default_rng(3)
    rare = np.arange(600) % 2 == 0
    bad = np.arange(600) % 6 < 2
    excess = np.where(rare, 0.8, 0.0)
    log_found = np.where(bad, 0.0, -2.0 + excess) + generator.normal(0, 0.2, 600)
    log_found[:2], log_rival = -1.0, np.where(bad, -2.0, 0.0) + generator.normal(0, 0.2, 600)
    log_rival[:2] = -0.6
    law = stats.norm.pdf(log_found - excess, 0.0, 0.3)
    good, _ = beside_a_rival(log_found, log_rival, excess, law, np.where(bad, 0.1, 0.9), 2)
    assert good[0] > 0.8
    assert good[1] < good[0] - 0.2


def test_rareness_that_all_share_changes_nothing() -> None:
    """It shifts the law of the good, not the room that actions have."""
    generator = np.random.default_rng(4)
    log_found, log_rival = generator.normal(-1, 0.6, (2, 400))
    law = stats.norm.pdf(log_found, 0.0, 0.5)
    believed = np.where(log_found < -1, 0.9, 0.4)
    plain, _ = beside_a_rival(log_found, log_rival, np.zeros(400), law, believed, 3)
    shifted, _ = beside_a_rival(log_found, log_rival, np.full(400, 0.7), law, believed, 3)
    assert shifted == pytest.approx(plain, abs=1e-4)
    assert 0.1 < plain.mean() < 0.9
