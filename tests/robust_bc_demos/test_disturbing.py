"""Disturbed teachers: what is executed and what is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode, episode_seeds, roll_out
from robust_bc_demos.mixing.datasets import MixRequest, make_mix
from robust_bc_demos.mixing.disturbing import ShakenHand
from robust_bc_demos.teachers import Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import find_task

CHEETAH = find_task("halfcheetah")
SHORT = {"max_episode_steps": 60}


def disturbed(disturbance: float, slots: int = 3, episodes: int = 3) -> tuple[Teacher, list[Episode], list[Any]]:
    """Episodes as recorded, and the actions that were executed in each of three slots."""
    worlds = make_batch(CHEETAH, slots, settings=SHORT)
    executed: list[Any] = []
    step = worlds.step
    worlds.step = lambda actions: executed.append(actions.copy()) or step(actions)  # type: ignore[method-assign,func-returns-value]
    teacher = find_teacher(CHEETAH, "expert", *boxes(worlds))
    found = list(roll_out(ShakenHand(worlds, disturbance), teacher, episode_seeds(5, episodes)))
    worlds.close()
    return teacher, found, executed


def test_the_hand_is_shaken_and_the_intention_is_recorded() -> None:
    teacher, episodes, executed = disturbed(0.3)
    noise: list[Any] = []
    for slot, episode in enumerate(episodes):
        meant = teacher.label(episode.observations[:-1], np.random.default_rng(0))
        np.testing.assert_array_equal(episode.actions, meant)
        done = np.stack([actions[slot] for actions in executed])
        inside = np.abs(done) < 1  # not clipped to the action space
        noise.append((done - meant)[inside & (np.abs(meant) < 0.2)])
        assert np.abs(done).max() <= 1
    values = np.concatenate(noise)
    assert len(values) > 50
    assert np.std(values) == pytest.approx(0.3, rel=0.25)
    assert abs(np.mean(values)) < 0.15


def test_a_disturbed_episode_depends_on_its_own_seed_alone() -> None:
    _, together, _ = disturbed(0.3)
    _, alone, _ = disturbed(0.3, slots=1)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.observations, other.observations)


def test_mixes_are_disturbed_as_the_card_says_or_as_asked() -> None:
    def states(disturbance: float | None) -> Any:
        request = MixRequest(CHEETAH, "flip", 0.0, 40, episodes=1, disturbance=disturbance, settings=SHORT)
        made = make_mix(request)
        episodes = made.mix.episodes
        teacher = find_teacher(CHEETAH, "expert", made.observation_space, made.action_space)
        observations = np.concatenate([episode.observations[:-1] for episode in episodes])
        actions = np.concatenate([episode.actions for episode in episodes])
        np.testing.assert_array_equal(actions, teacher.label(observations, np.random.default_rng(0)))
        return observations

    assert CHEETAH.disturbance > 0
    np.testing.assert_array_equal(states(None), states(CHEETAH.disturbance))
    assert not np.array_equal(states(None), states(0.0))


def test_what_cannot_be_disturbed_is_told() -> None:
    for request, sentence in (
        (MixRequest(CHEETAH, "flip", 0.1, disturbance=-0.1), "disturbance must be between 0 and 1, but it is -0.1"),
        (MixRequest(CHEETAH, "flip", 0.1, disturbance=float("nan")), "disturbance must be between 0 and 1"),
        (MixRequest(CHEETAH, "flip", 0.1, clean="our/x-v0", disturbance=0.1), "--disturbance has no part in this mix"),
    ):
        with pytest.raises(RobustBCError, match=sentence):
            make_mix(request)


def test_a_driver_with_a_memory_can_be_disturbed() -> None:
    """It means the same as long as it sees the same: in the first step."""
    task, settings = find_task("lane-driving"), {"length": 40.0, "cars": 1}
    calm, shaken = (
        make_mix(MixRequest(task, "flip", 0.0, None, 1, 2, disturbance=by, settings=settings)).mix.episodes
        for by in (0.0, 0.3)
    )
    for one, other in zip(calm, shaken, strict=True):
        np.testing.assert_array_equal(one.actions[0], other.actions[0])
        assert not np.array_equal(one.observations[5], other.observations[5])
