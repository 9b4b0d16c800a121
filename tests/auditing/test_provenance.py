"""Which pairs lead to which: the chain by its formula, and groups of circles whose futures are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import Demonstrations
from robust_bc.auditing import conflict, provenance
from robust_bc.auditing.conflict import Court
from robust_bc.auditing.provenance import (
    HORIZON,
    NEIGHBOURS,
    SAME_FUTURE,
    groups,
    groups_by_cuts,
    put_together,
    similarity,
    strange,
    transitions,
)
from tests.auditing.toys import QUICK, cycle, together


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
    assert similarity(before, after) == pytest.approx(direction @ direction.T, abs=1e-8)


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
    apart = put_together(np.eye(4), np.array([7, 7, 9, 9]))
    assert apart[0] == apart[1] != apart[2] == apart[3]
    assert put_together(np.eye(3), np.zeros(3, np.int64)).tolist() == [0, 0, 0]


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
    assert not groups(Demonstrations.from_arrays(both.observations, both.actions)).any()
    assert not groups(both.select(np.arange(NEIGHBOURS + 1))).any()


def test_strange_is_who_does_not_do_what_most_do() -> None:
    generator = np.random.default_rng(0)
    predicted = generator.normal(size=(300, 2))
    group = np.repeat([0, 1, 2], [200, 60, 40])
    alike = predicted + 0.3 * generator.normal(size=(300, 2))
    assert not strange(alike, predicted, group, np.ones(2)).any()
    opposite = np.where((group == 1)[:, None], -2 * predicted, alike)
    assert np.array_equal(strange(opposite, predicted, group, np.ones(2)), group == 1)
    # Half of the actions of an honest group are bad: the other half shows that the group is of the same kind.
    half = np.where((group == 1)[:, None] & (np.arange(300) % 2 == 0)[:, None], -2 * predicted, alike)
    assert not strange(half, predicted, group, np.ones(2)).any()
    # Distance from random actions alone is not enough: it must be far for the actions, too.
    assert not strange(opposite, predicted, group, np.full(2, 100.0)).any()


@pytest.mark.parametrize("sizes", [(100, 90, 60), (100, 100)])
def test_without_a_majority_nobody_is_foreign(sizes: tuple[int, ...]) -> None:
    group = np.repeat(np.arange(len(sizes)), sizes)
    predicted = np.random.default_rng(0).normal(size=(len(group), 2))
    opposite = np.where((group > 0)[:, None], -predicted, predicted)
    assert not strange(opposite, predicted, group, np.ones(2)).any()


def test_foreign_are_other_states_with_other_actions() -> None:
    court = Court("mlp", QUICK, "cpu")
    most = cycle(120, 0.0)
    same, against, beside = (together(most, cycle(60, 3.0, turn)) for turn in (0.0, np.pi, 0.3))
    contradicting = together(most, cycle(60, 0.0, np.pi, seed=1))  # in the same states: that is `conflict`'s part
    found = court.foreign([same, against, beside, contradicting], [0, 1, 2, 3])
    assert not found[0].any()
    assert found[1].tolist() == [False] * 120 + [True] * 60
    assert not found[2].any()
    assert not found[3].any()


def test_single_pairs_with_a_few_links_between_are_told_by_a_finer_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two circles whose futures are a little alike: one group by the first cut, two by the second."""
    court = Court("mlp", QUICK, "cpu")
    both = together(cycle(120, 0.0), cycle(60, 3.0, np.pi))
    finest = np.repeat([0, 1], [60, 120])  # would have another majority, and is not asked

    def grouped(pairs: Demonstrations, seed: int, cuts: Sequence[float]) -> list[NDArray[np.int64]]:
        return [np.zeros(180, np.int64), np.repeat([0, 1], [120, 60]), finest][: len(cuts)]

    monkeypatch.setattr(conflict, "groups_by_cuts", grouped)
    assert court.foreign([both], [0])[0].tolist() == [False] * 120 + [True] * 60
    whole = replace(both, episodes=np.arange(180) // 10)
    assert not court.foreign([whole], [0])[0].any()  # the futures of episodes are surer: one cut is enough


def test_a_finer_cut_makes_more_groups() -> None:
    similar = np.array([[1, 0.9, 0.3], [0.9, 1, 0.3], [0.3, 0.3, 1]])
    assert [put_together(similar, np.arange(3), same).max() for same in (0.2, 0.35, 0.95)] == [0, 1, 2]


def test_cuts_are_those_that_are_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    both = together(cycle(120, 0.0), cycle(60, 3.0, np.pi))
    for landmarks in (1500, 90):  # all of them, and those whose neighbours speak for the others
        monkeypatch.setattr(provenance, "LANDMARKS", landmarks)
        at_once = groups_by_cuts(both, 0, SAME_FUTURE)
        assert len(at_once) == len(SAME_FUTURE)
        for same, found in zip(SAME_FUTURE, at_once, strict=True):
            assert np.array_equal(found, groups_by_cuts(both, 0, [same])[0])
        assert np.array_equal(at_once[0], groups(both))
        assert len(np.unique(at_once[0])) > 1
