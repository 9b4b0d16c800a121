"""Demonstrations as an audit sees them: scaled columns, and which pairs make up which episode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.pooling import Grouping
from robust_bc.demonstrations import Demonstrations
from robust_bc.normalisation import Affine

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Scaled:
    """N pairs in units of the deviation of each column; constant actions say nothing and are left out."""

    states: Singles  # (N, S)
    actions: Singles  # (N, B), B of the A columns
    units: Affine
    """Of the actions, all A columns; a constant one has the scale 0."""
    grouping: Grouping
    changes: Singles  # (N, S) of the observations to the next ones, each column in its own deviation
    followed: Flags  # (N,) whether the next observation is known

    @classmethod
    def of(cls, demonstrations: Demonstrations) -> Scaled:
        """Scaled by mean and deviation; values far off are drawn in by `Affine`."""
        actions = Affine.of(demonstrations.actions)
        grouping = Grouping.of(demonstrations.episodes)
        after, followed = next_observations(demonstrations, grouping)
        changes = after.astype(np.float64) - demonstrations.observations
        return cls(
            Affine.of(demonstrations.observations).forward(demonstrations.observations),
            actions.forward(demonstrations.actions)[:, actions.scale > 0],
            actions,
            grouping,
            Affine.of(changes).forward(changes),
            followed,
        )

    @cached_property
    def episodes(self) -> list[Places]:
        """The pairs of each episode, in time."""
        grouping = self.grouping
        return np.split(grouping.order, grouping.starts[1:])

    @property
    def live(self) -> Flags:
        """(A,) which columns of the actions are not constant."""
        return self.units.scale > 0

    def unscaled(self, actions: Floats) -> Floats:
        """(n, A) in their own units, from (n, B)."""
        whole = np.zeros((len(actions), len(self.live)))
        whole[:, self.live] = actions
        return self.units.backward(whole)

    def __len__(self) -> int:
        return len(self.states)


def evenly_in_time(rows: Places, most: int) -> Places:
    """At most so many of an episode's rows."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).round().astype(np.intp)]


def next_observations(demonstrations: Demonstrations, grouping: Grouping) -> tuple[NDArray[np.floating], Flags]:
    """What came after each pair (N, S), and where that is known (N,): as recorded, or the next row of its episode."""
    if demonstrations.successors is not None:
        return demonstrations.successors, np.ones(len(demonstrations), np.bool_)
    after, followed = np.array(demonstrations.observations), np.zeros(len(demonstrations), np.bool_)
    before, behind = grouping.order[:-1], grouping.order[1:]
    same = grouping.steps[1:] > 0
    after[before[same]] = demonstrations.observations[behind[same]]
    followed[before[same]] = True
    return after, followed


def spread_evenly(states: Singles, count: int) -> Places:
    """Places of at most `count` of the states (T, S): the first one, and then always the farthest from all before."""
    if len(states) <= count:
        return np.arange(len(states))
    chosen = np.zeros(count, np.intp)
    if count == 0:
        return chosen
    nearest = ((states - states[0]) ** 2).sum(1)
    for place in range(1, count):
        chosen[place] = nearest.argmax()
        np.minimum(nearest, ((states - states[chosen[place]]) ** 2).sum(1), out=nearest)
    return chosen
