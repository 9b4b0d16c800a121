"""Policies and worlds for tests of evaluation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from robust_bc import Demonstrations, Policy, fit
from robust_bc.evaluation.guarding import Guard
from robust_bc.evaluation.metrics import Metric, Reference
from robust_bc.evaluation.worlds import World, boxes, find_world


def quick_policy(task: str, method: str = "choicenet", seed: int = 0, **settings: Any) -> Policy:
    """A policy for a task, hardly trained: it does something, and something else for every seed."""
    worlds = find_world(task).make(1, {})
    seen, done = boxes(worlds)
    worlds.close()
    generator = np.random.default_rng(seed)
    observations = generator.normal(size=(200, seen.shape[0]))
    actions = np.tanh(observations @ generator.normal(size=(seen.shape[0], done.shape[0])))
    demonstrations = Demonstrations.from_arrays(observations, actions, action_space=done)
    return fit(demonstrations, method, steps=5, hidden=(16, 16), seed=seed, **settings)


class Line(gym.Env[Any, Any]):
    """A point on a line that an action moves; what happens in an episode depends on the number its seed draws.

    It observes the draw and where it is, is paid the action, and lasts 3 to 9 steps.
    """

    def __init__(self, breaks_at: float = 2.0, breaks_in: str = "step") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)
        self.breaks_at, self.breaks_in = breaks_at, breaks_in

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.draw, self.place, self.last = self.np_random.random(), 0.0, int(self.np_random.integers(3, 10))
        self.count = 0
        if self.breaks_in == "reset" and self.draw > self.breaks_at:
            raise ValueError("the line is broken\nsecond line")
        return self._seen(), {}

    def step(self, action: NDArray[Any]) -> Any:
        self.count += 1
        self.place += float(action[0])
        if self.breaks_in == "step" and self.draw > self.breaks_at and self.count == 2:
            raise ValueError("the line is broken\nsecond line")
        told = {"place": self.place, "far": self.place > 1, "failure": False}  # a word of its own
        return self._seen(), float(action[0]), self.count == self.last, False, told

    def _seen(self) -> NDArray[np.float64]:
        return np.array([self.draw, self.place])


LINE_METRICS = (Metric("place", "place", "last"), Metric("far", "far", "last", "rate"))


def line_world(slots: int = 8, **given: Any) -> World:
    def make(count: int, settings: Any) -> gym.vector.SyncVectorEnv:
        made = [lambda: Guard(Line(**given, **settings))] * count
        return gym.vector.SyncVectorEnv(made, autoreset_mode=AutoresetMode.DISABLED)

    return World("line", "Line-v0", LINE_METRICS, Reference(random=0.0, expert=4.0), make, slots)


def draws(seeds: list[int]) -> NDArray[np.float64]:
    """What the line draws in the episodes of these seeds."""
    return np.array([Line().reset(seed=seed)[0][0] for seed in seeds])


def half(observations: NDArray[Any]) -> NDArray[Any]:
    """A plain function as a policy: half a step forward, always."""
    return np.full((len(observations), 1), 0.5)
