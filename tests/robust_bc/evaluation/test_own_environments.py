"""`evaluate` with an environment, or a function that makes one, in place of a name."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import robust_bc_envs  # noqa: F401 (registers lane driving)
from robust_bc import RobustBCError, evaluate

EPISODES = 3


def swing(observations: Any) -> Any:
    return np.clip(-2 * observations[:, 2:], -2, 2)


def straight(observations: Any) -> Any:
    return np.zeros((len(observations), 1))


class Doubled(gym.RewardWrapper[Any, Any]):
    def reward(self, reward: Any) -> float:
        return 2 * float(reward)


def test_an_environment_and_a_function_are_measured_as_their_id_is() -> None:
    named = evaluate(swing, "Pendulum-v1", EPISODES, seed=1)
    own = gym.make("Pendulum-v1")
    for task in (own, lambda: gym.make("Pendulum-v1")):
        found = evaluate(swing, task, EPISODES, seed=1)
        assert found.rows == named.rows
        assert (found.task, found.reference) == ("Pendulum-v1", None)
    own.reset()  # it was lent, and is still open


def test_wrappers_count() -> None:
    named = evaluate(swing, "Pendulum-v1", EPISODES)
    found = evaluate(swing, Doubled(gym.make("Pendulum-v1")), EPISODES)
    assert [row["return"] for row in found.rows] == pytest.approx([2 * float(row["return"] or 0) for row in named.rows])


def test_what_its_card_measures_is_measured_of_an_environment() -> None:
    found = evaluate(straight, gym.make("RobustBC/LaneDriving-v0"), EPISODES)
    assert found.rows == evaluate(straight, "lane-driving", EPISODES).rows
    assert "collision" in found.rows[0]


def test_an_environment_without_an_id() -> None:
    class Mine(gym.Env[Any, Any]):
        observation_space = gym.spaces.Box(-1, 1, (3,))
        action_space = gym.spaces.Box(-2, 2, (1,))

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return np.zeros(3, np.float32), {}

        def step(self, action: Any) -> Any:
            return np.zeros(3, np.float32), 1.0, True, False, {}

    for task in (Mine(), Mine):
        found = evaluate(swing, task, EPISODES)
        assert found.task == "Mine"
        assert [row["return"] for row in found.rows] == [1.0] * EPISODES


@pytest.mark.parametrize(
    ("task", "settings", "sentence"),
    [
        (7, None, "but it is a int"),
        (gym.make_vec("Pendulum-v1", 2), None, "a single environment"),
        (lambda: 7, None, r"task\(\) must make a Gymnasium environment, but it made a int"),
        (gym.make("Pendulum-v1"), {"g": 9.0}, "settings belong to the name of a task"),
    ],
)
def test_what_is_no_environment_is_said(task: Any, settings: Any, sentence: str) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        evaluate(swing, task, EPISODES, settings=settings)
