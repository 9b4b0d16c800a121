"""Mixes of the shipped teachers: single pairs or whole episodes, with their hidden labels."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.core.plan import CLEAN
from robust_bc_demos.drivers import ScriptedDriver
from robust_bc_demos.mixing.datasets import MixRequest, Rollouts, make_mix
from robust_bc_demos.network_teacher import NetworkTeacher
from robust_bc_demos.teachers import MEDIUM, Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import Task, find_task

EPISODES, STEPS = 10, 300
"""Of each teacher, where policies learn from whole episodes: about 3,000 pairs."""
MORE_EPISODES = {"reacher": 60, "pendulum": 15, "lunar-lander": 15, "lane-driving": 20}
"""Of tasks whose episodes are shorter, for as many pairs."""
BEST = 3
"""Demonstrators of a graded mix who count as good: those of the lowest noise, which is at most 0.16 of half the action
space where there are ten of them."""


@dataclass
class Mixes:
    """The teachers' episodes are made once for a task and seed."""

    pairs: int | None = 500
    """None keeps whole episodes."""
    episodes: int | None = None
    """Of each teacher; without, as many as the task's card says."""
    more_episodes: dict[str, int] = field(default_factory=dict)
    """Of some tasks, where episodes are short."""
    steps: int | None = None
    """At most so many of each episode."""
    _marks: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    _rollouts: Rollouts = field(default_factory=dict, repr=False)
    _task: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, pairs: int | None, episodes: int | None) -> Mixes:
        """Single pairs, or whole episodes of a usual size; `episodes` of each teacher, without as many as is usual."""
        if pairs is not None:
            return cls(pairs, episodes)
        return cls(None, EPISODES, MORE_EPISODES, STEPS) if episodes is None else cls(None, episodes, steps=STEPS)

    def mix(
        self, task: str, kind: str, rate: float | None, seed: int
    ) -> tuple[Demonstrations, NDArray[np.float64] | None]:
        """Pairs with their hidden labels, and for a graded mix the noise (N,) of each pair's demonstrator."""
        if self._task != task:
            self._rollouts = {}
        self._task = task
        any_kind = "flip" if kind == CLEAN else kind  # at rate 0 all kinds are one
        request = MixRequest(find_task(task), any_kind, rate, seed=seed, **self._size(task))
        made = make_mix(request, rollouts=self._rollouts)
        episodes, noise = made.mix.episodes, made.mix.noise
        lengths = [len(episode) for episode in episodes]
        demonstrations = Demonstrations(
            observations=np.concatenate([episode.observations[:-1] for episode in episodes]),
            actions=np.concatenate([episode.actions for episode in episodes]),
            episodes=np.repeat(np.arange(len(lengths)), lengths),
            action_space=made.action_space,
            corrupt=made.mix.labels if noise is None else noise > np.unique(noise)[:BEST][-1],
            successors=np.concatenate([episode.observations[1:] for episode in episodes]),
        )
        return demonstrations, noise

    def words(self, tasks: Sequence[str]) -> str:
        """What policies learn from."""
        if self.pairs is not None:
            return f"{self.pairs} single pairs"
        more = [f"{self.more_episodes[task]} of {task}" for task in tasks if task in self.more_episodes]
        sizes = f"{self.episodes} of each teacher" + f" ({', '.join(more)})" * bool(more)
        return f"whole episodes, {sizes}, at most {self.steps} steps of each"

    def mark(self, task: str) -> dict[str, Any]:
        """The teachers, to the last weight, and how much of them is seen."""
        if task not in self._marks:
            card = find_task(task)
            self._marks[task] = {
                "environment": card.environment,
                "settings": dict(card.settings),
                "disturbance": card.disturbance,
                "teachers": [identity(make_teacher(card, name)) for name in (card.good, card.bad, MEDIUM)],
                **self._size(task),
                "usual_episodes": card.episodes,
            }
        return self._marks[task]

    def _size(self, task: str) -> dict[str, Any]:
        episodes = self.more_episodes.get(task, self.episodes)
        return {"episodes": episodes, "steps": self.steps, "pairs": self.pairs}


def make_teacher(card: Task, name: str) -> Teacher:
    """A teacher of the card."""
    worlds = make_batch(card, 1, settings={})
    try:
        return find_teacher(card, name, *boxes(worlds))
    finally:
        worlds.close()


def identity(teacher: Teacher) -> dict[str, Any]:
    """What tells a teacher from all others."""
    if isinstance(teacher, ScriptedDriver):
        return {"name": teacher.name, "style": dataclasses.asdict(teacher.style)}
    if not isinstance(teacher, NetworkTeacher):
        raise RobustBCError(f"teacher '{teacher.name}' is none that a benchmark can name for sure.")
    arrays = (teacher.mean, teacher.scale, *teacher.weights, *teacher.biases, teacher.low, teacher.high)
    return {"name": teacher.name, "sha256": hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()}
