"""Collecting: a teacher acts in many episodes at once, and what it did becomes a Minari dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.metrics import metric_of
from robust_bc.evaluation.rollouts import batch_size, episode_seeds, roll_out
from robust_bc.system.progress import Progress
from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, write_dataset
from robust_bc_demos.teachers import Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import Task, find_task


def collect(
    task: str | Task,
    teacher: str | Teacher,
    dataset: str,
    *,
    episodes: int = 10,
    seed: int = 0,
    overwrite: bool = False,
    trust_pickle: bool = False,
    command: str = "robust_bc_demos.collect",
    settings: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Roll a teacher out and keep every episode with its source, teacher, seed and metrics.

    `teacher` is a name (expert, adversary, medium, safe, careless, random), a path, or any object with `begin` and
    `act`. The same seed gives the same episodes; `settings` are those of the environment.
    """
    card = find_task(task) if isinstance(task, str) else task
    check_free(dataset, overwrite)
    if episodes < 1:
        raise RobustBCError(f"episodes must be at least 1, but it is {episodes}.")
    given = dict(settings or {})
    worlds = make_batch(card, batch_size(episodes), settings=given)
    try:
        seen, done = boxes(worlds)
        chosen = (
            find_teacher(card, teacher, seen, done, trust_pickle=trust_pickle) if isinstance(teacher, str) else teacher
        )
        source = Path(teacher).stem if isinstance(teacher, str) else chosen.name
        plan = DatasetPlan(
            name=dataset,
            task=card,
            observation_space=seen,
            action_space=done,
            description=f"{episodes} episodes of {chosen.name} on {card.name}, seed {seed}",
            command=command,
            settings=given,
        )
        recorded = record(card, worlds, chosen, source, episode_seeds(seed, episodes), progress)
        return write_dataset(plan, recorded, overwrite=overwrite)
    finally:
        worlds.close()


def record(
    card: Task, worlds: Any, teacher: Teacher, source: str, seeds: list[int], progress: Progress | None = None
) -> Iterator[Recorded]:
    """Episodes as they come, with the metrics of the task beside them."""
    for done, episode in enumerate(roll_out(worlds, teacher, seeds, [metric.info for metric in card.metrics]), 1):
        if progress is not None:
            progress(done / len(seeds), f"{done} of {len(seeds)} episodes")
        metrics = {metric.name: metric_of(metric, episode) for metric in card.metrics}
        yield Recorded(episode, source, teacher.name, {"return": episode.total, **metrics})
