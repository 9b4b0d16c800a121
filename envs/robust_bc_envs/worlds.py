"""The worlds of all tasks for `robust_bc.evaluate`, found through the entry point `robust_bc.worlds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.vector import VectorEnv

from robust_bc.evaluation.rollouts import LARGEST_BATCH
from robust_bc.evaluation.worlds import World
from robust_bc_envs.batches import make_batch
from robust_bc_envs.mujoco_rules import RULES
from robust_bc_envs.names import LANE_DRIVING
from robust_bc_envs.tasks import find_task

BATCHED_SLOTS = 1000
"""In our own batches a step of many slots costs little more than their simulation."""


def find_world(name: str) -> World:
    """The world of a card, or of any Gymnasium id."""
    task = find_task(name)

    def make(count: int, settings: Mapping[str, Any]) -> VectorEnv[Any, Any, Any]:
        return make_batch(task, count, settings=settings)

    batched = task.environment in RULES or task.environment == LANE_DRIVING
    return World(
        task=task.name,
        environment=task.environment,
        metrics=task.metrics,
        reference=task.reference,
        make=make,
        slots=BATCHED_SLOTS if batched else LARGEST_BATCH,
    )
