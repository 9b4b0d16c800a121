"""Which pairs lead to which: the chain by its formula, and groups of circles whose futures are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import Demonstrations
from robust_bc.auditing import provenance
from robust_bc.auditing.provenance import (
    HORIZON,
    NEIGHBOURS,
    SAME_FUTURE,
    Futures,
    often_met,
    put_together,
    similarity,
    transitions,
)
from tests.auditing.toys import cycle, together


def groups(pairs: Demonstrations, seed: int = 0) -> NDArray[np.int64]:
    """By the cut of episodes, whatever the pairs are."""
    futures = Futures.of(pairs, seed)
    assert futures is not None
    return futures.groups(SAME_FUTURE)


def walk(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States (L, 2) and where they lead."""
    generator = np.random.default_rng(seed)
    before = generator.normal(size=(count, 2)).astype(np.float32)
    return before, (0.8 * before + 0.3 * generator.normal(size=(count, 2))).astype(np.float32)


@pytest.mark.parametrize("count", [3, NEIGHBOURS + 1, 40])
def test_every_pair_leads_to_its_nearest_others(count: int) -> None:
    before, after = walk(count)
    chain = transitions(before, after)
    assert chain.sum(1) == pytest.approx(np.ones(count))
    assert (np.diag(chain) == 0).all()
    for pair in range(count):
        others = np.array([other for other in range(count) if other != pair])
        squared = ((before[others] - after[pair]).astype(np.float64) ** 2).sum(1)
        nearest = np.argsort(squared)[:NEIGHBOURS]
        weight = np.exp(-squared[nearest] / (2 * squared[nearest].mean()))
        literal = np.zeros(count)
        literal[others[nearest]] = weight / weight.sum()
        assert chain[pair] == pytest.approx(literal, abs=1e-5)


def test_pairs_in_one_place_lead_to_each_other() -> None:
    here = np.zeros((8, 2), np.float32)
    chain = transitions(here, here)
    assert chain.sum(1) == pytest.approx(np.ones(8))
    assert (np.diag(chain) == 0).all()


def test_similar_are_those_whose_sums_over_the_future_are_parallel() -> None:
    before, after = walk(30)
    chain = transitions(before, after)
    met, power = np.zeros((30, 30)), chain.copy()
    for step in range(3000):  # (1 - 1/100)^3000 is 1e-13
        met += (1 - 1 / HORIZON) ** step * power
        power = power @ chain
    direction = met / np.linalg.norm(met, axis=1, keepdims=True)
    assert often_met(before, after) == pytest.approx(met, abs=1e-8)
    assert similarity(met) == pytest.approx(direction @ direction.T, abs=1e-8)


def test_one_cycle_is_one_group_and_two_are_two() -> None:
    assert not groups(cycle(80, 0.0)).any()  # all its phases
    found = groups(together(cycle(40, 3.0), cycle(80, 0.0)))
    assert found[:40].tolist() == [1] * 40  # numbered by size, not by place
    assert found[40:].tolist() == [0] * 80
    three = groups(together(cycle(30, 3.0), cycle(80, 0.0), cycle(50, -3.0)))
    assert np.bincount(three).tolist() == [80, 50, 30]
    assert (three[:30] == 2).all()


def test_an_episode_is_never_split() -> None:
    both = together(cycle(60, 0.0), cycle(60, 3.0))
    index = np.random.default_rng(0).integers(12, size=120)
    index[:30], index[60:80] = 20, 21  # two episodes that stay in one of the cycles, others go across
    mixed = Demonstrations.from_arrays(both.observations, both.actions, index, successors=both.successors)
    found = groups(mixed)
    assert all(len(set(found[index == episode])) == 1 for episode in np.unique(index))
    apart = put_together(np.eye(4), np.array([7, 7, 9, 9]), 0.2)
    assert apart[0] == apart[1] != apart[2] == apart[3]
    assert put_together(np.eye(3), np.zeros(3, np.int64), 0.2).tolist() == [0, 0, 0]


@pytest.mark.parametrize("episodes", [False, True])
def test_landmarks_stand_for_all_pairs(monkeypatch: pytest.MonkeyPatch, episodes: bool) -> None:
    both = together(cycle(250, 0.0), cycle(150, 3.0))
    index = np.arange(400) // 25 if episodes else np.arange(400)
    both = Demonstrations.from_arrays(both.observations, both.actions, index, successors=both.successors)
    whole = groups(both)
    monkeypatch.setattr(provenance, "LANDMARKS", 120)
    monkeypatch.setattr(provenance, "QUERIES", 30)
    assert np.array_equal(groups(both), whole)
    assert np.array_equal(groups(both, seed=1), whole)
    monkeypatch.setattr(provenance, "LANDMARKS", 12)  # not one for each of 16 episodes: the others ask nearby
    few = groups(both)
    assert all(len(set(few[index == episode])) == 1 for episode in np.unique(index))


def test_nothing_is_said_without_successors_or_with_a_handful() -> None:
    both = together(cycle(40, 0.0), cycle(20, 3.0))
    assert Futures.of(Demonstrations.from_arrays(both.observations, both.actions)) is None
    assert Futures.of(both.select(np.arange(NEIGHBOURS + 1))) is None


def test_a_finer_cut_makes_more_groups() -> None:
    similar = np.array([[1, 0.9, 0.3], [0.9, 1, 0.3], [0.3, 0.3, 1]])
    assert [put_together(similar, np.arange(3), same).max() for same in (0.2, 0.35, 0.95)] == [0, 1, 2]


def test_single_pairs_are_cut_finer_than_episodes() -> None:
    place = np.random.default_rng(0).uniform(0, 1, 200)
    both = Demonstrations.from_arrays(place[:, None], place[:, None], successors=np.minimum(place + 0.005, 1)[:, None])
    whole = replace(both, episodes=np.argsort(np.argsort(place)) // 20)
    for pairs, same in ((both, provenance.SAME_FUTURE_OF_PAIRS), (whole, SAME_FUTURE)):
        futures = Futures.of(pairs)
        assert futures is not None
        assert np.array_equal(futures.groups(), futures.groups(same))
        assert futures.groups(SAME_FUTURE).max() < futures.groups(provenance.SAME_FUTURE_OF_PAIRS).max()


def test_a_camp_leads_to_its_own_and_to_what_follows_it() -> None:
    """A line that is walked from left to right: its left half leads to the right one, and never back."""
    place = np.random.default_rng(0).uniform(0, 1, 200)
    line = Demonstrations.from_arrays(place[:, None], place[:, None], successors=np.minimum(place + 0.02, 1)[:, None])
    futures = Futures.of(line)
    assert futures is not None
    right = (place > 0.5).astype(np.int64)
    ahead = futures.led_to(right, place <= 0.5)
    back = futures.led_to(right, place > 0.5)
    assert ahead[1] > 0.6 > 0.05 > back[0]
    shares = np.array([(right == 0).mean(), (right == 1).mean()])
    assert (ahead * shares).sum() == pytest.approx(1)  # all of the future is somewhere
