"""Many copies of a task's environment as one Gymnasium vector environment, the fastest form there is."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import TransformReward

from robust_bc.errors import RobustBCError
from robust_bc_envs import LANE_DRIVING
from robust_bc_envs.lane_batch import LaneDrivingBatch
from robust_bc_envs.mujoco_batch import MujocoBatch
from robust_bc_envs.quiet import quiet_mujoco
from robust_bc_envs.tasks import Task

Box = spaces.Box[Any]


def make_batch(
    task: Task,
    count: int,
    *,
    reversed_reward: bool = False,
    autoreset_mode: AutoresetMode = AutoresetMode.DISABLED,
    **settings: Any,
) -> VectorEnv[Any, Any, Any]:
    """`count` environments of a task that step together; `settings` are those of the environment."""
    given = {**task.settings, **settings}
    if reversed_reward and task.reversed_settings is not None:
        given |= task.reversed_settings
    worlds = _make(task.environment, count, autoreset_mode, given)
    try:
        boxes(worlds)
    except RobustBCError:
        worlds.close()
        raise
    if reversed_reward and task.reversed_settings is None:
        return TransformReward(worlds, lambda rewards: -rewards)
    return worlds


def boxes(worlds: VectorEnv[Any, Any, Any]) -> tuple[Box, Box]:
    """Observation and action space of one environment; learners take vectors, so both must be Boxes with one axis."""
    seen, done = worlds.single_observation_space, worlds.single_action_space
    for name, space in (("observation", seen), ("action", done)):
        if not isinstance(space, spaces.Box) or len(space.shape) != 1 or space.dtype.kind != "f":
            raise RobustBCError(
                f"the environment has the {name} space {space}, but a Box of real numbers with one axis is needed;"
                " wrap the environment to flatten it."
            )
    return seen, done  # type: ignore[return-value]


def _make(
    environment: str, count: int, autoreset_mode: AutoresetMode, settings: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    if MujocoBatch.supports(environment):
        return MujocoBatch(environment, count, autoreset_mode=autoreset_mode, **settings)
    if environment == LANE_DRIVING:
        return LaneDrivingBatch(count, autoreset_mode=autoreset_mode, **settings)
    try:
        with quiet_mujoco():
            return gym.make_vec(
                environment, count, "sync", vector_kwargs={"autoreset_mode": autoreset_mode}, **settings
            )
    except (gym.error.Error, TypeError, ImportError) as problem:  # TypeError: a setting that it does not take
        raise RobustBCError(f"'{environment}' cannot be made: {str(problem).strip().splitlines()[0]}.") from problem
