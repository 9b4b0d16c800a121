"""Demonstrations of a benchmark: the pairs of `robust-bc mix`, the same clean ones whatever the way."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc_benchmarks.commands.control_source import TeacherSource
from robust_bc_demos.mixing.datasets import MixRequest, make_mix
from robust_bc_envs.tasks import find_task
from tests.robust_bc_benchmarks.control.small import SETTINGS

HOWS = ("rollout", "relabel", "flip", "uniform")


@pytest.mark.parametrize(
    ("task", "settings"), [("halfcheetah", SETTINGS), ("walker2d", SETTINGS), ("lane-driving", {})]
)
def test_the_oracle_sees_the_same_pairs_whatever_the_way(task: str, settings: dict[str, int]) -> None:
    source = TeacherSource(60, settings)
    for rate in (0.1, 0.4):
        mixes = [source.demonstrations(task, how, rate, 3) for how in HOWS]
        for mix in mixes:
            assert mix.corrupt is not None
            assert mix.corrupt.sum() == round(60 * rate)
            np.testing.assert_array_equal(mix.clean().observations, mixes[0].clean().observations)
            np.testing.assert_array_equal(mix.clean().actions, mixes[0].clean().actions)
        assert len({mix.actions.tobytes() for mix in mixes}) == len(HOWS)


def test_at_rate_zero_all_ways_coincide() -> None:
    source = TeacherSource(60, SETTINGS)
    mixes = [source.demonstrations("halfcheetah", how, 0.0, 0) for how in ("clean", *HOWS)]
    assert len({mix.observations.tobytes() + mix.actions.tobytes() for mix in mixes}) == 1


@pytest.mark.parametrize("how", HOWS)
def test_they_are_the_pairs_of_mix_although_episodes_are_kept(how: str) -> None:
    source = TeacherSource(60, SETTINGS)
    source.demonstrations("halfcheetah", "rollout", 0.2, 1)  # its episodes serve the next one
    mine = source.demonstrations("halfcheetah", how, 0.3, 1)
    made = make_mix(MixRequest(find_task("halfcheetah"), how, 0.3, 60, 1, settings=dict(SETTINGS)))
    np.testing.assert_array_equal(mine.actions, np.concatenate([e.actions for e in made.mix.episodes]))
    np.testing.assert_array_equal(mine.observations, np.concatenate([e.observations[:1] for e in made.mix.episodes]))
    assert mine.corrupt is not None
    np.testing.assert_array_equal(mine.corrupt, made.mix.labels)
    assert mine.action_space == made.action_space


def test_the_mark_tells_teachers_and_worlds_apart() -> None:
    marks = [TeacherSource(60, settings).mark("halfcheetah") for settings in ({}, SETTINGS)]
    marks.append(TeacherSource(60).mark("walker2d"))
    marks.append(TeacherSource(60).mark("lane-driving"))
    assert len({str(mark) for mark in marks}) == 4
    assert TeacherSource(60).mark("halfcheetah") == marks[0]
