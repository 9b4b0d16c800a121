"""Teachers by name, by path and at random."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import stable_baselines3 as sb3

from robust_bc import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_demos.collecting import collect
from robust_bc_demos.teachers import find_teacher, random_actions, teacher_names
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import find_task

DRIVING = find_task("lane-driving")


def test_a_pickle_is_read_only_when_trusted(datasets: Path, tmp_path: Path) -> None:
    model = sb3.A2C("MlpPolicy", gym.make("Pendulum-v1"), n_steps=5, seed=0)
    model.save(tmp_path / "model.zip")
    with pytest.raises(RobustBCError, match="say --trust-pickle if you trust it"):
        collect("Pendulum-v1", str(tmp_path / "model.zip"), "our/p-v0", episodes=1)
    collect("Pendulum-v1", str(tmp_path / "model.zip"), "our/p-v0", episodes=1, trust_pickle=True)
    pairs = Demonstrations.from_minari("our/p-v0")
    actions, _ = model.predict(pairs.observations.astype(np.float32), deterministic=True)
    np.testing.assert_allclose(pairs.actions, actions, rtol=1e-4, atol=1e-5)
    (tmp_path / "broken.zip").write_bytes(b"PK")
    with pytest.raises(RobustBCError, match="cannot be read as a model of Stable-Baselines3"):
        collect("Pendulum-v1", str(tmp_path / "broken.zip"), "our/q-v0", episodes=1, trust_pickle=True)


def test_random_actions_stay_in_the_space() -> None:
    largest = np.finfo(np.float64).max
    low, high = np.array([0.0, -np.inf, -largest]), np.array([np.inf, 2.0, largest])
    space = gym.spaces.Box(low, high, dtype=np.float64)
    actions = random_actions(space, 1000, np.random.default_rng(0))
    assert all(space.contains(action) for action in actions)
    assert np.abs(actions).max() < 10


def test_random_actions_fill_the_space_or_are_normal() -> None:
    space = gym.spaces.Box(np.array([-1.0, -np.inf, 2.0]), np.array([1.0, np.inf, 4.0]), dtype=np.float64)
    actions = random_actions(space, 4000, np.random.default_rng(0))
    assert np.abs(actions.mean(0) - [0, 0, 3]).max() < 0.06
    assert np.abs(actions.std(0) - [3**-0.5, 1, 3**-0.5]).max() < 0.04


def test_shipped_teachers_are_known_by_name() -> None:
    for name in ("halfcheetah", "walker2d", "lane-driving"):
        task = find_task(name)
        assert teacher_names(task)[:2] == ["expert", "adversary"]
        seen, done = boxes(make_batch(task, 1))
        assert find_teacher(task, "expert", seen, done).name == f"{name}-expert"
