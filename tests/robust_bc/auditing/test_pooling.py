"""Sums and means against literal loops, and how often an interval by drawing episodes holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robust_bc.auditing.judging.pooling import MOST_DRAWN, Grouping, pooled
from robust_bc.auditing.results import Estimate


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_episodes_pool_as_a_loop_does(lengths: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    episodes = generator.permutation(np.repeat(7 * np.arange(len(lengths)) - 3, lengths))  # mixed up, and not from 0
    values = generator.random(len(episodes))
    grouping = Grouping.of(episodes)
    for place, name in enumerate(np.unique(episodes)):
        mine = np.flatnonzero(episodes == name)
        assert np.array_equal(grouping.pairs_of(place), mine)
        assert np.all(grouping.places[mine] == place)
        assert grouping.sums(values)[place] == pytest.approx(values[mine].sum())
        assert grouping.means(values)[place] == pytest.approx(values[mine].mean())
        assert grouping.lowest_steps(values)[place] == np.argmin(values[mine])


def pooled_mean(values: NDArray[np.float64], episodes: NDArray[np.int64]) -> Estimate:
    """As sources are pooled: by the sums of their episodes."""
    grouping = Grouping.of(episodes)
    return pooled(grouping.sums(values), grouping.lengths)


def test_drawing_episodes_knows_that_episodes_differ() -> None:
    generator = np.random.default_rng(1)
    hits = 0
    for _ in range(40):
        level = generator.uniform(0.2, 0.8, 40)  # the truth is 0.5; the steps within an episode tell nothing new
        hits += (found := pooled_mean(np.repeat(level, 50), np.repeat(np.arange(40), 50))).low <= 0.5 <= found.high
    assert hits >= 34


def test_the_mean_counts_pairs_not_episodes() -> None:
    found = pooled_mean(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0, 1, 1, 1]))
    assert found.value == 0.25
    assert (found.low, found.high) == (0.0, 1.0)  # either episode may be all that is drawn
    assert pooled_mean(np.full(10, 0.3), np.arange(10) // 2).low == pytest.approx(0.3)


def test_many_episodes_are_drawn_in_groups_with_the_same_interval() -> None:
    values = np.random.default_rng(2).random(20 * MOST_DRAWN)
    found = pooled(values, np.ones(len(values), np.int64))
    half = 1.96 * values.std() / math.sqrt(len(values))
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.1)
    assert pooled(values, np.ones(len(values), np.int64)) == found  # the same every time


def test_one_episode_cannot_be_drawn_from() -> None:
    assert pooled_mean(np.array([0.0, 0.5]), np.zeros(2, np.int64)) == Estimate(0.25, 0.25, 0.25)
