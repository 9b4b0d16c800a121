"""Disturbed teachers: what is executed, what is recorded, and who cannot be disturbed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode, episode_seeds, roll_out
from robust_bc_demos.disturbing import Disturbed
from robust_bc_demos.mixed_datasets import MixRequest, make_mix
from robust_bc_demos.teachers import Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import find_task

CHEETAH = find_task("halfcheetah")
SHORT = {"max_episode_steps": 60}


def disturbed(disturbance: float, slots: int = 3, episodes: int = 3) -> tuple[Teacher, Disturbed, list[Episode]]:
    worlds = make_batch(CHEETAH, slots, settings=SHORT)
    seen, done = boxes(worlds)
    teacher = find_teacher(CHEETAH, "expert", seen, done)
    shaken = Disturbed(teacher, done, disturbance)
    found = list(roll_out(worlds, shaken, episode_seeds(5, episodes)))
    worlds.close()
    return teacher, shaken, found


def test_the_hand_is_shaken_and_the_intention_is_recorded() -> None:
    teacher, shaken, episodes = disturbed(0.3)
    stream = np.random.default_rng(0)
    noise: list[Any] = []
    for episode in episodes:
        meant = teacher.label(episode.observations[:-1], stream)
        np.testing.assert_array_equal(shaken.meant(episode).actions, meant)
        np.testing.assert_array_equal(shaken.meant(episode).observations, episode.observations)
        inside = np.abs(episode.actions) < 1  # not clipped to the action space
        noise.append((episode.actions - meant)[inside & (np.abs(meant) < 0.2)])
        assert np.abs(episode.actions).max() <= 1
    values = np.concatenate(noise)
    assert len(values) > 50
    assert np.std(values) == pytest.approx(0.3, rel=0.25)
    assert abs(np.mean(values)) < 0.15


def test_a_disturbed_episode_depends_on_its_own_seed_alone() -> None:
    _, _, together = disturbed(0.3)
    _, _, alone = disturbed(0.3, slots=1)
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


def test_who_cannot_be_disturbed_is_told() -> None:
    driving = find_task("lane-driving")
    for request, sentence in (
        (MixRequest(CHEETAH, "flip", 0.1, disturbance=-0.1), "disturbance must be between 0 and 1, but it is -0.1"),
        (MixRequest(CHEETAH, "flip", 0.1, disturbance=float("nan")), "disturbance must be between 0 and 1"),
        (
            MixRequest(driving, "flip", 0.1, disturbance=0.1),
            "'safe' drives with a plan in mind and cannot be disturbed",
        ),
        (MixRequest(CHEETAH, "flip", 0.1, clean="our/x-v0", disturbance=0.1), "--disturbance has no part in this mix"),
    ):
        with pytest.raises(RobustBCError, match=sentence):
            make_mix(request)
