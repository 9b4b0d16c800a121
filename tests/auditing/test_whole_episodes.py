"""What episodes tell about their pairs: the fixed point by its equation, and two kinds only where there are two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from robust_bc.auditing.pooling import Grouping
from robust_bc.auditing.whole_episodes import (
    FEWEST_EPISODES,
    OTHER_KIND,
    PRIOR_PAIRS,
    by_episode,
    ratio_of_kinds,
    two_kinds,
)


def made_up(seed: int = 0) -> tuple[Any, Any, Grouping]:
    """Log ratios (N,) of four episodes of 15 pairs, the last one bad, not all clear; and what they say one by one."""
    generator = np.random.default_rng(seed)
    episodes = generator.permutation(np.repeat([3, 5, 8, 9], 15))
    ratio = np.where(episodes == 9, 1.5, -1.5) + 2 * generator.normal(size=60)
    return ratio, 1 - expit(ratio + logit(0.3)), Grouping.of(episodes)


def test_by_episode_is_the_fixed_point() -> None:
    ratio, good, grouping = made_up()
    bad = 1 - by_episode(ratio, good, grouping)
    overall = 1 - good.mean()
    episodes = np.empty(60, np.int64)
    episodes[grouping.order] = np.repeat(grouping.names, grouping.lengths)
    for name in grouping.names:
        mine = episodes == name
        share = (bad[mine].sum() + PRIOR_PAIRS * overall) / (mine.sum() + PRIOR_PAIRS)
        assert bad[mine] == pytest.approx(expit(ratio[mine] + logit(share)), abs=1e-3)


def test_where_there_are_two_kinds_an_episode_is_of_its_own_kind() -> None:
    ratio, good, grouping = made_up()
    worse = np.array([False, False, True, True])  # the third one is said to be of the bad kind, and its pairs deny it
    bad = 1 - by_episode(ratio, good, grouping, worse)
    for place, of_kind in enumerate(worse):
        mine = grouping.pairs_of(place)
        expected = 1 - OTHER_KIND if of_kind else OTHER_KIND
        share = (bad[mine].sum() + len(mine) * expected) / (2 * len(mine))
        assert bad[mine] == pytest.approx(expit(ratio[mine] + logit(share)), abs=1e-3)
    alone = 1 - by_episode(ratio, good, grouping)
    assert bad[grouping.pairs_of(3)].mean() > alone[grouping.pairs_of(3)].mean()
    assert bad[grouping.pairs_of(0)].mean() < alone[grouping.pairs_of(0)].mean()
    # What pairs are sure of, no kind outweighs: a bad episode that begins well.
    sure = np.where(np.arange(60) % 2 == 0, -20.0, 20.0)
    assert by_episode(sure, good, grouping, worse) == pytest.approx((np.arange(60) + 1.0) % 2, abs=1e-3)


def test_a_bad_episode_is_bad_throughout() -> None:
    ratio, good, grouping = made_up()
    sharpened = by_episode(ratio, good, grouping)
    bad, others = grouping.pairs_of(3), np.concatenate([grouping.pairs_of(place) for place in range(3)])
    assert (sharpened[bad] <= good[bad]).all()
    assert sharpened[bad].mean() < 0.6 * good[bad].mean()
    assert sharpened[others].mean() > good[others].mean()
    # Single pairs have nobody to ask.
    assert by_episode(ratio, good, Grouping.of(np.arange(60))) is good
    # What is certain stays so, however long it is said.
    certain = by_episode(np.full(60, -30.0), np.ones(60), grouping)
    assert certain == pytest.approx(np.ones(60), abs=1e-9)


def episodes_of_kinds(
    count: int, bad: int, away: float, length: int = 30, seed: int = 0
) -> tuple[NDArray[np.float64], Grouping]:
    """Log distances (N,) of episodes that differ a little among each other, the last ones by so much more."""
    generator = np.random.default_rng(seed)
    level = -2 + 0.15 * generator.normal(size=count) + np.where(np.arange(count) >= count - bad, away, 0)
    return (level[:, None] + 0.5 * generator.normal(size=(count, length))).ravel(), Grouping.of(
        np.repeat(np.arange(count), length)
    )


def test_two_kinds_are_found_where_there_are_two() -> None:
    distances, grouping = episodes_of_kinds(30, 9, 2.0)
    worse = two_kinds(distances, grouping)
    assert worse is not None
    assert worse.tolist() == [False] * 21 + [True] * 9
    # The cut is where the spread within both parts is least: no other does better.
    means = np.sort(grouping.means(distances))
    within = [
        ((means[:k] - means[:k].mean()) ** 2).sum() + ((means[k:] - means[k:].mean()) ** 2).sum() for k in range(1, 30)
    ]
    assert int(np.argmin(within)) + 1 == 21


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [FEWEST_EPISODES, 100, 1000])
def test_one_kind_is_not_cut_in_two(count: int, seed: int) -> None:
    assert two_kinds(*episodes_of_kinds(count, 0, 0.0, seed=seed)) is None


@pytest.mark.parametrize("count", [FEWEST_EPISODES, 30, 100, 1000])
def test_one_uniform_kind_is_seldom_taken_for_two(count: int) -> None:
    """At most some of 100; with a limit of 3.6 for any number of episodes, it was a third of those with 20."""
    generator = np.random.default_rng(count)
    grouping = Grouping.of(np.repeat(np.arange(count), 2))
    taken = [two_kinds(np.repeat(generator.random(count), 2), grouping) is not None for _ in range(300)]
    assert np.mean(taken) < 0.03


def test_the_rarer_kind_is_the_bad_one_or_none() -> None:
    assert two_kinds(*episodes_of_kinds(30, 16, 2.0)) is None  # most would be bad
    assert two_kinds(*episodes_of_kinds(30, 14, 2.0)) is not None
    assert two_kinds(*episodes_of_kinds(FEWEST_EPISODES - 1, 6, 2.0)) is None
    distances, _ = episodes_of_kinds(30, 9, 2.0)
    assert two_kinds(distances, Grouping.of(np.arange(len(distances)))) is None  # single pairs are no episodes


def test_kinds_tell_how_far_their_pairs_are() -> None:
    distances, grouping = episodes_of_kinds(40, 12, 2.0, length=200)
    worse = two_kinds(distances, grouping)
    assert worse is not None
    ratio, good = ratio_of_kinds(distances, worse, grouping)
    # Both are Gaussian with the deviation sqrt(0.15² + 0.5²), around -2 and 0, so that the ratio is a straight line.
    between = np.abs(distances + 1) < 0.6
    assert ratio[between] == pytest.approx((2 * distances[between] + 2) / (0.15**2 + 0.5**2), abs=1.5)
    assert good == pytest.approx(1 / (1 + 0.3 / 0.7 * np.exp(ratio)), abs=1e-9)
    assert ((good < 0.5) == worse[grouping.places]).mean() > 0.95


def test_farther_than_both_kinds_is_no_better() -> None:
    distances, grouping = episodes_of_kinds(40, 12, 2.0, length=200)
    distances[:3] = 4.0, 8.0, -14.0  # pairs of a good episode, two of them far from whatever was seen, one exact
    worse = two_kinds(distances, grouping)
    assert worse is not None
    ratio, good = ratio_of_kinds(distances, worse, grouping)
    assert (good[:2] < 0.1).all()
    assert good[2] > 0.9
    assert by_episode(ratio, good, grouping)[:2] == pytest.approx(np.zeros(2), abs=0.5)


def test_rounding_makes_no_second_kind() -> None:
    values = np.repeat(-13.8, 200) + 1e-15 * np.random.default_rng(0).normal(size=200)
    for count in (20, 25, 40):
        grouping = Grouping.of(np.arange(200) % count)
        assert two_kinds(values, grouping) is None
