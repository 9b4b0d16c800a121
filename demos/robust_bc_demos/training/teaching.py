"""Training a teacher from start to shipped files: PPO with checkpoints, a measurement, a card."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import gymnasium
import stable_baselines3
import torch

from robust_bc.errors import RobustBCError
from robust_bc.system.machine import versions
from robust_bc_demos.measuring import measure
from robust_bc_demos.network_teacher import CARD_FILE, NetworkTeacher
from robust_bc_demos.teachers import MEDIUM, ROLES
from robust_bc_demos.training.ppo import Report, TeacherTraining
from robust_bc_envs.tasks import Task

CHECKPOINT = "checkpoint.safetensors"
MEASURED_EPISODES = 100
MEASURING_SEED = 12345
"""Of the episodes that stand on the card; training never saw them."""
HALF_WAY_EPISODES, HALF_WAY_SEED = 20, 54321
"""After every chunk a medium teacher is measured over these, which do not stand on its card."""
HALF_WAY, TOO_FAR = 0.5, 0.7
"""Of the way from random actions to the good teacher: where a medium one is stopped, and where that was too late."""


def train_teacher(
    task: Task,
    role: str,
    folder: Path,
    report: Report,
    *,
    seed: int = 0,
    steps: int | None = None,
    command: str,
    episodes: int = MEASURED_EPISODES,
    say: Callable[[str], None] = warnings.warn,
) -> NetworkTeacher:
    """Train, measure and write; a run that was stopped goes on from its checkpoint, to the same bits."""
    if role not in ROLES:
        raise RobustBCError(f"there is no role '{role}'; the roles are {', '.join(ROLES)}.")
    if episodes < 1:
        raise RobustBCError(f"episodes must be at least 1, but it is {episodes}.")
    if steps is not None and steps < 1:
        raise RobustBCError(f"steps must be at least 1, but it is {steps}.")
    if (folder / CARD_FILE).exists():
        raise RobustBCError(f"'{folder}' already has a teacher; name a new folder.")
    half_way = _HalfWay(task) if role == MEDIUM else None
    teacher, trained = _trained(TeacherTraining(task, role, seed, steps), folder, report, say, half_way, False)
    if half_way is not None and half_way.too_far():
        again = TeacherTraining(task, role, seed, steps)
        teacher, trained = _trained(again, folder, report, say, half_way, True)
    report(1.0, f"measuring over {episodes} episodes")
    card = describe(task, role, seed, trained, command)
    if half_way is not None:
        card["training"]["stopped"] = half_way.words()
    card["measured"] = measure(task, teacher, episodes, MEASURING_SEED)
    finished = replace(teacher, card=card)
    finished.save(folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return finished


def _trained(
    training: TeacherTraining,
    folder: Path,
    report: Report,
    say: Callable[[str], None],
    half_way: _HalfWay | None,
    by_updates: bool,
) -> tuple[NetworkTeacher, int]:
    """The teacher, and for how many steps it was trained."""
    try:
        teacher = training.run(folder / CHECKPOINT, report, say, half_way, by_updates)
        return teacher, training.model.num_timesteps
    finally:
        training.close()


class _HalfWay:
    """Whether a teacher has come half-way from random actions to the good teacher of the task's card."""

    def __init__(self, task: Task) -> None:
        if task.reference is None:
            raise RobustBCError(
                "a medium teacher is stopped half-way between random actions and the expert, but the card of task"
                f" '{task.name}' has no such returns."
            )
        self.task, self.reference = task, task.reference
        self.last = 0.0
        """The return of the last teacher that was looked at."""

    def __call__(self, teacher: NetworkTeacher) -> bool:
        self.last = measure(self.task, teacher, HALF_WAY_EPISODES, HALF_WAY_SEED)["return"]["mean"]
        return self.reference.share(self.last) >= HALF_WAY

    def too_far(self) -> bool:
        """Then the last chunk was too long a step, and is repeated update by update."""
        return self.reference.share(self.last) > TOO_FAR

    def words(self) -> str:
        """For the card."""
        return (
            f"when its mean return over {HALF_WAY_EPISODES} episodes had come half-way from random actions to the good"
            f" teacher of the task's card: {self.last:.4g}, between {self.reference.random:g} and"
            f" {self.reference.expert:g}"
        )


def describe(task: Task, role: str, seed: int, steps: int, command: str) -> dict[str, Any]:
    """Where a teacher comes from: enough to train it again."""
    return {
        "task": task.name,
        "environment": task.environment,
        "role": role,
        "rewarded_for": task.reverse if role == "adversary" else "the environment's own reward",
        "training": {
            "seed": seed,
            "steps": steps,
            "settings": asdict(task.ppo),
            "command": command,
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "stable_baselines3": stable_baselines3.__version__,
                "gymnasium": gymnasium.__version__,
                "mujoco": versions().get("mujoco"),
            },
        },
    }
