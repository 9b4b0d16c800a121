"""Mixes for the audit benchmark, of whole episodes or single pairs, from the teachers of a task's card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from robust_bc.data.demonstrations import Demonstrations
from robust_bc_benchmarks.audit.running import CLEAN
from robust_bc_benchmarks.commands.control_source import identity, make_teacher
from robust_bc_demos.mixing.datasets import MixRequest, Rollouts, make_mix
from robust_bc_demos.teachers import MEDIUM
from robust_bc_envs.tasks import find_task

if TYPE_CHECKING:
    from robust_bc.auditing.judging.scaled import Floats

EPISODES = 20
MORE_EPISODES = {"reacher": 40, "lane-driving": 40}
"""Where episodes are short."""


class AuditMixes:
    """The teachers' episodes are made once for a task and seed."""

    def __init__(self, episodes: int | None, steps: int, pairs: int | None = None) -> None:
        self.episodes, self.steps, self.pairs = episodes, steps, pairs
        self._marks: dict[str, dict[str, Any]] = {}
        self._rollouts: Rollouts = {}
        self._unit: tuple[str, int] | None = None

    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> tuple[Demonstrations, Floats | None]:
        """Pairs with their hidden labels, and for a graded mix the noise (N,) of each pair's demonstrator."""
        if (task, seed) != self._unit:
            self._rollouts, self._unit = {}, (task, seed)
        request = MixRequest(
            find_task(task),
            "flip" if kind == CLEAN else kind,  # at rate 0 all kinds are one
            rate,
            seed=seed,
            **self._size(task),
        )
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
            teachers = [identity(make_teacher(card, name)) for name in (card.good, card.bad, MEDIUM)]
            self._marks[task] = {
                "environment": card.environment,
                "settings": dict(card.settings),
                "disturbance": card.disturbance,
                "teachers": teachers,
                **self._size(task),
            }
        return self._marks[task]

    def _size(self, task: str) -> dict[str, Any]:
        """Whole episodes, or pairs of as many as the task's card says."""
        if self.pairs is not None:
            return {"pairs": self.pairs, "episodes": self.episodes, "steps": None}
        episodes = MORE_EPISODES.get(task, EPISODES) if self.episodes is None else self.episodes
        return {"pairs": None, "episodes": episodes, "steps": self.steps}
