"""Small demonstrations with known bad pairs, for tests of the judging itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robust_bc import Demonstrations

Floats = NDArray[np.float64]


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


def moving(lag: int = 0, episodes: int = 8, length: int = 100, seed: int = 0, wrong: int = 0) -> Demonstrations:
    """A point that goes where random actions send it; the first `wrong` episodes, or all, are `lag` rows off."""
    generator = np.random.default_rng(seed)
    states, actions, index = [], [], []
    for episode in range(episodes):
        pushes = generator.normal(size=(length + 4, 2))
        places = np.cumsum(np.concatenate([np.zeros((1, 2)), 0.5 * pushes]), axis=0)[:-1]
        shift = lag if wrong == 0 or episode < wrong else 0
        rows = np.arange(2, length + 2)
        states.append(places[rows])
        actions.append(pushes[rows - shift])  # the push that belongs to a row stands `shift` rows later
        index.append(np.full(length, episode))
    return Demonstrations.from_arrays(np.concatenate(states), np.concatenate(actions), np.concatenate(index))
