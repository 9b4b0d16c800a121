"""The environment of a dataset: the installed one of that id or, if a person trusts the file, the one that it names.

A file can name an entry point, wrappers and settings, and each of these can be code to run, a file to open, or a step
that takes an hour. So the installed environment is made as it is registered, and our own road with its settings, which
it checks; whatever else a file asks for needs a person's word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec, WrapperSpec, registry
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from robust_bc.data.minari_metadata import RecordedEnvironment
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.guarding import Guard, reason_of
from robust_bc_envs.batches import make_batch
from robust_bc_envs.names import LANE_DRIVING
from robust_bc_envs.quiet import quiet_mujoco
from robust_bc_envs.tasks import Task

OF_THE_PICTURE = ("render_mode",)
"""Settings that a recording may tell and that change no episode."""
LONGER = 10
"""Times the usual limit that an episode may be as long as."""
MISSING = object()


def recorded_settings(recorded: RecordedEnvironment) -> dict[str, Any]:
    """How the environment differs from the registered one of its id, as settings; word for word."""
    settings = {name: value for name, value in recorded.kwargs.items() if name not in OF_THE_PICTURE}
    usual = registry.get(recorded.id)
    if usual is not None and recorded.max_episode_steps != usual.max_episode_steps:
        settings["max_episode_steps"] = recorded.max_episode_steps
    return settings


def make_recorded(
    task: Task, recorded: RecordedEnvironment, dataset: str, count: int, *, trusted: bool
) -> VectorEnv[Any, Any, Any]:
    """`count` environments as in the dataset. Without trust, only what installed code registered is ever run."""
    asked = next(_asked(recorded), None)
    if asked is None:
        return make_batch(task, count, settings=recorded_settings(recorded))
    if not trusted:
        raise RobustBCError(
            f"dataset '{dataset}' asks for {asked}, which can run code, read files or take for ever; if you trust it,"
            f" say --trust-dataset {dataset}."
        )
    try:
        spec = EnvSpec(
            id=recorded.id,
            entry_point=recorded.entry_point,
            max_episode_steps=recorded.max_episode_steps,
            kwargs={name: value for name, value in recorded.kwargs.items() if name not in OF_THE_PICTURE},
            additional_wrappers=tuple(
                WrapperSpec(wrapper.name, str(wrapper.entry_point), wrapper.kwargs)
                for wrapper in recorded.additional_wrappers
            ),
        )
        with quiet_mujoco():
            return SyncVectorEnv(
                [lambda: Guard(gym.make(spec))] * count,
                autoreset_mode=AutoresetMode.DISABLED,
            )
    except Exception as problem:  # whatever someone's environment does
        raise RobustBCError(
            f"the environment of dataset '{dataset}' cannot be made: {reason_of(problem)}."
        ) from problem


def _asked(recorded: RecordedEnvironment) -> Iterator[str]:
    """What a file asks for beyond an installed environment as it is registered, in words."""
    usual = registry.get(recorded.id)
    if usual is None:
        yield f"the environment '{recorded.id}', which is not registered here"
        return
    for name in ("entry_point", "vector_entry_point"):
        told, known = getattr(recorded, name), getattr(usual, name)
        if told is not None and told != known and told != _path(known):
            yield f"the {name} '{told}'"
    for wrapper in recorded.additional_wrappers:
        yield f"the wrapper '{wrapper.entry_point}'"
    told_steps, usual_steps = recorded.max_episode_steps, usual.max_episode_steps
    if told_steps != usual_steps and (told_steps or np.inf) > LONGER * (usual_steps or 0):
        yield f"episodes of {told_steps} steps"
    for name, value in recorded.kwargs.items():
        # Our own environment knows all that its settings can be; another's may name a file, or make a step last long.
        known = recorded.id == LANE_DRIVING and isinstance(value, str | int | float)
        if name not in OF_THE_PICTURE and not known and usual.kwargs.get(name, MISSING) != value:
            yield f"the setting {name}={str(value)[:60]!r}"


def _path(known: Any) -> str | None:
    """The words of an entry point that was registered as a function."""
    return f"{known.__module__}:{known.__qualname__}" if callable(known) else known
