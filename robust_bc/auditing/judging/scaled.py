"""Demonstrations as an audit sees them: scaled columns, and which pairs make up which episode.

Columns are in units of their deviation. But a pole that is balanced moves a thousandth of what it moves while it falls,
and both count. So a column with a kurtosis above `HEAVY` is measured from its median in units u of its median absolute
deviation, and what is far off grows as a logarithm only: asinh((x − median)/u), in units of its own deviation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.data.demonstrations import LARGEST, Demonstrations
from robust_bc.data.normalisation import MAD_TO_STANDARD_DEVIATION, Affine

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

HEAVY = 25.0
"""Kurtosis 1/p is that of a column that moves in a share p of the rows only: here, in less than one of 25."""
LEAST_UNIT = 0.05
"""u in deviations, at least: most of a column may stand still."""


@dataclass(frozen=True, eq=False)
class Squashed:
    """Columns of which what is far off grows as a logarithm, and back."""

    centre: Floats  # (C,)
    unit: Floats  # (C,) u, or the deviation
    heavy: Flags  # (C,)
    bounds: tuple[Floats, Floats]
    """Least and largest value of each column."""
    affine: Affine

    @classmethod
    def of(cls, values: NDArray[np.floating]) -> Squashed:
        """With the medians and deviations of (N, C)."""
        standard = Affine.of(values)
        heavy = (standard.forward(values).astype(np.float64) ** 4).mean(0) > HEAVY  # of a constant column it is 0
        values = values.astype(np.float64)  # the mean of two values may be too large for float32
        median = np.median(values, axis=0)
        spread = MAD_TO_STANDARD_DEVIATION * np.median(np.abs(values - median), axis=0)
        unit = np.where(heavy, np.maximum(spread, LEAST_UNIT * standard.scale), standard.scale)
        unit = np.where(standard.scale > 0, unit, np.inf)  # a constant column is 0
        plain = cls(np.where(heavy, median, standard.centre), unit, heavy, (values.min(0), values.max(0)), standard)
        return replace(plain, affine=Affine.of(plain.squash(values)))

    @property
    def scale(self) -> Floats:
        """(C,) 0 of a constant column."""
        return self.affine.scale

    def forward(self, values: NDArray[np.floating]) -> Singles:
        """(n, C), constant columns as 0."""
        return self.affine.forward(self.squash(values))

    def squash(self, values: NDArray[np.floating]) -> Floats:
        """(n, C), those columns that are heavy."""
        away = (values - self.centre) / self.unit
        return np.asarray(np.where(self.heavy, np.arcsinh(away), away))

    def backward(self, values: Floats) -> Floats:
        """(n, C) in their own units, within what was seen."""
        low, high = (self.squash(bound) for bound in self.bounds)
        inner = np.clip(self.affine.backward(values), low, high)
        away = np.where(self.heavy, np.sinh(np.where(self.heavy, inner, 0.0)), inner)
        return np.where(self.scale > 0, self.centre + np.where(self.scale > 0, self.unit, 0.0) * away, self.centre)


@dataclass(frozen=True, eq=False)
class Scaled:
    """N pairs in units of the deviation of each column; constant actions say nothing and are left out."""

    states: Singles  # (N, S)
    actions: Singles  # (N, B), B of the A columns
    units: Affine | Squashed
    """Of the actions, all A columns; a constant one has the scale 0."""
    grouping: Grouping
    changes: Singles  # (N, S) of the observations to the next ones, each column in its own deviation
    followed: Flags  # (N,) whether the next observation is known

    @classmethod
    def of(cls, demonstrations: Demonstrations, by: type[Affine] | type[Squashed] = Squashed) -> Scaled:
        """Squashed, or with `Affine` by mean and deviation only."""
        actions = by.of(demonstrations.actions)
        grouping = Grouping.of(demonstrations.episodes)
        after, followed = next_observations(demonstrations, grouping)
        changes = after - demonstrations.observations
        return cls(
            by.of(demonstrations.observations).forward(demonstrations.observations),
            actions.forward(demonstrations.actions)[:, actions.scale > 0],
            actions,
            grouping,
            by.of(changes).forward(changes),
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


def next_observations(demonstrations: Demonstrations, grouping: Grouping) -> tuple[Floats, Flags]:
    """What came after each pair (N, S), and where that is known (N,): as recorded, or the next row of its episode.

    A successor that is too large to reckon with is not known: a simulation may go wrong in its last step.
    """
    after, given = demonstrations.observations.astype(np.float64), demonstrations.successors
    if given is not None:
        followed = np.asarray((np.abs(given.astype(np.float64)) <= LARGEST).all(1))
        after[followed] = given[followed]
        return after, followed
    followed = np.zeros(len(demonstrations), np.bool_)
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
