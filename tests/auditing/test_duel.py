"""The duel of two functions: its predictions literally, and what it lets stand of mixes with known bad pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc.auditing import duel
from robust_bc.auditing.duel import left_out, uncontradicted

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def good_policy(states: Floats) -> Floats:
    return np.stack([np.sin(2 * states[:, 0]) + states[:, 1], np.cos(2 * states[:, 1])], 1)


def other_policy(states: Floats) -> Floats:
    return np.stack([np.cos(2 * states[:, 0]), states[:, 0] - np.sin(states[:, 1])], 1) * 1.5


def mix(rate: float, how: str, seed: int, count: int = 300) -> tuple[Floats, Floats, Flags]:
    """Scaled states and actions, and which are bad."""
    generator = np.random.default_rng(seed)
    states = generator.normal(size=(count, 2))
    bad = generator.random(count) < rate
    instead = {
        "other": other_policy(states),
        "flip": -good_policy(states),
        "uniform": generator.uniform(-2, 2, (count, 2)),
    }[how]
    actions = np.where(bad[:, None], instead, good_policy(states)) + 0.03 * generator.normal(size=(count, 2))
    return states, (actions - actions.mean(0)) / actions.std(0), bad


def test_a_pair_left_out_is_what_a_fit_without_it_says() -> None:
    generator = np.random.default_rng(0)
    points, targets = generator.normal(size=(12, 2)), generator.normal(size=(12, 3))
    kernel = np.exp(-((points[:, None] - points) ** 2).sum(2) / 2)
    noise = generator.uniform(0.1, 2, 12)
    means, variances = left_out(kernel.astype(np.float32), noise, targets)
    for one in range(12):
        rest = np.arange(12) != one
        inverse = np.linalg.inv(kernel[np.ix_(rest, rest)] + np.diag(noise[rest]))
        across = kernel[one, rest]
        assert means[one] == pytest.approx(across @ inverse @ targets[rest], abs=1e-4)
        assert variances[one] == pytest.approx(1 - across @ inverse @ across, abs=1e-4)


@pytest.mark.parametrize("how", ["other", "flip", "uniform"])
@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_what_stands_is_good(how: str, rate: float) -> None:
    for seed in range(2):
        states, actions, bad = mix(rate, how, seed)
        stands = uncontradicted(states, actions, seed)
        assert bad[stands].mean() < 0.03
        assert stands[~bad].mean() > 0.85


def test_clean_pairs_stand() -> None:
    for seed in range(2):
        states, actions, _ = mix(0.0, "flip", seed)
        assert uncontradicted(states, actions, seed).mean() > 0.9


def test_all_are_asked_where_some_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel, "MOST", 200)
    monkeypatch.setattr(duel, "QUERIES", 300)
    states, actions, bad = mix(0.4, "other", 5, count=1000)
    stands = uncontradicted(states, actions, 0)
    assert bad[stands].mean() < 0.05
    assert stands[~bad].mean() > 0.8
    assert np.array_equal(stands, uncontradicted(states, actions, 0))


def test_the_same_seed_is_the_same_duel() -> None:
    states, actions, _ = mix(0.4, "other", 6, count=150)
    assert np.array_equal(uncontradicted(states, actions, 3), uncontradicted(states, actions, 3))


def test_where_there_is_nothing_to_tell_all_stand() -> None:
    states, actions, _ = mix(0.4, "other", 0, count=60)
    assert uncontradicted(states[: duel.FEWEST - 1], actions[: duel.FEWEST - 1], 0).all()
    assert uncontradicted(states, np.zeros_like(actions), 0).all()
    assert uncontradicted(np.zeros_like(states), actions, 0).all()
    locked = np.column_stack([actions, np.zeros(60)])  # a joint that never moves says nothing
    assert np.array_equal(uncontradicted(states, locked, 0), uncontradicted(states, actions, 0))
