"""Corrupting good demonstrations after the fact: other actions in their states, or a recorder that makes mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.teachers import Teacher, limits, random_actions

COPIES = 3
"""How often a duplicated episode has each of its rows."""


@dataclass
class Corrupter:
    """Makes corrupt demonstrations of good ones, for the kinds of corruption that need no episodes of their own."""

    kind: str
    space: spaces.Box
    generator: np.random.Generator
    bad_teacher: Teacher | None = None

    def actions(self, observations: NDArray[np.floating], actions: NDArray[np.floating]) -> NDArray[np.floating]:
        """Corrupt actions (N, A) for pairs of observations (N, S) and actions (N, A)."""
        if self.kind == "flip":
            low, high = limits(self.space)
            bounded = np.isfinite(low) & np.isfinite(high)
            twice_the_middle = np.where(bounded, np.where(bounded, low, 0) + np.where(bounded, high, 0), 0)
            return np.asarray(np.clip(twice_the_middle - actions, low, high), actions.dtype)
        if self.kind == "uniform":
            return random_actions(self.space, len(actions), self.generator)
        if self.bad_teacher is None:
            raise RobustBCError("relabel asks a bad teacher what it would do; name one with --bad.")
        return np.asarray(self.bad_teacher.label(observations, self.generator), actions.dtype)

    def change(self, singles: Sequence[Episode]) -> list[Episode]:
        """One-step episodes with corrupt actions."""
        states = np.concatenate([single.observations[:1] for single in singles])
        changed = self.actions(states, np.concatenate([single.actions for single in singles]))
        return [replace(s, actions=changed[i : i + 1]) for i, s in enumerate(singles)]

    def corrupt(self, episode: Episode) -> Episode:
        """An episode that is corrupt throughout."""
        if self.kind == "misaligned":
            return misaligned(episode)
        if self.kind == "duplicated":
            return duplicated(episode)
        return replace(episode, actions=self.actions(episode.observations[:-1], episode.actions))


def misaligned(episode: Episode) -> Episode:
    """Recorded one step off: the row of time t has the observation of t + 1 and the action of t; one row less."""
    if len(episode) < 2:
        raise RobustBCError("an episode of one step cannot be recorded one step off; take longer episodes.")
    return replace(
        episode,
        seed=None,
        observations=episode.observations[1:],
        actions=episode.actions[:-1],
        rewards=episode.rewards[:-1],
        infos={},
    )


def duplicated(episode: Episode) -> Episode:
    """Every row three times; what follows a row is then, two times in three, the same row once more."""
    rows = np.repeat(np.arange(len(episode)), COPIES)
    return replace(
        episode,
        seed=None,
        observations=np.concatenate([episode.observations[rows], episode.observations[-1:]]),
        actions=episode.actions[rows],
        rewards=episode.rewards[rows],
        infos={},
    )


def cut(episode: Episode, steps: int | None) -> Episode:
    """At most so many steps of an episode, as by a time limit."""
    if steps is None or len(episode) <= steps:
        return episode
    return replace(
        episode,
        observations=episode.observations[: steps + 1],
        actions=episode.actions[:steps],
        rewards=episode.rewards[:steps],
        terminated=False,
        infos={},
    )
