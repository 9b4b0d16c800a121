"""Measuring a teacher: returns and the task's metrics over many episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode, batch_size, episode_seeds, roll_out
from robust_bc_demos.teachers import Teacher
from robust_bc_envs.batches import make_batch
from robust_bc_envs.tasks import CARDS, Metric, Task

LARGEST_BATCH = 250


def metric_of(metric: Metric, episode: Episode) -> float:
    """The metric of one episode."""
    values = episode.infos[metric.info]
    return float(values[-1] if metric.reduce == "last" else values.mean())


def measure(
    task: Task, teacher: Teacher, episodes: int, seed: int, progress: Callable[[float, str], None] | None = None
) -> dict[str, Any]:
    """Mean, standard deviation and extremes of the return and of every metric, on the task's true reward."""
    if episodes < 1:
        raise RobustBCError(f"episodes must be at least 1, but it is {episodes}.")
    worlds = make_batch(task, batch_size(episodes, LARGEST_BATCH))
    values: dict[str, list[float]] = {name: [] for name in ("return", "length", *(m.name for m in task.metrics))}
    try:
        seeds = episode_seeds(seed, episodes)
        for done, episode in enumerate(roll_out(worlds, teacher, seeds, [m.info for m in task.metrics]), 1):
            values["return"].append(episode.total)
            values["length"].append(len(episode))
            for metric in task.metrics:
                values[metric.name].append(metric_of(metric, episode))
            if progress is not None:
                progress(done / episodes, f"{done} of {episodes} episodes")
    finally:
        worlds.close()
    again = f"robust-bc teachers --measure --task {task.name} --episodes {episodes} --seed {seed}"
    return {
        **({"command": again} if task.name in CARDS else {}),
        "episodes": episodes,
        "seed": seed,
        **{
            name: {
                "mean": float(np.mean(numbers)),
                "std": float(np.std(numbers)),
                "min": float(np.min(numbers)),
                "max": float(np.max(numbers)),
            }
            for name, numbers in values.items()
        },
    }
