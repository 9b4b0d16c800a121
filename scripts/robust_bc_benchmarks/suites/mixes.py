"""Mixes of the shipped teachers: single pairs or whole episodes, with their hidden labels."""

from __future__ import annotations

import dataclasses
import hashlib
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
    _at: tuple[str, int] | None = field(default=None, repr=False)

    def mix(
        self, task: str, kind: str, rate: float | None, seed: int
    ) -> tuple[Demonstrations, NDArray[np.float64] | None]:
        """Pairs with their hidden labels, and for a graded mix the noise (N,) of each pair's demonstrator."""
        if self._at is None or self._at[0] != task or (self.pairs is None and self._at[1] != seed):
            self._rollouts = {}  # whole episodes are many, and come seed by seed
        self._at = task, seed
        any_kind = "flip" if kind == CLEAN else kind  # at rate 0 all kinds are one
        request = MixRequest(find_task(task), any_kind, rate, seed=seed, **self._size(task))
        made = make_mix(request, rollouts=self._rollouts)
        episodes = made.mix.episodes
        lengths = [len(episode) for episode in episodes]
        demonstrations = Demonstrations(
            observations=np.concatenate([episode.observations[:-1] for episode in episodes]),
            actions=np.concatenate([episode.actions for episode in episodes]),
            episodes=np.repeat(np.arange(len(lengths)), lengths),
            action_space=made.action_space,
            corrupt=made.mix.labels,
            successors=np.concatenate([episode.observations[1:] for episode in episodes]),
        )
        return demonstrations, made.mix.noise

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
