"""Small demonstrations with known bad pairs, for tests of the judging itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc import Demonstrations

Floats = NDArray[np.float64]

QUICK: dict[str, Any] = {"steps": 150, "hidden": (32, 32), "batch_size": 64, "learning_rate": 5e-3}
"""Networks that judge toys well in a moment."""


def smooth(states: Floats) -> Floats:
    """(N, 2) what a good demonstrator does in states (N, 2)."""
    return np.stack([1 + 0.5 * np.sin(2 * states[:, 0]), states[:, 1]], 1)


def flipped_episodes(rate: float, seed: int = 0, episodes: int = 20, length: int = 20) -> Demonstrations:
    """Whole episodes of one smooth policy, a share of them with negated actions; states mean nothing in time."""
    generator = np.random.default_rng(seed)
    states = generator.uniform(-1, 1, (episodes * length, 2))
    shown = smooth(states) + 0.05 * generator.normal(size=(len(states), 2))
    index = np.repeat(np.arange(episodes), length)
    corrupt = index < round(rate * episodes)
    return Demonstrations.from_arrays(states, np.where(corrupt[:, None], -shown, shown), index, corrupt=corrupt)


def cycle(count: int, height: float, turn: float = 0.0, seed: int = 0) -> Demonstrations:
    """Single pairs around a circle at some height, (cos, sin, height); each leads a tenth of a radian on.

    The action is the direction of the circle there, turned by an angle.
    """
    phase = np.sort(np.random.default_rng(seed).uniform(0, 2 * np.pi, count))

    def around(at: Floats) -> Floats:
        return np.stack([np.cos(at), np.sin(at), np.full(count, height)], 1)

    actions = np.stack([np.cos(phase + turn), np.sin(phase + turn)], 1)
    return Demonstrations.from_arrays(around(phase), actions, successors=around(phase + 0.1))


def together(*parts: Demonstrations) -> Demonstrations:
    """All pairs in one, each an episode of its own."""
    successors = [part.successors for part in parts if part.successors is not None]
    return Demonstrations.from_arrays(
        np.concatenate([part.observations for part in parts]),
        np.concatenate([part.actions for part in parts]),
        successors=np.concatenate(successors) if len(successors) == len(parts) else None,
    )
