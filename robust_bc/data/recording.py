"""Episodes, and the arrays in which they are recorded while they last."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError

FIRST_ROOM = 256
"""Steps that an episode's arrays have room for at first; the room doubles."""


@dataclass(frozen=True, eq=False)
class Episode:
    """One finished episode of T steps."""

    seed: int | None
    """What the environment was reset with; None if no reset leads to the first observation."""
    observations: NDArray[Any]  # (T + 1, S), or (0, S) where they were not to be kept
    actions: NDArray[Any]  # (T, A), or (0, A)
    rewards: NDArray[np.float64]  # (T,)
    terminated: bool
    """False: it was cut off by a time limit."""
    infos: dict[str, NDArray[Any]] = field(default_factory=dict)
    """(T,) each."""
    failure: str | None = None
    """Why it could not go on: one sentence. Its last step then does not count."""

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> float:
        """The return: the rewards added one after the other, as a loop over the environment adds them."""
        return float(np.cumsum(self.rewards)[-1]) if len(self.rewards) else 0.0


class Record:
    """What happens in the slots, in arrays that grow with the longest episode."""

    def __init__(self, worlds: VectorEnv[Any, Any, Any], infos: Sequence[str]) -> None:
        count = worlds.num_envs
        seen, done = worlds.single_observation_space, worlds.single_action_space
        assert seen.shape is not None
        assert done.shape is not None
        self.slots = np.arange(count)
        self.length = np.zeros(count, np.int64)
        self.room = FIRST_ROOM
        self.kept = np.zeros(count, np.bool_)
        """Slots whose observations and actions are recorded."""
        self.resting = np.zeros(count, np.bool_)
        # Made for the first episode that is kept: most evaluations keep none.
        self.observations = np.zeros((count, 0, *seen.shape), seen.dtype)
        self.actions = np.zeros((count, 0, *done.shape), done.dtype)
        self.rewards = np.zeros((count, self.room))
        self.names = list(infos)
        self.infos: dict[str, NDArray[Any]] = {}

    def begin(self, slots: NDArray[np.intp], observations: NDArray[Any], keep: NDArray[np.bool_]) -> None:
        """New episodes in these slots; observations and actions are recorded where `keep` (n,) says so."""
        self.length[slots] = 0
        self.resting[slots] = False
        self.kept[slots] = keep
        if keep.any():
            self._make_room()
            self.observations[slots[keep], 0] = observations[slots[keep]]

    def add(
        self,
        actions: NDArray[Any],
        rewards: NDArray[Any],
        observations: NDArray[Any],
        told: dict[str, Any],
        failures: Collection[int] = (),
    ) -> None:
        """One step everywhere; slots that failed may have no infos."""
        if self.length.max() == self.room:
            self.room *= 2
            self.rewards = _longer(self.rewards, self.room)
            self.infos = {name: _longer(values, self.room) for name, values in self.infos.items()}
            self._make_room()
        here = self.slots, self.length
        self.rewards[here] = rewards
        for name in self.names:
            if name not in told:
                if len(failures) == len(self.slots):
                    continue
                raise RobustBCError(f"the environment does not tell '{name}' in its info.")
            if name not in self.infos:
                self.infos[name] = np.zeros(self.rewards.shape, told[name].dtype)
            self.infos[name][here] = told[name]
        if self.kept.any():
            slots = np.flatnonzero(self.kept)
            self.actions[slots, self.length[slots]] = actions[slots]
            self.observations[slots, self.length[slots] + 1] = observations[slots]
        self.length += ~self.resting

    def episode(self, slot: int, seed: int, terminated: bool, failure: str | None = None) -> Episode:
        """The episode that has come to its end in a slot."""
        length = int(self.length[slot])
        kept = bool(self.kept[slot])
        return Episode(
            seed=int(seed),
            observations=self.observations[slot, : length + 1 if kept else 0].copy(),
            actions=self.actions[slot, : length if kept else 0].copy(),
            rewards=self.rewards[slot, :length].copy(),
            terminated=terminated,
            infos={name: values[slot, :length].copy() for name, values in self.infos.items()},
            failure=failure,
        )

    def rest(self, slots: NDArray[np.bool_]) -> None:
        """Nothing happens in these slots until they begin anew."""
        self.resting = slots
        self.length[slots] = 0
        self.kept[slots] = False

    def _make_room(self) -> None:
        if self.kept.any() and self.actions.shape[1] < self.room:
            self.observations = _longer(self.observations, self.room + 1)
            self.actions = _longer(self.actions, self.room)


def _longer(array: NDArray[Any], room: int) -> NDArray[Any]:
    """The same with its second axis at least `room` long."""
    made = np.zeros((array.shape[0], room, *array.shape[2:]), array.dtype)
    made[:, : array.shape[1]] = array
    return made
