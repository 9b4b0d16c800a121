"""Finding the world of a task by name, whichever installed package brings it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.guarding import Guard, reason_of
from robust_bc.evaluation.metrics import Metric, Reference
from robust_bc.evaluation.rollouts import LARGEST_BATCH
from robust_bc.system.plugins import plugins

GROUP = "robust_bc.worlds"
"""Entry points of this group are functions from a task's name to its `World`, or to None if they do not know it."""
OWN = "robust_bc_envs"

Box = spaces.Box[Any]
Environment = gym.Env[Any, Any]
Task = str | Environment | Callable[[], Environment]
"""The name of a card or a Gymnasium id, an environment, or a function that makes one."""


@dataclass(frozen=True)
class World:
    """A task as an evaluation sees it."""

    task: str
    environment: str
    """Gymnasium id."""
    metrics: tuple[Metric, ...]
    reference: Reference | None
    """Holds for the task's own settings."""
    make: Callable[[int, Mapping[str, Any]], VectorEnv[Any, Any, Any]]
    """(count, settings) to worlds that do not reset themselves."""
    slots: int = LARGEST_BATCH
    """How many episodes side by side are worth it."""


def find_world(task: str) -> World:
    """The world of that name; simulators of other packages come before our own, and any Gymnasium id works as well."""
    trouble: RobustBCError | None = None
    for entry in plugins(GROUP, order=lambda entry: entry.name == OWN):
        try:
            world: World | None = entry.load()(task)
        except RobustBCError as problem:
            trouble = problem
            continue
        if world is not None:
            return world
    if trouble is not None:
        raise trouble
    return gymnasium_world(task)


def gymnasium_world(task: str) -> World:
    """Any Gymnasium id in Gymnasium's own vector environment."""

    def make(count: int, settings: Mapping[str, Any]) -> VectorEnv[Any, Any, Any]:
        try:
            return gym.make_vec(
                task,
                count,
                "sync",
                vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
                wrappers=(Guard,),
                **settings,
            )
        except Exception as problem:  # whatever someone's environment, or a setting that it does not take, leads to
            raise RobustBCError(f"'{task}' cannot be made: {reason_of(problem)}.") from problem

    return World(task=task, environment=task, metrics=(), reference=None, make=make)


def world_of(task: Task) -> World:
    """The world of a name, of an environment, or of a function that makes one."""
    if isinstance(task, str):
        return find_world(task)
    if isinstance(task, gym.Env):
        mine = Lent(task)
        return _own_world(task, lambda: mine, slots=1)
    if isinstance(task, VectorEnv) or not callable(task):
        raise RobustBCError(
            "task must be the name of a task, a Gymnasium id, a single environment or a function that makes one, but it"
            f" is a {type(task).__name__}."
        )
    first = task()
    if not isinstance(first, gym.Env):
        raise RobustBCError(f"task() must make a Gymnasium environment, but it made a {type(first).__name__}.")
    first.close()
    return _own_world(first, task, LARGEST_BATCH)


def _own_world(example: Environment, make_one: Callable[[], Environment], slots: int) -> World:
    """Of somebody's environments; what else is measured of them is told by their id, if it is known."""
    name = example.unwrapped.__class__.__name__ if example.spec is None else example.spec.id
    metrics: tuple[Metric, ...] = ()
    if example.spec is not None:
        with suppress(RobustBCError):  # an id that is not registered here has no card
            metrics = find_world(name).metrics

    def make(count: int, settings: Mapping[str, Any]) -> VectorEnv[Any, Any, Any]:
        if settings:
            raise RobustBCError("settings belong to the name of a task; give them to your environment yourself.")
        guarded = [lambda: Guard(make_one()) for _ in range(count)]
        return gym.vector.SyncVectorEnv(guarded, autoreset_mode=AutoresetMode.DISABLED)

    return World(task=name, environment=name, metrics=metrics, reference=None, make=make, slots=slots)


class Lent(gym.Wrapper[Any, Any, Any, Any]):
    """Somebody's environment, which stays open for him."""

    def close(self) -> None:
        """Not by us."""


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
