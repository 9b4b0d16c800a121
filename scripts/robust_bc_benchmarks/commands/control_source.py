"""Demonstrations and experts of a control benchmark, from the teachers of a task's card."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.control.cells import CLEAN
from robust_bc_demos.drivers import ScriptedDriver
from robust_bc_demos.mixing.datasets import MixRequest, Rollouts, make_mix
from robust_bc_demos.network_teacher import NetworkTeacher
from robust_bc_demos.teachers import Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import Task, find_task

NO_PART = {"summary", "development", "reverse", "reversed_settings", "negated", "metrics", "reference", "ppo"}
"""Fields of a task's card that its demonstrations do not depend on; whatever else a card may say counts."""


class TeacherSource:
    """Mixes of single pairs, or of whole episodes; the teachers' episodes are made once for a task and seed."""

    def __init__(
        self, pairs: int | None, settings: Mapping[str, Any] | None = None, episodes: int | None = None
    ) -> None:
        self.pairs = pairs
        """None keeps whole episodes."""
        self.episodes = episodes
        """Of each teacher; without, as many as the task's card says."""
        self.settings = dict(settings or {})
        """Of the environment in which the teachers show what they do."""
        self._rollouts: Rollouts = {}
        self._task: str | None = None

    def demonstrations(self, task: str, how: str, rate: float, seed: int) -> Demonstrations:
        """A mix with its hidden labels."""
        if task != self._task:  # tasks come one after another
            self._rollouts, self._task = {}, task
        any_way = "flip" if how == CLEAN else how
        request = MixRequest(find_task(task), any_way, rate, self.pairs, seed, self.episodes, settings=self.settings)
        made = make_mix(request, rollouts=self._rollouts)
        episodes = made.mix.episodes
        lengths = [len(episode) for episode in episodes]
        return Demonstrations(
            observations=np.concatenate([episode.observations[:-1] for episode in episodes]),
            actions=np.concatenate([episode.actions for episode in episodes]),
            episodes=np.repeat(np.arange(len(lengths)), lengths),
            action_space=made.action_space,
            corrupt=made.mix.labels,
            successors=np.concatenate([episode.observations[1:] for episode in episodes]),
        )

    def expert(self, task: str) -> Teacher:
        """The good teacher of the card."""
        card = find_task(task)
        return make_teacher(card, card.good, self.settings)

    def mark(self, task: str) -> dict[str, Any]:
        """Who the teachers are, to the last weight, and how they were seen."""
        card = find_task(task)
        teachers = [identity(make_teacher(card, name, self.settings)) for name in (card.good, card.bad)]
        fields = [field.name for field in dataclasses.fields(card) if field.name not in NO_PART]
        about = {name: getattr(card, name) for name in fields}
        return {"card": about, "teachers": teachers, "settings": self.settings}


def make_teacher(card: Task, name: str, settings: Mapping[str, Any] | None = None) -> Teacher:
    """A teacher of the card, as it acts in environments with these settings."""
    worlds = make_batch(card, 1, settings=dict(settings or {}))
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
