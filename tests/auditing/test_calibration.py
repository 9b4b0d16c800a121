"""Distances by their formula, and probabilities on distances drawn from just the model that is assumed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc.auditing.calibration import Calibration, calibrate, distances, slope

Floats = NDArray[np.float64]
CENTRE = 0.1
"""Median distance of good pairs."""


def drawn(rate: float, seed: int, pairs: int = 3000, width: float = 0.5) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Actions (N, A), what a policy says (N, A), and which (N,) of them are actions of another state."""
    generator = np.random.default_rng(seed)
    predicted = generator.normal(size=(pairs, 3))
    away = generator.normal(size=(pairs, 3))
    away /= np.sqrt((away**2).mean(1, keepdims=True))
    good = predicted + CENTRE * np.exp(width * generator.normal(size=(pairs, 1))) * away
    bad = np.zeros(pairs, np.bool_)
    bad[: round(rate * pairs)] = True
    return np.where(bad[:, None], generator.permutation(good), good), predicted, bad


def judged(actions: Floats, predicted: Floats, seed: int = 0) -> tuple[Floats, Calibration]:
    scale = np.ones(actions.shape[1])
    found = distances(actions, predicted, scale)
    return found, calibrate(found, actions, predicted, scale, seed)


def test_distances_are_the_formula() -> None:
    generator = np.random.default_rng(0)
    actions, predicted = generator.normal(size=(2, 7, 3))
    scale = np.array([0.5, 2.0, 1.0])
    literal = [
        np.sqrt(sum(((actions[i, d] - predicted[i, d]) / scale[d]) ** 2 for d in range(3)) / 3) for i in range(7)
    ]
    assert distances(actions, predicted, scale) == pytest.approx(literal)


def test_locked_joints_do_not_count() -> None:
    actions, predicted = np.random.default_rng(1).normal(size=(2, 5, 2))
    locked = np.full((5, 1), 3.0)
    with_locked = distances(np.c_[actions, locked], np.c_[predicted, locked + 9], np.array([1.0, 1.0, 0.0]))
    assert np.array_equal(with_locked, distances(actions, predicted, np.ones(2)))
    assert distances(locked, locked + 1, np.zeros(1)).tolist() == [0] * 5


def test_distances_do_not_lose_digits_of_single_precision() -> None:
    actions = np.full((1, 1), 1.0, np.float32)
    assert distances(actions, np.full((1, 1), 1 + 1e-12), np.ones(1))[0] == pytest.approx(1e-12, rel=1e-3)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.45])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_rate_is_found(rate: float, seed: int) -> None:
    actions, predicted, bad = drawn(rate, seed)
    _, found = judged(actions, predicted)
    assert found.rate == pytest.approx(rate, abs=0.03)
    assert found.rate == pytest.approx(1 - found.good.mean())
    assert found.explains
    assert ((found.good < 0.5) == bad).mean() > 0.96


@pytest.mark.parametrize("width", [0.5, 1.0])
def test_farther_is_never_better(width: float) -> None:
    actions, predicted, _ = drawn(0.3, 2, pairs=30_000, width=width)
    # Farther than nearly all that is shuffled, where the tail of the good is thicker than what is known of the bad.
    actions[:4] = predicted[:4] + np.array([[6.0], [10.0], [100.0], [3000.0]])
    distance, found = judged(actions, predicted)
    order = np.argsort(distance, kind="stable")
    assert (np.diff(found.good[order]) <= 0).all()
    assert (np.diff(found.log_ratio[order]) >= 0).all()
    assert (found.good[:4] < 0.5).all()
    assert found.good.min() >= 0
    assert (found.good[distance < CENTRE / 2] == 1).all()
    assert (found.log_ratio[distance < CENTRE / 2] == -30).all()


def test_a_useless_policy_explains_nothing() -> None:
    generator = np.random.default_rng(3)
    actions = generator.normal(size=(1000, 3))
    for predicted in (generator.normal(size=(1000, 3)), np.zeros((1000, 3))):
        assert not judged(actions, predicted)[1].explains
    assert judged(actions, actions + 0.2 * generator.normal(size=(1000, 3)))[1].explains


def test_pairs_that_are_met_exactly_are_good() -> None:
    actions = np.random.default_rng(4).normal(size=(200, 2))
    _, found = judged(actions, actions.copy())
    assert (found.good > 0.9999).all()
    assert judged(np.ones((50, 2)), np.ones((50, 2)))[1].rate < 1e-6  # nothing to tell apart at all


def test_same_seed_same_bits() -> None:
    actions, predicted, _ = drawn(0.3, 5)
    one, again, other = (judged(actions, predicted, seed)[1] for seed in (1, 1, 2))
    assert one.good.tobytes() == again.good.tobytes()
    assert one.log_ratio.tobytes() == again.log_ratio.tobytes()
    assert not np.array_equal(one.good, other.good)  # other actions were shuffled
    assert one.good == pytest.approx(other.good, abs=0.1)


def test_rare_states_are_forgiven_a_larger_distance() -> None:
    """Good pairs whose error grows with novelty are told from bad ones that are far off where all is common."""
    generator = np.random.default_rng(5)
    count = 2000
    rare = np.maximum(generator.normal(size=count), 0)
    bad = generator.random(count) < 0.2
    rare[bad] = 0
    scale = np.ones(2)
    actions = generator.normal(size=(count, 2))
    error = np.exp(-2 + 0.3 * generator.normal(size=count) + 0.8 * rare)
    direction = generator.normal(size=(count, 2))
    direction /= np.sqrt((direction**2).mean(1, keepdims=True))
    predicted = np.where(bad[:, None], actions[generator.permutation(count)], actions + error[:, None] * direction)
    found = distances(actions, predicted, scale)
    blind = calibrate(found, actions, predicted, scale, 0)
    aware = calibrate(found, actions, predicted, scale, 0, rare)
    novel = (rare > 2) & ~bad
    assert (aware.good[novel] > 0.5).mean() > (blind.good[novel] > 0.5).mean() + 0.1
    assert (aware.good[bad] < 0.5).mean() > 0.8
    assert slope(rare, np.log(found + 1e-6), (~bad).astype(float)) == pytest.approx(0.8, abs=0.05)
    assert slope(-rare, np.log(found + 1e-6), (~bad).astype(float)) == 0  # never the other way round
