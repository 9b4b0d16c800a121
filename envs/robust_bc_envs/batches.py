"""Many copies of a task's environment as one Gymnasium vector environment, the fastest form there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import TransformReward

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.guarding import Guard
from robust_bc.evaluation.worlds import boxes as boxes
from robust_bc.system.extras import extras_named
from robust_bc_envs.lanes.batch import LaneDrivingBatch
from robust_bc_envs.mujoco_rules import RULES
from robust_bc_envs.names import LANE_DRIVING
from robust_bc_envs.quiet import quiet_mujoco
from robust_bc_envs.tasks import Task

NOT_SETTINGS = {"autoreset_mode", "environment", "num_envs", "render_mode", "threads", "vector_kwargs"}
"""Of the batch, or of no use in one."""


def make_batch(
    task: Task,
    count: int,
    *,
    reversed_reward: bool = False,
    autoreset_mode: AutoresetMode = AutoresetMode.DISABLED,
    settings: Mapping[str, Any] | None = None,
) -> VectorEnv[Any, Any, Any]:
    """`count` environments of a task that step together; `settings` are those of the environment."""
    given = {**task.settings, **(settings or {})}
    if reversed_reward and task.reversed_settings is not None:
        given |= task.reversed_settings
    if taken := sorted(given.keys() & NOT_SETTINGS):
        raise RobustBCError(f"'{taken[0]}' is not a setting of the environment of '{task.name}'.")
    worlds = _make(task.environment, count, autoreset_mode, given)
    try:
        boxes(worlds)
    except RobustBCError:
        worlds.close()
        raise
    if reversed_reward and (task.reversed_settings is None or task.negated):
        return TransformReward(worlds, lambda rewards: -rewards)
    return worlds


def _make(
    environment: str, count: int, autoreset_mode: AutoresetMode, settings: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    try:
        if environment in RULES:
            with extras_named():
                from robust_bc_envs.mujoco_batch import MujocoBatch

            return MujocoBatch(environment, count, autoreset_mode=autoreset_mode, **settings)
        if environment == LANE_DRIVING:
            return LaneDrivingBatch(count, autoreset_mode=autoreset_mode, **settings)
        with quiet_mujoco():
            return gym.make_vec(
                environment,
                count,
                "sync",
                vector_kwargs={"autoreset_mode": autoreset_mode},
                # Only a rollout looks whether an episode failed; whoever else steps them wants the exception itself.
                wrappers=(Guard,) if autoreset_mode is AutoresetMode.DISABLED else (),
                **settings,
            )
    except RobustBCError:
        raise
    except Exception as problem:  # whatever someone's environment, or a setting that it does not take, leads to
        if isinstance(problem, gym.error.DependencyNotInstalled) and "box2d" in str(problem).lower():
            needs = f"'{environment}' needs Box2D, which is not installed: pip install 'robust-bc[box2d]'."
            raise RobustBCError(needs) from problem
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")
        raise RobustBCError(f"'{environment}' cannot be made: {reason}.") from problem
