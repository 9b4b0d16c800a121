"""Mixes: which pairs a benchmark's policies learn from, and which of them are good."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc_benchmarks.suites.mixes import Mixes


def test_a_graded_oracle_has_the_three_best_demonstrators() -> None:
    mix, noise = Mixes(None, episodes=10, steps=5).mix("pendulum", "graded", None, 0)
    assert noise is not None
    assert sorted(set(noise[mix.corrupt == 0].round(3))) == [0.0, 0.078, 0.156]
    assert mix.corrupt is not None
    assert mix.corrupt.mean() == 0.7


def test_usual_sizes_of_whole_episodes() -> None:
    usual, few = Mixes.of(None, None), Mixes.of(None, 3)
    assert [usual._size(task)["episodes"] for task in ("hopper", "reacher", "lane-driving")] == [10, 60, 20]
    assert few._size("reacher") == {"episodes": 3, "steps": 300, "pairs": None}
    assert usual.words(["hopper", "reacher"]) == (
        "whole episodes, 10 of each teacher (60 of reacher), at most 300 steps of each"
    )
    assert Mixes.of(500, None) == Mixes(500)


KINDS = ("rollout", "relabel", "flip", "uniform")


@pytest.mark.parametrize("task", ["halfcheetah", "walker2d", "lane-driving"])
def test_the_oracle_sees_the_same_pairs_whatever_the_kind(task: str) -> None:
    mixes = Mixes(60, episodes=2, steps=60)
    clean = [mixes.mix(task, kind, 0.0, 3)[0] for kind in ("clean", *KINDS)]
    assert len({mix.observations.tobytes() + mix.actions.tobytes() for mix in clean}) == 1
    for rate in (0.1, 0.4):
        made = [mixes.mix(task, kind, rate, 3)[0] for kind in KINDS]
        for mix in made:
            assert mix.corrupt is not None
            assert mix.corrupt.sum() == round(60 * rate)
            np.testing.assert_array_equal(mix.clean().actions, made[0].clean().actions)
        assert len({mix.actions.tobytes() for mix in made}) == len(KINDS)
