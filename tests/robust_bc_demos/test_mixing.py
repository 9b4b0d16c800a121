"""Mixes: exact rates, what each kind of corruption does to a pair, and whole episodes only."""

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
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.mixing.corrupting import Corrupter, cut, duplicated, misaligned
from robust_bc_demos.mixing.pairs import (
    CHANGED,
    EXECUTED,
    MISRECORDED,
    Mix,
    check_mix,
    corrupt_count,
    mix_graded,
    mix_pairs,
)
from robust_bc_demos.mixing.whole_episodes import mix_episodes

KINDS = ("rollout", *CHANGED)
SPACE = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Stubborn:
    """A bad teacher that always does the same."""

    name = "stubborn"

    def begin(self, count: int, slots: Any, generators: Any) -> None: ...

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.full((len(observations), 2), 0.75)

    def label(self, observations: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
        return self.act(observations)


def episodes(first: float, lengths: list[int]) -> list[Episode]:
    """Good pairs have first observation 0, bad ones 1; the second counts, so that every pair is known again."""
    made, counter = [], 0
    for length in lengths:
        observations = np.stack([np.full(length + 1, first), counter + np.arange(length + 1.0)], axis=1)
        actions = np.stack([np.full(length, 0.25), (counter + np.arange(length)) / 1e6 - 0.5], axis=1)
        made.append(Episode(counter, observations, actions.astype(np.float32), np.arange(0.5, length), True))
        counter += length + 1
    return made


GOOD, BAD = episodes(0.0, [40, 25, 60, 31, 44]), episodes(1.0, [20, 70, 15, 90, 30])


def corrupter(kind: str, seed: int = 0) -> Corrupter:
    return Corrupter(kind, SPACE, np.random.default_rng(seed), Stubborn())


def pairs(kind: str, rate: float, count: int = 100, seed: int = 0) -> Mix:
    return mix_pairs(GOOD, BAD, rate, count, seed, corrupter(kind))


@given(rate=st.floats(0, 1), count=st.integers(2, 120), kind=st.sampled_from(KINDS))
@settings(max_examples=60, deadline=None)
def test_the_rate_is_exact_to_a_whole_pair(rate: float, count: int, kind: str) -> None:
    mixed = pairs(kind, rate, count)
    assert len(mixed.labels) == len(mixed.episodes) == count
    assert abs(mixed.labels.sum() - rate * count) <= 0.5 + 1e-9


LENGTHS = st.lists(st.integers(2, 60), min_size=2, max_size=8)


@given(LENGTHS, st.lists(st.integers(2, 60), min_size=80, max_size=80), st.floats(0.05, 0.7), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_whole_episodes_are_good_or_bad_throughout(good: list[int], bad: list[int], rate: float, seed: int) -> None:
    for kind in (*EXECUTED, *CHANGED, *MISRECORDED):
        mixed = mix_episodes(episodes(0.0, good), episodes(1.0, bad), rate, seed, corrupter(kind))
        flags = np.array([labels[0] for labels in mixed.corrupt])
        assert all((labels == labels[0]).all() for labels in mixed.corrupt)
        assert flags.any()
        assert not flags.all()
        lengths = np.array([len(labels) for labels in mixed.corrupt])
        assert [len(episode) for episode in mixed.episodes] == lengths.tolist()
        share = lengths[flags].sum() / lengths.sum()
        if kind in EXECUTED:  # one bad episode more or less would not bring it nearer, but by another size of the mix
            whole = {(length, 0.0) for length in good} | {(length, 1.0) for length in bad}
            assert all((len(e), float(e.observations[0, 0])) in whole for e in mixed.episodes)
            assert abs(lengths.sum() - sum(good)) < max(*good, *bad)
            assert abs(share - rate) <= max(*good, *bad) / min(lengths.sum(), sum(good))


@given(st.floats(0.01, 0.99), st.integers(2, 12), st.sampled_from([*EXECUTED, *CHANGED]))
@settings(max_examples=60, deadline=None)
def test_bad_episodes_as_long_as_good_ones_replace_them_one_by_one(rate: float, count: int, kind: str) -> None:
    mixed = mix_episodes(episodes(0.0, [20] * count), episodes(1.0, [20] * 30), rate, 0, corrupter(kind))
    bad = sum(bool(labels[0]) for labels in mixed.corrupt)
    assert len(mixed.episodes) == count
    assert bad == np.clip(corrupt_count(rate, count), 1, count - 1)


def test_the_share_of_many_short_bad_episodes_is_nearest_to_the_rate() -> None:
    mixed = mix_episodes(episodes(0.0, [1000] * 10), episodes(1.0, [100] * 99), 0.25, 0, corrupter("rollout"))
    counts = [sum(bool(labels[0]) == bad for labels in mixed.corrupt) for bad in (False, True)]
    shares = {n: abs(100 * n / (1000 * counts[0] + 100 * n) - 0.25) for n in range(1, 99)}
    assert counts[1] == min(shares, key=shares.__getitem__)


def test_a_duplicated_episode_counts_three_times() -> None:
    mixed = mix_episodes(episodes(0.0, [10] * 10), [], 0.45, 0, corrupter("duplicated"))
    assert mixed.labels.sum() == 60  # of 140: 43 %; with one episode it is 25 %, with three 56 %
    assert {episode.seed for episode in mixed.episodes} == {None}  # so that no seed tells


def test_misaligned_rows_have_the_next_observation() -> None:
    episode, off = GOOD[0], misaligned(GOOD[0])
    assert len(off) == len(episode) - 1
    np.testing.assert_array_equal(off.observations, episode.observations[1:])
    np.testing.assert_array_equal(off.actions, episode.actions[:-1])
    np.testing.assert_array_equal(off.rewards, episode.rewards[:-1])
    with pytest.raises(RobustBCError, match="an episode of one step"):
        misaligned(cut(episode, 1))


def test_duplicated_rows_come_in_threes() -> None:
    episode, thrice = GOOD[1], duplicated(GOOD[1])
    assert len(thrice) == 3 * len(episode)
    for copy in range(3):
        np.testing.assert_array_equal(thrice.observations[:-1][copy::3], episode.observations[:-1])
        np.testing.assert_array_equal(thrice.actions[copy::3], episode.actions)
        np.testing.assert_array_equal(thrice.rewards[copy::3], episode.rewards)
    np.testing.assert_array_equal(thrice.observations[-1], episode.observations[-1])


def test_a_cut_episode_is_cut_off_and_not_ended() -> None:
    short = cut(GOOD[0], 7)
    assert (len(short), len(short.observations), len(short.actions), short.terminated) == (7, 8, 7, False)
    assert cut(GOOD[0], 40) is GOOD[0]


def test_graded_labels_follow_their_episodes() -> None:
    noise = np.array([0.0, 0.2, 0.4, 0.0, 0.2])
    mixed = mix_graded(GOOD, noise, 3)
    assert mixed.noise is not None
    by_length = {len(episode): level for episode, level in zip(GOOD, noise, strict=True)}
    told = np.concatenate([np.full(len(episode), by_length[len(episode)]) for episode in mixed.episodes])
    np.testing.assert_array_equal(mixed.noise, told)
    np.testing.assert_array_equal(mixed.labels, told > 0)


def test_a_pair_keeps_its_own_next_observation() -> None:
    for kind in KINDS:
        for single in pairs(kind, 0.4).episodes:
            first, second = single.observations
            assert second[1] == first[1] + 1
            assert second[0] == first[0]
            assert len(single) == 1
            assert single.seed is None  # no reset leads there


def test_only_the_last_pair_of_an_episode_is_its_end() -> None:
    last = {episode.observations[-1, 1] for episode in GOOD}
    singles = mix_pairs(GOOD, BAD, 0.0, 200, 0, corrupter("flip")).episodes
    assert [single.terminated for single in singles] == [single.observations[1, 1] in last for single in singles]
    assert sum(single.terminated for single in singles) == len(GOOD)


def test_what_each_kind_does() -> None:
    for kind in KINDS:
        mixed = pairs(kind, 0.3)
        states = np.array([single.observations[0, 0] for single in mixed.episodes])
        actions = np.concatenate([single.actions for single in mixed.episodes])
        assert np.array_equal(states == 1, mixed.labels if kind == "rollout" else np.zeros(100))
        assert (actions[~mixed.labels, 0] == 0.25).all()  # the clean ones are untouched
        bad = actions[mixed.labels]
        if kind == "flip":
            assert (bad[:, 0] == -0.25).all()
            assert (bad[:, 1] > 0.4).all()
        elif kind == "relabel":
            assert (bad == 0.75).all()
        elif kind == "uniform":
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


@pytest.mark.parametrize("kind", KINDS)
def test_rates_are_nested_and_no_pair_comes_twice(kind: str) -> None:
    low, high = pairs(kind, 0.1), pairs(kind, 0.4)
    assert keys(low, True) < keys(high, True)
    assert keys(high, False) < keys(low, False)
    assert len(keys(low, False)) == 90
    assert keys(pairs(kind, 0.1), False) == keys(low, False)
    assert keys(pairs(kind, 0.1, seed=1), False) != keys(low, False)


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_every_kind_keeps_the_same_pairs_clean(rate: float) -> None:
    drawn = [keys(pairs(kind, rate), False) for kind in KINDS]
    assert all(one == drawn[0] for one in drawn)


def test_a_higher_rate_keeps_the_random_actions_of_a_lower_one() -> None:
    free = spaces.Box(np.array([-1.0, -np.inf], np.float32), np.array([1.0, np.inf], np.float32))
    drawn = []
    for rate in (0.2, 0.5):
        mixed = mix_pairs(GOOD, BAD, rate, 100, 0, Corrupter("uniform", free, np.random.default_rng(3)))
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


def test_the_given_episodes_are_not_changed() -> None:
    before = [episode.actions.copy() for episode in GOOD]
    mix_episodes(GOOD, BAD, 0.5, 0, corrupter("flip"))
    pairs("flip", 0.5)
    assert all(np.array_equal(episode.actions, actions) for episode, actions in zip(GOOD, before, strict=True))


def test_rate_one_is_all_bad() -> None:
    assert mix_episodes(GOOD, BAD, 1.0, 0, corrupter("rollout")).labels.all()
    assert mix_episodes(GOOD, BAD, 1.0, 0, corrupter("uniform")).labels.all()


def test_halves_round_upward() -> None:
    assert [corrupt_count(0.5, n) for n in (1, 2, 3)] == [1, 1, 2]
    assert corrupt_count(0.3, 500) == 150
    assert [corrupt_count(rate, 100) for rate in (0.145, 0.285, 0.565, 0.575)] == [15, 29, 57, 58]


def test_what_cannot_be_mixed_gets_one_sentence() -> None:
    with pytest.raises(RobustBCError, match="the kinds are rollout, medium, noisy, delayed, stuck, relabel, flip"):
        check_mix("shuffle", 0.1, 500)
    for kind in ("duplicated", "graded"):
        with pytest.raises(RobustBCError, match=rf"single pairs cannot show the kind '{kind}'; take whole episodes"):
            check_mix(kind, 0.1, 500)
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(RobustBCError, match="rate must be between 0 and 1"):
            check_mix("flip", rate, 500)
    with pytest.raises(RobustBCError, match="pairs must be at least 2"):
        check_mix("flip", 0.1, 1)
    with pytest.raises(RobustBCError, match=r"201 clean pairs are asked for, but there are 200"):
        pairs("flip", 0.0, 201)
    with pytest.raises(RobustBCError, match="about 80 corrupt pairs are missing"):
        mix_episodes(GOOD, BAD[:1], 0.5, 0, corrupter("rollout"))
    with pytest.raises(RobustBCError, match="1 episode cannot be both good and bad"):
        mix_episodes(GOOD[:1], BAD, 0.5, 0, corrupter("rollout"))
    with pytest.raises(RobustBCError, match="name one with --bad"):
        replace(corrupter("relabel"), bad_teacher=None).actions(np.zeros((1, 2)), np.zeros((1, 2)))
