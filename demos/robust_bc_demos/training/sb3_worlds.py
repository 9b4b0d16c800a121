"""A Gymnasium vector environment as Stable-Baselines3 wants it, without stepping the copies one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv


class BatchVecEnv(VecEnv):
    """Wraps a vector environment that resets in the same step, and counts the return of every episode."""

    def __init__(self, worlds: VectorEnv[Any, Any, Any]) -> None:
        assert worlds.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        self.worlds = worlds
        self.next_seed: int | None = None
        """Taken by the next reset; without one, the environments go on with their own streams."""
        self.returns = np.zeros(worlds.num_envs)
        self.finished: list[float] = []
        """Returns of the finished episodes, newest last; whoever reads them empties the list."""
        super().__init__(worlds.num_envs, worlds.single_observation_space, worlds.single_action_space)

    def reset(self) -> NDArray[Any]:
        observations, _ = self.worlds.reset(seed=self.next_seed)
        self.next_seed = None
        self.returns[:] = 0
        return np.asarray(observations)

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, told = self.worlds.step(self._actions)
        done = terminated | truncated
        self.returns += rewards
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for slot in np.flatnonzero(done):
            infos[slot]["terminal_observation"] = told["final_obs"][slot]
            infos[slot]["TimeLimit.truncated"] = bool(truncated[slot] and not terminated[slot])
            self.finished.append(float(self.returns[slot]))
            self.returns[slot] = 0
        return observations, rewards, done, infos

    def close(self) -> None:
        self.worlds.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """All copies are alike."""
        return [getattr(self.worlds, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("the copies of a batch share their attributes")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError("the copies of a batch are not environments of their own")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False] * self.num_envs
