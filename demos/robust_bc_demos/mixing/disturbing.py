"""Disturbed demonstrations: the teacher's hand is shaken, and what it meant to do is recorded (DART).

A teacher without any noise shows only the one path it never leaves. Whoever learns from a few hundred such pairs leaves
it at once and has never seen how to come back. With a shaken hand, the states beside the path are in the data, each
with the teacher's own answer to it (Laskey et al., "DART: Noise Injection for Robust Imitation Learning", 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_demos.teachers import half_range

LARGEST = 1.0
"""Half the action space."""


def check_disturbance(disturbance: float) -> float:
    """The value itself, or one sentence."""
    if not 0 <= disturbance <= LARGEST:
        raise RobustBCError(f"disturbance must be between 0 and {LARGEST:g}, but it is {disturbance}.")
    return disturbance


class ShakenHand(VectorWrapper[Any, Any, Any, Any, Any]):
    """Environments that execute each action plus Gaussian noise; the deviation is a share of half the action space.

    A rollout records the actions that it gives to the environments, so the record has what the teacher meant.
    """

    def __init__(self, worlds: VectorEnv[Any, Any, Any], disturbance: float) -> None:
        super().__init__(worlds)
        space = worlds.single_action_space
        assert isinstance(space, spaces.Box)
        self.space = space
        self.scale = check_disturbance(disturbance) * half_range(space)  # (A,)
        self.streams: dict[int, np.random.Generator] = {}
        self.rest: Callable[[NDArray[np.bool_]], None] | None = getattr(worlds, "rest", None)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A slot's noise depends on its own seed alone, and is apart from the streams of environment and teacher."""
        for slot, start in enumerate(seed):
            if start is not None:
                self.streams[slot] = np.random.default_rng(np.random.SeedSequence(start, spawn_key=(1, 0)))
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: NDArray[Any]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One step with shaken actions (N, A)."""
        noise = np.stack([self.streams[slot].normal(size=actions.shape[1]) for slot in range(len(actions))])
        shaken = np.clip(actions + self.scale * noise, self.space.low, self.space.high)
        return self.env.step(shaken.astype(self.space.dtype))
