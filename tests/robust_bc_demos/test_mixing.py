"""Mixes: exact rates, what each way does to a pair, and labels that stay hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode
from robust_bc_demos.mixing import HOWS, Corrupter, Mix, check_mix, corrupt_count, mix_episodes, mix_pairs

SPACE = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Stubborn:
    """A bad teacher that always does the same."""

    name = "stubborn"

    def begin(self, count: int, slots: Any, generators: Any) -> None: ...

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.full((len(observations), 2), 0.75)

    def label(self, observations: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
        return self.act(observations)


def episodes(kind: float, lengths: list[int]) -> list[Episode]:
    """Good pairs have first observation 0, bad ones 1; the second counts, so that every pair is known again."""
    made, counter = [], 0
    for length in lengths:
        observations = np.stack([np.full(length + 1, kind), counter + np.arange(length + 1.0)], axis=1)
        actions = np.stack([np.full(length, 0.25), (counter + np.arange(length)) / 1e6 - 0.5], axis=1)
        made.append(Episode(counter, observations, actions.astype(np.float32), np.arange(0.5, length), True))
        counter += length + 1
    return made


GOOD, BAD = episodes(0.0, [40, 25, 60, 31, 44]), episodes(1.0, [20, 70, 15, 90, 30])


def corrupter(how: str, seed: int = 0) -> Corrupter:
    return Corrupter(how, SPACE, np.random.default_rng(seed), Stubborn())


def pairs(how: str, rate: float, count: int = 100, seed: int = 0) -> Mix:
    return mix_pairs(GOOD, BAD, how, rate, count, seed, corrupter(how))


@given(rate=st.floats(0, 1), count=st.integers(2, 120), how=st.sampled_from(HOWS))
@settings(max_examples=60, deadline=None)
def test_the_rate_is_exact_to_a_whole_pair(rate: float, count: int, how: str) -> None:
    mixed = pairs(how, rate, count)
    assert len(mixed.labels) == len(mixed.episodes) == count
    assert abs(mixed.labels.sum() - rate * count) <= 0.5 + 1e-9


@given(rate=st.floats(0, 0.7), how=st.sampled_from(HOWS))
@settings(max_examples=60, deadline=None)
def test_whole_episodes_have_the_exact_rate_too(rate: float, how: str) -> None:
    bad = BAD * 4
    mixed = mix_episodes(GOOD, bad, how, rate, 0, corrupter(how))
    assert abs(mixed.labels.sum() - rate * len(mixed.labels)) <= 0.5 + 1e-9
    partly = [labels for labels in mixed.corrupt if labels.any() and not labels.all()]
    assert len(partly) <= (how != "rollout")  # a bad episode is bad throughout, but for at most one


def test_a_pair_keeps_its_own_next_observation() -> None:
    for how in HOWS:
        for single in pairs(how, 0.4).episodes:
            first, second = single.observations
            assert second[1] == first[1] + 1
            assert second[0] == first[0]
            assert len(single) == 1
            assert single.seed is None  # no reset leads there


def test_only_the_last_pair_of_an_episode_is_its_end() -> None:
    last = {episode.observations[-1, 1] for episode in GOOD}
    singles = mix_pairs(GOOD, BAD, "flip", 0.0, 200, 0, corrupter("flip")).episodes
    assert [single.terminated for single in singles] == [single.observations[1, 1] in last for single in singles]
    assert sum(single.terminated for single in singles) == len(GOOD)


def test_what_each_way_does() -> None:
    for how in HOWS:
        mixed = pairs(how, 0.3)
        states = np.array([single.observations[0, 0] for single in mixed.episodes])
        actions = np.concatenate([single.actions for single in mixed.episodes])
        assert np.array_equal(states == 1, mixed.labels if how == "rollout" else np.zeros(100))
        assert (actions[~mixed.labels, 0] == 0.25).all()  # the clean ones are untouched
        bad = actions[mixed.labels]
        if how == "flip":
            assert (bad[:, 0] == -0.25).all()
            assert (bad[:, 1] > 0.4).all()
        elif how == "relabel":
            assert (bad == 0.75).all()
        elif how == "uniform":
            assert len(np.unique(bad)) == bad.size
            assert (np.abs(bad) <= 1).all()
            assert np.abs(bad.mean(0)).max() < 0.4
        assert actions.dtype == np.float32


def test_an_action_space_off_centre_is_mirrored_in_its_middle() -> None:
    space = spaces.Box(np.array([0.0, -np.inf], np.float32), np.array([1.0, np.inf], np.float32))
    flip = Corrupter("flip", space, np.random.default_rng(0))
    assert flip.actions(np.zeros((1, 2)), np.array([[0.2, 3.0]])) == pytest.approx(np.array([[0.8, -3.0]]))
    half = Corrupter("flip", spaces.Box(0.0, np.inf, (1,), np.float64), np.random.default_rng(0))
    assert half.actions(np.zeros((1, 1)), np.array([[3.0]])) == 0.0  # never outside of the space


def keys(mixed: Mix, corrupt: bool) -> set[tuple[float, float]]:
    return {
        (float(single.observations[0, 0]), float(single.observations[0, 1]))
        for single, label in zip(mixed.episodes, mixed.labels, strict=True)
        if label == corrupt
    }


@pytest.mark.parametrize("how", HOWS)
def test_rates_are_nested_and_no_pair_comes_twice(how: str) -> None:
    low, high = pairs(how, 0.1), pairs(how, 0.4)
    assert keys(low, True) < keys(high, True)
    assert keys(high, False) < keys(low, False)
    assert len(keys(low, False)) == 90
    assert keys(pairs(how, 0.1), False) == keys(low, False)
    assert keys(pairs(how, 0.1, seed=1), False) != keys(low, False)


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_every_way_keeps_the_same_pairs_clean(rate: float) -> None:
    drawn = [keys(pairs(how, rate), False) for how in HOWS]
    assert all(one == drawn[0] for one in drawn)


def test_a_higher_rate_keeps_the_random_actions_of_a_lower_one() -> None:
    free = spaces.Box(np.array([-1.0, -np.inf], np.float32), np.array([1.0, np.inf], np.float32))
    drawn = []
    for rate in (0.2, 0.5):
        mixed = mix_pairs(GOOD, BAD, "uniform", rate, 100, 0, Corrupter("uniform", free, np.random.default_rng(3)))
        drawn.append(
            {
                tuple(single.observations[0]): single.actions.tobytes()
                for single, label in zip(mixed.episodes, mixed.labels, strict=True)
                if label
            }
        )
    assert drawn[0].items() < drawn[1].items()


def test_the_order_tells_nothing() -> None:
    labels = pairs("rollout", 0.5, 200).labels
    changes = np.count_nonzero(np.diff(labels.astype(int)))
    assert 70 < changes < 130  # 100 expected in random order, 1 if bad ones came last


def test_a_cut_episode_is_cut_off_and_not_ended() -> None:
    mixed = mix_episodes(GOOD, BAD, "rollout", 0.3, 0, corrupter("rollout"))
    bad = [episode for episode in mixed.episodes if episode.observations[0, 0] == 1]
    whole = {len(episode) for episode in BAD}
    assert sum(len(episode) not in whole for episode in bad) == 1
    for episode in bad:
        assert episode.terminated == (len(episode) in whole)
        assert len(episode.observations) == len(episode.actions) + 1


def test_the_given_episodes_are_not_changed() -> None:
    before = [episode.actions.copy() for episode in GOOD]
    mix_episodes(GOOD, BAD, "flip", 0.5, 0, corrupter("flip"))
    pairs("flip", 0.5)
    assert all(np.array_equal(episode.actions, actions) for episode, actions in zip(GOOD, before, strict=True))


def test_rate_one_is_all_bad() -> None:
    assert mix_episodes(GOOD, BAD, "rollout", 1.0, 0, corrupter("rollout")).labels.all()
    assert mix_episodes(GOOD, BAD, "uniform", 1.0, 0, corrupter("uniform")).labels.all()


def test_halves_round_upward() -> None:
    assert [corrupt_count(0.5, n) for n in (1, 2, 3)] == [1, 1, 2]
    assert corrupt_count(0.3, 500) == 150
    assert [corrupt_count(rate, 100) for rate in (0.145, 0.285, 0.565, 0.575)] == [15, 29, 57, 58]


def test_what_cannot_be_mixed_gets_one_sentence() -> None:
    with pytest.raises(RobustBCError, match="the ways are rollout, relabel, flip, uniform"):
        check_mix("shuffle", 0.1, 500)
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(RobustBCError, match="rate must be between 0 and 1"):
            check_mix("flip", rate, 500)
    with pytest.raises(RobustBCError, match="pairs must be at least 2"):
        check_mix("flip", 0.1, 1)
    with pytest.raises(RobustBCError, match=r"201 clean pairs are asked for, but there are 200"):
        pairs("flip", 0.0, 201)
    with pytest.raises(RobustBCError, match="corrupt pairs are missing"):
        mix_episodes(GOOD, BAD[:1], "rollout", 0.5, 0, corrupter("rollout"))
    with pytest.raises(RobustBCError, match="leaves none of 5 episodes clean"):
        mix_episodes(GOOD, BAD, "rollout", 0.95, 0, corrupter("rollout"))
    with pytest.raises(RobustBCError, match="name one with --bad"):
        replace(corrupter("relabel"), bad_teacher=None).actions(np.zeros((1, 2)), np.zeros((1, 2)))
