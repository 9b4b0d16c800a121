"""The second look: it mends wrong verdicts, and leaves those that neither function knows better."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import Demonstrations
from robust_bc.auditing import second_look
from robust_bc.auditing.second_look import look_again
from tests.auditing.toys import smooth


def two_policies(seed: int = 0, count: int = 240) -> tuple[Demonstrations, NDArray[np.bool_]]:
    """Single pairs of a smooth policy and of an adversary that does the contrary, who has a third of them."""
    generator = np.random.default_rng(seed)
    states = generator.uniform(-1, 1, (count, 2))
    bad = np.arange(count) % 3 == 0
    shown = np.where(bad[:, None], -smooth(states), smooth(states)) + 0.02 * generator.normal(size=(count, 2))
    return Demonstrations.from_arrays(states, shown), bad


@pytest.mark.parametrize("strangers", [False, True])
def test_wrong_verdicts_are_mended(strangers: bool) -> None:
    pairs, bad = two_policies()
    quality = np.where(bad, 0.1, 0.9)
    forgiven, accused = np.flatnonzero(bad)[:6], np.flatnonzero(~bad)[:6]
    quality[forgiven], quality[accused] = 0.7, 0.3
    again = look_again(pairs, quality, strangers)
    assert (again[forgiven] < 0.5).all()
    assert (again[accused] > 0.5).all()
    assert np.array_equal(again > 0.5, ~bad)
    assert ((again >= 0) & (again <= 1)).all()


def test_what_neither_explains_is_good_only_if_the_networks_are_sure() -> None:
    pairs, bad = two_policies()
    actions = pairs.actions.copy()
    nobodys = np.flatnonzero(bad)[:4]
    actions[nobodys] = [[6.0, -6.0]] * 4  # far from both policies
    odd = Demonstrations.from_arrays(pairs.observations, actions)
    quality = np.where(bad, 0.1, 0.9)
    quality[nobodys] = [0.2, 0.6, 0.9, 0.97]
    again = look_again(odd, quality, False)
    assert again[nobodys] == pytest.approx([0, 0, 0, 1], abs=0.02)


def test_locked_joints_do_not_count() -> None:
    pairs, bad = two_policies()
    quality = np.where(bad, 0.1, 0.9)
    locked = Demonstrations.from_arrays(pairs.observations, np.c_[pairs.actions, np.full(len(bad), 0.3)])
    assert look_again(locked, quality, False) == pytest.approx(look_again(pairs, quality, False), abs=1e-3)
    still = Demonstrations.from_arrays(pairs.observations, np.zeros((len(bad), 2)))
    assert np.array_equal(look_again(still, quality, False), quality)


def test_no_second_look_without_suspects_a_majority_or_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs, bad = two_policies()
    for quality in (np.full(240, 0.999), np.where(bad, 0.9, 0.1)):
        assert np.array_equal(look_again(pairs, quality, False), quality)
    quality = np.where(bad, 0.3, 0.7)
    assert not np.array_equal(look_again(pairs, quality, False), quality)
    monkeypatch.setattr(second_look, "MOST", 239)
    assert np.array_equal(look_again(pairs, quality, False), quality)
