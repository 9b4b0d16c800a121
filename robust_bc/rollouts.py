"""Rolling out whoever can act: many episodes as one batch, each the same whatever the batch's size.

An episode depends on its own seed alone, if the actor's answer to one observation does not depend on the others beside
it. (A torch network's does, in its last bits, and chaotic worlds make much of them.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.seeding import check_seed

LARGEST_BATCH = 64
FIRST_ROOM = 256
"""Steps that an episode's arrays have room for at first; the room doubles."""


class Actor(Protocol):
    """Whoever acts in many episodes at once; a slot is the place of one episode in the batch."""

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """New episodes start in these slots of `count`, each with a random stream of its own."""

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Actions (N, A) for the observations (N, S) of all slots."""


@dataclass(frozen=True, eq=False)
class Episode:
    """One finished episode of T steps."""

    seed: int | None
    """What the environment was reset with; None if no reset leads to the first observation."""
    observations: NDArray[Any]  # (T + 1, S)
    actions: NDArray[Any]  # (T, A)
    rewards: NDArray[np.float64]  # (T,)
    terminated: bool
    """False: it was cut off by a time limit."""
    infos: dict[str, NDArray[Any]] = field(default_factory=dict)
    """(T,) each."""

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> float:
        """The return."""
        return float(self.rewards.sum())


def episode_seeds(seed: int, count: int, stream: int = 0) -> list[int]:
    """Seeds of episodes; those of another seed or stream are others, and a longer list begins with the shorter one."""
    sequences = (np.random.SeedSequence(check_seed(seed), spawn_key=(stream, index)) for index in range(count))
    return [int(sequence.generate_state(1)[0]) for sequence in sequences]


def batch_size(episodes: int, largest: int = LARGEST_BATCH) -> int:
    """How many slots: rounds of equal size, so that few of them idle at the end."""
    rounds = max(1, -(-episodes // largest))
    return max(1, -(-episodes // rounds))


def roll_out(
    worlds: VectorEnv[Any, Any, Any], actor: Actor, seeds: Sequence[int], infos: Sequence[str] = ()
) -> Iterator[Episode]:
    """One episode for each seed, in their order, with these entries of `info` step by step.

    The worlds must not reset themselves (`AutoresetMode.DISABLED`). A slot whose episode is over takes the next seed.
    """
    if worlds.metadata.get("autoreset_mode") is not AutoresetMode.DISABLED:
        raise RobustBCError("the vector environment resets itself; make it with AutoresetMode.DISABLED.")
    count = worlds.num_envs
    waiting = iter(range(count, len(seeds)))
    number = np.arange(count)  # the episode in each slot; from len(seeds) on it is idle and not recorded
    starts = [int(seeds[slot % len(seeds)]) for slot in range(count)]
    # Gymnasium's vector environments take a list of seeds, though their annotation has only one.
    observations, _ = worlds.reset(seed=starts)  # type: ignore[arg-type]
    actor.begin(count, np.arange(count), [_actor_stream(start) for start in starts])
    record = _Record(worlds, infos)
    record.begin(np.arange(count), observations)
    finished: dict[int, Episode] = {}
    following = 0
    while following < len(seeds):
        actions = _checked(actor.act(observations), worlds)
        try:
            observations, rewards, terminated, truncated, told = worlds.step(actions)
        except RobustBCError:
            raise
        except Exception as problem:  # whatever someone's environment does
            raise RobustBCError(f"the environment failed in a step: {type(problem).__name__}: {problem}.") from problem
        record.add(actions, rewards, observations, told)
        over = terminated | truncated
        if not over.any():
            continue
        renewed: list[int | None] = [None] * count
        for slot in np.flatnonzero(over).tolist():
            if number[slot] < len(seeds):
                finished[int(number[slot])] = record.episode(slot, seeds[number[slot]], bool(terminated[slot]))
            number[slot] = next(waiting, len(seeds))
            renewed[slot] = int(seeds[number[slot] % len(seeds)])
        observations, _ = worlds.reset(seed=renewed, options={"reset_mask": over.copy()})  # type: ignore[arg-type]
        slots = np.flatnonzero(over)
        actor.begin(count, slots, [_actor_stream(start) for start in renewed if start is not None])
        record.begin(slots, observations)
        while following in finished:
            yield finished.pop(following)
            following += 1


class _Record:
    """What happens in the slots, in arrays that grow with the longest episode."""

    def __init__(self, worlds: VectorEnv[Any, Any, Any], infos: Sequence[str]) -> None:
        count, room = worlds.num_envs, FIRST_ROOM
        seen, done = worlds.single_observation_space, worlds.single_action_space
        assert seen.shape is not None
        assert done.shape is not None
        self.slots = np.arange(count)
        self.length = np.zeros(count, np.int64)
        self.observations = np.zeros((count, room + 1, *seen.shape), seen.dtype)
        self.actions = np.zeros((count, room, *done.shape), done.dtype)
        self.rewards = np.zeros((count, room))
        self.names = list(infos)
        self.infos: dict[str, NDArray[Any]] = {}

    def begin(self, slots: NDArray[np.intp], observations: NDArray[Any]) -> None:
        self.length[slots] = 0
        self.observations[slots, 0] = observations[slots]

    def add(
        self, actions: NDArray[Any], rewards: NDArray[Any], observations: NDArray[Any], told: dict[str, Any]
    ) -> None:
        if self.length.max() == self.rewards.shape[1]:
            self._grow()
        here = self.slots, self.length
        self.actions[here] = actions
        self.rewards[here] = rewards
        self.observations[self.slots, self.length + 1] = observations
        for name in self.names:
            if name not in told:
                raise RobustBCError(f"the environment does not tell '{name}' in its info.")
            if name not in self.infos:
                self.infos[name] = np.zeros(self.rewards.shape, told[name].dtype)
            self.infos[name][here] = told[name]
        self.length += 1

    def episode(self, slot: int, seed: int, terminated: bool) -> Episode:
        length = int(self.length[slot])
        return Episode(
            seed=int(seed),
            observations=self.observations[slot, : length + 1].copy(),
            actions=self.actions[slot, :length].copy(),
            rewards=self.rewards[slot, :length].copy(),
            terminated=terminated,
            infos={name: values[slot, :length].copy() for name, values in self.infos.items()},
        )

    def _grow(self) -> None:
        def doubled(array: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([array, np.zeros_like(array)], axis=1)

        self.observations, self.actions, self.rewards = map(doubled, (self.observations, self.actions, self.rewards))
        self.infos = {name: doubled(values) for name, values in self.infos.items()}


def _actor_stream(seed: int) -> np.random.Generator:
    """Apart from the environment's stream, which is made from the same seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))


def _checked(actions: NDArray[Any], worlds: VectorEnv[Any, Any, Any]) -> NDArray[Any]:
    shape = worlds.action_space.shape
    if actions.shape != shape:
        raise RobustBCError(f"the actions have the shape {actions.shape}, but the environment takes {shape}.")
    if not np.isfinite(actions).all():
        raise RobustBCError("an action is not a finite number; the episodes cannot go on.")
    return actions.astype(worlds.single_action_space.dtype, copy=False)
