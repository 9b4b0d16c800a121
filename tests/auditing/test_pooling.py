"""Means and intervals against literal loops, closed forms, and how often an interval holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from robust_bc.auditing.pooling import MOST_DRAWN, Grouping, episode_means, pooled
from robust_bc.auditing.results import Estimate


def literal(quality: np.ndarray, spread: np.ndarray) -> tuple[float, float, float]:
    """Mean and interval of one episode, one block after the other."""
    length = len(quality)
    count = math.isqrt(length)
    mean = float(quality.mean())
    if count == 1:
        half = stats.norm.ppf(0.975) * spread.mean()
    else:
        blocks = [[quality[step] for step in range(length) if step * count // length == b] for b in range(count)]
        means = [np.mean(block) for block in blocks]
        half = stats.t.ppf(0.975, count - 1) * np.std(means, ddof=1) / math.sqrt(count)
    return mean, max(mean - half, 0), min(mean + half, 1)


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_episodes_pool_as_the_formula_says(lengths: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    episodes = generator.permutation(np.repeat(7 * np.arange(len(lengths)) - 3, lengths))  # mixed up, and not from 0
    quality, spread = generator.random((2, len(episodes)))
    grouping = Grouping.of(episodes)
    found = np.stack(episode_means(grouping, quality, spread), 1)
    expected = [literal(quality[episodes == name], spread[episodes == name]) for name in np.unique(episodes)]
    assert found == pytest.approx(np.array(expected), abs=1e-9)
    worst = [int(np.argmin(quality[episodes == name])) for name in np.unique(episodes)]
    assert grouping.lowest_steps(quality).tolist() == worst
    for place, name in enumerate(np.unique(episodes)):
        assert np.array_equal(grouping.pairs_of(place), np.flatnonzero(episodes == name))


def test_one_step_episodes_have_the_interval_of_the_networks() -> None:
    quality, spread = np.array([0.2, 0.5, 0.99]), np.array([0.05, 0.0, 0.1])
    means, low, high = episode_means(Grouping.of(np.arange(3)), quality, spread)
    z = stats.norm.ppf(0.975)
    assert means == pytest.approx(quality)
    assert low == pytest.approx([0.2 - z * 0.05, 0.5, 0.99 - z * 0.1])
    assert high == pytest.approx([0.2 + z * 0.05, 0.5, 1.0])


def test_intervals_hold_the_truth_although_steps_are_alike() -> None:
    # An autoregressive quality around 0.5, correlated over about ten steps; independent steps would hold far less.
    generator = np.random.default_rng(0)
    episodes, length, memory = 400, 900, 0.9
    walk = np.zeros((episodes, length))
    noise = 0.02 * generator.normal(size=(episodes, length))
    walk[:, 0] = noise[:, 0] / math.sqrt(1 - memory**2)
    for step in range(1, length):
        walk[:, step] = memory * walk[:, step - 1] + noise[:, step]
    quality = np.clip(0.5 + walk, 0, 1).ravel()
    index = np.repeat(np.arange(episodes), length)
    means, low, high = episode_means(Grouping.of(index), quality, np.zeros(len(quality)))
    assert 0.88 <= ((low <= 0.5) & (high >= 0.5)).mean() <= 0.98
    naive = 1.96 * quality.reshape(episodes, length).std(1, ddof=1) / math.sqrt(length)
    assert (np.abs(means - 0.5) <= naive).mean() < 0.6


def pooled_mean(values: NDArray[np.float64], episodes: NDArray[np.int64]) -> Estimate:
    """As sources are pooled: by the sums of their episodes, and a lonely one by its blocks."""
    grouping = Grouping.of(episodes)
    _, low, high = episode_means(grouping, values, np.zeros_like(values))
    return pooled(grouping.sums(values), grouping.lengths, (float(low[0]), float(high[0])))


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


def test_one_episode_has_the_interval_of_its_blocks() -> None:
    quality = np.random.default_rng(3).random(100)
    found = pooled_mean(quality, np.zeros(100, np.int64))
    assert (found.value, found.low, found.high) == pytest.approx(literal(quality, np.zeros(100)))
