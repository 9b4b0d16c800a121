"""The vectorised form of lane driving: thousands of roads in one NumPy step, equal to the single form to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.batch_env import BatchEnv, Outcome
from robust_bc_envs.lanes.env import make_settings
from robust_bc_envs.lanes.worlds import LaneWorlds


class LaneDrivingBatch(BatchEnv):
    """`num_envs` roads; the settings are those of `LaneSettings`."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        if render_mode is not None:
            raise RobustBCError("many roads at once have no picture; make one environment to render.")
        self.settings = make_settings(settings)
        super().__init__(num_envs, self.settings.observation_space(), self.settings.action_space(), autoreset_mode)
        self.worlds = LaneWorlds(self.settings, num_envs)

    def _restart(self, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        self.worlds.reset(slots, generators)

    def _advance(self, actions: NDArray[Any], slots: NDArray[np.intp] | None) -> Outcome:
        if slots is None:
            rewards, over, info = self.worlds.step(actions)
            return Outcome(rewards, over, np.zeros_like(over), info)
        some, ended, told = self.worlds.step(actions[slots], slots)

        def everywhere(values: NDArray[Any]) -> NDArray[Any]:
            whole = np.zeros(self.num_envs, values.dtype)
            whole[slots] = values
            return whole

        info = {name: everywhere(values) for name, values in told.items()}
        return Outcome(everywhere(some), everywhere(ended), np.zeros(self.num_envs, np.bool_), info)

    def _observe(self) -> NDArray[np.float32]:
        return self.worlds.observations()
