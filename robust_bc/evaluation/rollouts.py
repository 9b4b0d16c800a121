"""Rolling out whoever can act: many episodes as one batch, each the same whatever the batch's size.

An episode depends on its own seed alone, if the actor's answer to one observation does not depend on the others beside
it. (Our policies' and teachers' answers do not. A torch network's do, in their last bits, and chaotic worlds make much
of them.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from robust_bc.data.recording import Episode, Record
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.guarding import FAILURE, reason_of
from robust_bc.system.seeding import check_seed

__all__ = ["Actor", "Episode", "Slots", "batch_size", "episode_seeds", "roll_out"]

LARGEST_BATCH = 64
NO_EPISODE = -1
NOT_FINITE = "an action is not a finite number; the episode cannot go on."


class Actor(Protocol):
    """Whoever acts in many episodes at once; a slot is the place of one episode in the batch."""

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """New episodes start in these slots of `count`, each with a random stream of its own."""

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Actions (N, A) for the observations (N, S) of all slots."""


@dataclass(eq=False)
class Slots:
    """What a rollout and a careful actor tell each other. With it, a failure ends one episode and no other."""

    episode: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    """(N,): which of the seeds has its episode in each slot; `NO_EPISODE` where the actor need not act."""
    failures: dict[int, str] = field(default_factory=dict)
    """Written by the actor: slots whose episodes cannot go on, and why. What it does there does not count."""


def episode_seeds(seed: int, count: int, stream: int = 0) -> list[int]:
    """Seeds of episodes; those of another seed or stream are others, and a longer list begins with the shorter one."""
    sequences = (np.random.SeedSequence(check_seed(seed), spawn_key=(stream, index)) for index in range(count))
    return [int(sequence.generate_state(1)[0]) for sequence in sequences]


def batch_size(episodes: int, largest: int = LARGEST_BATCH) -> int:
    """How many slots: rounds of equal size, so that few of them idle at the end."""
    rounds = max(1, -(-episodes // largest))
    return max(1, -(-episodes // rounds))


def roll_out(
    worlds: VectorEnv[Any, Any, Any],
    actor: Actor,
    seeds: Sequence[int],
    infos: Sequence[str] = (),
    *,
    slots: Slots | None = None,
    keep: Callable[[int], bool] | None = None,
) -> Iterator[Episode]:
    """One episode for each seed, in their order, with these entries of `info` step by step.

    The worlds must not reset themselves (`AutoresetMode.DISABLED`). A slot whose episode is over takes the next seed.
    `keep` says of which episodes (by their place in `seeds`) observations and actions are kept; without it, of all.
    With `slots`, an episode that fails says why in `Episode.failure`; without, the first failure is raised.
    """
    if worlds.metadata.get("autoreset_mode") is not AutoresetMode.DISABLED:
        raise RobustBCError("the vector environment resets itself; make it with AutoresetMode.DISABLED.")
    return _Rollout(worlds, actor, seeds, infos, slots, keep).episodes()


class _Rollout:
    """One rollout on its way."""

    def __init__(
        self,
        worlds: VectorEnv[Any, Any, Any],
        actor: Actor,
        seeds: Sequence[int],
        infos: Sequence[str],
        slots: Slots | None,
        keep: Callable[[int], bool] | None,
    ) -> None:
        self.worlds, self.actor, self.seeds = worlds, actor, seeds
        self.tolerant = slots is not None
        self.slots = slots or Slots()
        self.keep = keep or (lambda number: True)
        self.record = Record(worlds, infos)
        self.waiting = iter(range(len(seeds)))
        self.count = worlds.num_envs
        # Our own batches let slots rest; in others' an episode that nobody looks at goes on.
        self.rest: Callable[[NDArray[np.bool_]], None] | None = getattr(worlds, "rest", None)

    def episodes(self) -> Iterator[Episode]:
        self.slots.episode = np.full(self.count, NO_EPISODE, np.intp)
        observations = self._begin(np.ones(self.count, np.bool_), None)
        finished: dict[int, Episode] = {}
        for following in range(len(self.seeds)):
            while following not in finished:
                actions, failures = self._act(observations)
                observations, rewards, terminated, truncated, told = self._step(actions)
                failures |= self._told_failures(told)
                self.record.add(actions, rewards, observations, told, failures)
                over = terminated | truncated
                over[list(failures)] = True
                if not over.any():
                    continue
                for slot in np.flatnonzero(over & (self.slots.episode != NO_EPISODE)).tolist():
                    number = int(self.slots.episode[slot])
                    ended = bool(terminated[slot])
                    finished[number] = self.record.episode(slot, self.seeds[number], ended, failures.get(slot))
                observations = self._begin(over, observations)
            yield finished.pop(following)

    def _begin(self, over: NDArray[np.bool_], observations: NDArray[Any] | None) -> NDArray[Any]:
        """The next episodes in these slots, and what is seen everywhere; at first, all slots must begin."""
        self.slots.episode[over] = [next(self.waiting, NO_EPISODE) for _ in range(int(over.sum()))]
        idle = self.slots.episode == NO_EPISODE
        begun = over if self.rest is None or observations is None else over & ~idle
        if observations is None or begun.any():
            starts: list[int | None] = [None] * self.count
            for slot in np.flatnonzero(begun).tolist():
                starts[slot] = int(self.seeds[self.slots.episode[slot]])  # where idle, some seed
            # Gymnasium's vector environments take a list of seeds, though their annotation has only one.
            observations, _ = self.worlds.reset(seed=starts, options={"reset_mask": begun.copy()})  # type: ignore[arg-type]
            self.actor.begin(
                self.count, np.flatnonzero(begun), [_actor_stream(start) for start in starts if start is not None]
            )
            self.record.begin(np.flatnonzero(begun), observations, self._kept(np.flatnonzero(begun)))
        if self.rest is not None and idle.any():
            self.rest(idle)
            self.record.rest(idle)
        return observations

    def _kept(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        numbers = self.slots.episode[slots].tolist()
        return np.array([number != NO_EPISODE and self.keep(number) for number in numbers], np.bool_)

    def _act(self, observations: NDArray[Any]) -> tuple[NDArray[Any], dict[int, str]]:
        """Checked actions (N, A), and the slots in which there is none."""
        self.slots.failures.clear()
        actions = self.actor.act(observations)
        shape = self.worlds.action_space.shape
        if actions.shape != shape:
            raise RobustBCError(f"the actions have the shape {actions.shape}, but the environment takes {shape}.")
        failures = dict(self.slots.failures)
        if not np.isfinite(actions).all():
            for slot in np.flatnonzero(~np.isfinite(actions).all(1)).tolist():
                failures.setdefault(slot, NOT_FINITE)
        if failures:
            self._raise_first(failures)
            actions = actions.copy()
            actions[list(failures)] = self._harmless
        return actions.astype(self.worlds.single_action_space.dtype, copy=False), failures

    def _step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        try:
            return self.worlds.step(actions)
        except RobustBCError:
            raise
        except Exception as problem:  # whatever someone's environment does
            raise RobustBCError(f"the environment failed in a step: {reason_of(problem)}.") from problem

    def _told_failures(self, told: dict[str, Any]) -> dict[int, str]:
        """What guarded environments say of their own."""
        if FAILURE not in told:
            return {}
        failures = {slot: str(told[FAILURE][slot]) for slot in np.flatnonzero(told[f"_{FAILURE}"]).tolist()}
        self._raise_first(failures)
        return failures

    def _raise_first(self, failures: dict[int, str]) -> None:
        if not self.tolerant:
            raise RobustBCError(next(iter(failures.values())))

    @property
    def _harmless(self) -> NDArray[Any]:
        """An action for a step that does not count."""
        space: Any = self.worlds.single_action_space
        return np.asarray(np.clip(0.0, space.low, space.high))


def _actor_stream(seed: int) -> np.random.Generator:
    """Apart from the environment's stream, which is made from the same seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
