"""Demonstrations as an audit sees them: scaled columns, and which pairs make up which episode."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

    @classmethod
    def of(cls, demonstrations: Demonstrations) -> Scaled:
        """Scaled by mean and deviation; values far off are drawn in by `Affine`."""
        actions = Affine.of(demonstrations.actions)
        return cls(
            Affine.of(demonstrations.observations).forward(demonstrations.observations),
            actions.forward(demonstrations.actions)[:, actions.scale > 0],
            actions,
            Grouping.of(demonstrations.episodes),
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

    def alone(self) -> Scaled:
        """The same with every pair as an episode of its own."""
        return replace(self, grouping=Grouping.of(np.arange(len(self.states))))

    def __len__(self) -> int:
        return len(self.states)
