"""Disturbed demonstrations: the teacher's hand is shaken, and what it meant to do is recorded (DART).

A teacher without any noise shows only the one path it never leaves. Whoever learns from a few hundred such pairs leaves
it at once and has never seen how to come back. With a shaken hand, the states beside the path are in the data, each
with the teacher's own answer to it (Laskey et al., "DART: Noise Injection for Robust Imitation Learning", 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode
from robust_bc_demos.drivers import ScriptedDriver
from robust_bc_demos.teachers import Teacher, limits

LARGEST = 1.0
"""Half the action space."""


def check_disturbance(disturbance: float) -> float:
    """The value itself, or one sentence."""
    if not 0 <= disturbance <= LARGEST:
        raise RobustBCError(f"disturbance must be between 0 and {LARGEST:g}, but it is {disturbance}.")
    return disturbance


@dataclass
class Disturbed:
    """Does what a teacher means to do, plus Gaussian noise; the deviation is a share of half the action space."""

    teacher: Teacher
    space: spaces.Box
    disturbance: float
    streams: dict[int, np.random.Generator] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_disturbance(self.disturbance)
        if isinstance(self.teacher, ScriptedDriver):  # what it means depends on its past, which `label` does not know
            raise RobustBCError(f"'{self.teacher.name}' drives with a plan in mind and cannot be disturbed.")
        low, high = limits(self.space)
        self._scale = self.disturbance * np.where(np.isfinite(high - low), (high - low) / 2, 1.0)  # (A,)

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        self.teacher.begin(count, slots, generators)
        # Children: the teacher's own draws stay what they are without noise.
        self.streams |= {slot: own.spawn(1)[0] for slot, own in zip(slots.tolist(), generators, strict=True)}

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        meant = self.teacher.act(observations)  # (N, A)
        noise = np.stack([self.streams[slot].normal(size=meant.shape[1]) for slot in range(len(meant))])
        return np.asarray(np.clip(meant + self._scale * noise, self.space.low, self.space.high), self.space.dtype)

    def meant(self, episode: Episode) -> Episode:
        """The episode with the actions that the teacher meant, in the states to which the shaken ones led."""
        stream = np.random.default_rng(episode.seed)
        actions = self.teacher.label(episode.observations[:-1], stream)
        return replace(episode, actions=actions.astype(episode.actions.dtype))
