"""Gymnasium's MuJoCo environments many at a time: the same episodes to the bit, several times as fast."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.batch_env import BatchEnv, Info, Outcome
from robust_bc_envs.mujoco_rules import RULES, Array, Motion
from robust_bc_envs.mujoco_simulations import Simulations, simulate
from robust_bc_envs.quiet import quiet_mujoco


class MujocoBatch(BatchEnv):
    """What `gymnasium.make_vec(environment, num_envs, "sync", **settings)` gives, for the environments in `RULES`.

    There is one model, made by Gymnasium itself, and one simulation for each slot. They step in `threads` threads (as
    many as there are usable cores, when None); all that is not simulation is computed for the whole batch.
    """

    def __init__(
        self,
        environment: str,
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        if not self.supports(environment):
            raise RobustBCError(f"there is no batch of '{environment}'; there is one of {', '.join(RULES)}.")
        if threads is not None and threads < 1:
            raise RobustBCError(f"threads is {threads}, but at least 1 is needed.")
        known = _defaults(environment)
        if unknown := sorted(settings.keys() - known.keys() - {"max_episode_steps"}):
            raise RobustBCError(
                f"{environment} has no setting '{unknown[0]}'; it has {', '.join([*known, 'max_episode_steps'])}."
            )
        with quiet_mujoco():
            template = gymnasium.make(environment, **settings)
        world: Any = template.unwrapped
        super().__init__(num_envs, template.observation_space, template.action_space, autoreset_mode)
        self.spec = template.spec
        self.metadata = {**template.metadata, **self.metadata}
        self._rule = RULES[environment]
        self._settings = {**known, **settings}
        self._skipped = int(world.observation_structure.get("skipped_qpos", 0))
        self._seconds = float(world.dt)
        self._own_positions: Array = world.init_qpos  # (nq,)
        self._own_velocities: Array = world.init_qvel  # (nv,)
        self._limit = None if template.spec is None else template.spec.max_episode_steps
        self._simulations: Simulations | None = simulate(
            world.model, world.frame_skip, num_envs, usable_cores() if threads is None else threads
        )
        self._elapsed = np.zeros(num_envs, dtype=np.int64)
        template.close()

    @staticmethod
    def supports(environment: str) -> bool:
        """Whether there is a batch of the environment with this Gymnasium id."""
        return environment in RULES

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        # Also called on collection of a batch whose making failed.
        simulations = getattr(self, "_simulations", None)
        if simulations is not None:
            simulations.close()
        self._simulations = None

    def _advance(self, actions: NDArray[Any], slots: NDArray[np.intp] | None) -> Outcome:
        simulations = self._open()
        before = simulations.positions[:, :2].copy()
        if slots is None or len(slots):
            with quiet_mujoco():
                simulations.step(actions, slots)
        self._elapsed += 1
        motion = Motion(before, simulations.positions, simulations.velocities, actions, self._seconds)
        paid = self._rule.outcome(motion, self._settings)
        truncated = np.zeros(self.num_envs, np.bool_) if self._limit is None else self._elapsed >= self._limit
        return Outcome(paid.rewards, paid.terminated, truncated, {**paid.info, **self._beginning()})

    def _beginning(self) -> Info:
        return self._rule.place(self._open().positions, self._own_positions)

    def _restart(self, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        simulations = self._open()
        positions = np.tile(self._own_positions, (len(slots), 1))  # (n, nq)
        velocities = np.tile(self._own_velocities, (len(slots), 1))  # (n, nv)
        for row, generator in enumerate(generators):
            shift, speed = self._rule.draw(
                generator, self._settings["reset_noise_scale"], positions.shape[1], velocities.shape[1]
            )
            positions[row] += shift
            velocities[row] += speed
        with quiet_mujoco():
            simulations.place(slots, positions, velocities)
        self._elapsed[slots] = 0

    def _observe(self) -> Array:
        simulations = self._open()
        return self._rule.observe(simulations.positions, simulations.velocities, self._skipped)

    def _open(self) -> Simulations:
        assert self._simulations is not None
        return self._simulations


def _defaults(environment: str) -> dict[str, Any]:
    """The environment's settings and their values when none are given."""
    spec = gymnasium.spec(environment)
    assert isinstance(spec.entry_point, str)
    parameters = inspect.signature(load_env_creator(spec.entry_point)).parameters
    return {
        name: one.default for name, one in parameters.items() if one.default is not inspect.Parameter.empty
    } | spec.kwargs


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
