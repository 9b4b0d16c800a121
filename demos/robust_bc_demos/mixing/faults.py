"""Faults that a demonstrator executes: a teacher whose actions come noisy, late or with an actuator that is stuck.

Each is a teacher of its own, so what it does is recorded while it acts: a teacher with a memory cannot be asked later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.evaluation.rollouts import Actor
from robust_bc_demos.teachers import half_range, limits

NOISE = 0.7
"""Deviation of a noisy demonstrator, as a share of half the action space."""
DELAY = 4
"""Steps by which a delayed demonstrator is late."""
DEMONSTRATORS = 10
"""Of rising noise, in a graded mix."""


@dataclass
class Noisy:
    """Does what a teacher does plus Gaussian noise, within the action space."""

    teacher: Actor
    space: spaces.Box
    noise: float = NOISE
    """The deviation, as a share of half the action space."""
    streams: dict[int, np.random.Generator] = field(default_factory=dict)

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        # The second child: the teacher's own draws stay what they are, and the first child shakes hands.
        self.streams |= {slot: own.spawn(2)[1] for slot, own in zip(slots.tolist(), generators, strict=True)}
        self.teacher.begin(count, slots, generators)

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        actions = self.teacher.act(observations)  # (N, A)
        draws = np.stack([self.streams[slot].normal(size=actions.shape[1]) for slot in range(len(actions))])
        noise = self.noise * half_range(self.space) * draws
        return np.asarray(np.clip(actions + noise, self.space.low, self.space.high), self.space.dtype)


class Delayed:
    """Does what a teacher wanted to do some steps ago; before that, the first thing that it wanted to do."""

    def __init__(self, teacher: Actor, delay: int = DELAY) -> None:
        self.teacher, self.delay = teacher, delay
        self.clock = np.zeros(0, np.intp)
        self.memory: NDArray[Any] | None = None
        """(N, delay + 1, A), a ring."""

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        self.teacher.begin(count, slots, generators)
        if count != len(self.clock):
            self.clock, self.memory = np.zeros(count, np.intp), None
        self.clock[slots] = 0

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        actions = self.teacher.act(observations)  # (N, A)
        rows, room = np.arange(len(actions)), self.delay + 1
        if self.memory is None:
            self.memory = np.zeros((len(actions), room, actions.shape[1]), actions.dtype)
        self.memory[rows, self.clock % room] = actions
        late: NDArray[Any] = self.memory[rows, np.maximum(self.clock - self.delay, 0) % room]
        self.clock += 1
        return late


@dataclass
class Stuck:
    """Does what a teacher does, but for one actuator that stays in the middle of its range."""

    teacher: Actor
    space: spaces.Box
    actuator: int

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        self.teacher.begin(count, slots, generators)

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        actions = self.teacher.act(observations).copy()  # (N, A)
        actions[:, self.actuator] = middle(self.space)[self.actuator]
        return actions


def middle(space: spaces.Box) -> NDArray[np.float64]:
    """(A,): of the action space; where that is unbounded, the bound nearest to zero or zero itself."""
    low, high = limits(space)
    bounded = np.isfinite(low) & np.isfinite(high)
    return np.where(bounded, (np.where(bounded, low, 0) + np.where(bounded, high, 0)) / 2, np.clip(0.0, low, high))


def draw_actuator(space: spaces.Box, seed: int) -> int:
    """Which actuator is stuck, the same throughout a mix."""
    return int(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(6,))).integers(space.shape[0]))


def graded_noise(episodes: int) -> NDArray[np.float64]:
    """(E,): the noise of each episode's demonstrator, from none to `NOISE` in equal steps, dealt in turn."""
    demonstrators = min(DEMONSTRATORS, episodes)
    return np.linspace(0.0, NOISE, demonstrators)[np.arange(episodes) % demonstrators]
