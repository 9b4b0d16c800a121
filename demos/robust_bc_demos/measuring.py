"""Measuring a teacher for its card: returns and the task's metrics over many episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.evaluating import evaluate
from robust_bc_demos.teachers import Teacher
from robust_bc_envs.tasks import CARDS, Task


def measure(
    task: Task, teacher: Teacher, episodes: int, seed: int, progress: Callable[[float, str], None] | None = None
) -> dict[str, Any]:
    """Mean, standard deviation and extremes of the return and of every metric, on the task's true reward."""
    found = evaluate(teacher, task.environment, episodes, seed, progress=progress)
    if found.failures:
        raise RobustBCError(str(found.failures[0]["failure"]))
    again = f"robust-bc teachers --measure --task {task.name} --episodes {episodes} --seed {seed}"
    return {
        **({"command": again} if task.name in CARDS else {}),
        "episodes": episodes,
        "seed": seed,
        **{
            name: {
                "mean": summary.mean,
                "std": float(np.std([row[name] for row in found.rows])),  # type: ignore[arg-type]
                "min": summary.minimum,
                "max": summary.maximum,
            }
            for name, summary in found.summary.items()
        },
    }
