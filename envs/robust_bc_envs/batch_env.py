"""What every batched environment shares: slots with random streams of their own, autoreset, and Gymnasium's infos."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError

Flags = NDArray[np.bool_]
Info = dict[str, NDArray[Any]]


class Outcome(NamedTuple):
    """What one step did, (N,) each."""

    rewards: NDArray[np.float64]
    terminated: Flags
    truncated: Flags
    info: Info


class BatchEnv(VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """N episodes that step as arrays, with the behaviour of Gymnasium's `SyncVectorEnv` in each autoreset mode.

    A subclass says how slots begin (`_restart`), how all of them step (`_advance`) and what is seen (`_observe`).
    """

    def __init__(
        self,
        num_envs: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        autoreset_mode: AutoresetMode | str,
    ) -> None:
        if num_envs < 1:
            raise RobustBCError(f"num_envs is {num_envs}, but at least 1 is needed.")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = observation_space, action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._ended = np.zeros(num_envs, dtype=np.bool_)
        self._resting = np.zeros(num_envs, dtype=np.bool_)
        self._started = False

    @abstractmethod
    def _restart(self, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """Begin new episodes in these slots, each from its own stream."""

    @abstractmethod
    def _advance(self, actions: NDArray[Any], slots: NDArray[np.intp] | None) -> Outcome:
        """Step the slots, or all when None; what is told of the other slots does not count."""

    @abstractmethod
    def _observe(self) -> NDArray[Any]:
        """A fresh array (N, S)."""

    def _beginning(self) -> Info:
        """What `info` has after a reset."""
        return {}

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin anew in all slots, or in those where `options["reset_mask"]` is true.

        The seed s is s + i for slot i; a slot whose seed is None goes on with the random numbers it has.
        """
        self._check_open()
        seeds = [None] * self.num_envs if seed is None else seed
        if isinstance(seeds, int | np.integer):
            seeds = [int(seeds) + slot for slot in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise RobustBCError(f"there are {len(seeds)} seeds for {self.num_envs} slots; one for each is needed.")
        mask = self._checked_mask((options or {}).get("reset_mask"))
        slots = np.flatnonzero(mask)
        for slot in slots.tolist():
            if seeds[slot] is not None:
                self._generators[slot], _ = seeding.np_random(seeds[slot])
        self._begin(slots)
        self._started = True
        infos: dict[str, Any] = {}
        _tell(infos, self._beginning(), mask)
        return self._observe(), infos

    def rest(self, slots: Flags) -> None:
        """Let slots (N,) stand still until they are reset: they take no step, and their actions do not count.

        Only for batches that do not reset themselves; not a part of Gymnasium.
        """
        if self.autoreset_mode is not AutoresetMode.DISABLED:
            raise RobustBCError("only in a batch with AutoresetMode.DISABLED may slots rest.")
        self._resting |= slots

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        """Observations (N, S), rewards, terminations, truncations (N,) and infos, as the autoreset mode says."""
        self._check_open()
        actions = np.asarray(actions)  # as given: a cast would change what is computed from it
        if actions.shape != self.action_space.shape:
            raise RobustBCError(f"actions have the shape {actions.shape}, but {self.action_space.shape} is needed.")
        if not self._started:
            raise RobustBCError("the batch has not begun; call reset() before step().")
        stepped = np.ones(self.num_envs, dtype=np.bool_)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            stepped = ~self._ended
        elif self.autoreset_mode is AutoresetMode.DISABLED:
            stepped = ~self._resting
            if (ended := self._ended & stepped).any():
                slot = int(np.flatnonzero(ended)[0])
                raise RobustBCError(f"the episode in slot {slot} has ended; reset that slot with reset_mask.")
        rewards, terminated, truncated, info = self._advance(
            actions, None if stepped.all() else np.flatnonzero(stepped)
        )
        rewards, terminated, truncated = np.where(stepped, rewards, 0.0), terminated & stepped, truncated & stepped
        infos: dict[str, Any] = {}
        if not stepped.all():
            _tell(infos, info, stepped)
            if self.autoreset_mode is AutoresetMode.NEXT_STEP:  # for these slots the step was their reset
                self._begin(np.flatnonzero(~stepped))
                _tell(infos, self._beginning(), ~stepped)
        self._ended = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended.copy()
            _tell_the_end(infos, self._observe(), info, ended)
            _tell(infos, info, ~ended)
            self._begin(np.flatnonzero(ended))
            _tell(infos, self._beginning(), ended)
        elif stepped.all():
            _tell(infos, info, stepped)
        return self._observe(), rewards, terminated, truncated, infos

    def _check_open(self) -> None:
        if self.closed:
            raise RobustBCError("the batch is closed; make a new one.")

    def _begin(self, slots: NDArray[np.intp]) -> None:
        generators = []
        for slot in slots:
            if (generator := self._generators[slot]) is None:
                generator = self._generators[slot] = seeding.np_random()[0]
            generators.append(generator)
        self._restart(slots, generators)
        self._ended[slots] = False
        self._resting[slots] = False

    def _checked_mask(self, mask: Any) -> Flags:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise RobustBCError(f"reset_mask is {mask!r}, but an array of {self.num_envs} booleans is needed.")
        if not mask.any():
            raise RobustBCError("reset_mask is false for every slot, but at least one must be true.")
        if not (self._started or mask.all()):
            raise RobustBCError("the batch has not begun; reset all slots before some of them.")
        return mask


def _tell(infos: dict[str, Any], info: Info, mask: Flags) -> None:
    """Gymnasium's convention: an array for each key, zero where the mask `_key` is false, and no key without a slot."""
    if not mask.any():
        return
    if mask.all() and not infos:  # the usual case, and several times as fast
        for key, values in info.items():
            infos[key], infos[f"_{key}"] = values.copy(), mask.copy()
        return
    for key, values in info.items():
        if key not in infos:
            infos[key], infos[f"_{key}"] = np.zeros(len(mask), dtype=values.dtype), np.zeros(len(mask), dtype=np.bool_)
        infos[key][mask] = values[mask]
        infos[f"_{key}"] |= mask


def _tell_the_end(infos: dict[str, Any], observations: NDArray[Any], info: Info, ended: Flags) -> None:
    """The last observation and info of episodes whose slots begin anew in the same step."""
    last = np.full(len(ended), None, dtype=object)
    for slot in np.flatnonzero(ended):
        last[slot] = observations[slot]
    final: dict[str, Any] = {}
    _tell(final, info, ended)
    infos |= {"final_obs": last, "_final_obs": ended.copy(), "final_info": final, "_final_info": ended.copy()}
