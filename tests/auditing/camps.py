"""Camps with made-up groups and policies, for tests of who is foreign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robust_bc import Demonstrations
from robust_bc.auditing.provenance import Futures
from robust_bc.auditing.strangers import Camp
from tests.auditing.toys import cycle, together

Index = NDArray[np.int64]


class Says:
    """A policy that always says the same."""

    def __init__(self, actions: NDArray[np.floating]) -> None:
        self.actions = actions

    def predict(self, observations: NDArray[np.floating]) -> tuple[NDArray[np.floating], None]:
        return self.actions, None


def camp(group: Index, actions: NDArray[np.floating]) -> Camp:
    """With futures in which every group keeps to itself."""
    parts = [cycle(int((group == name).sum()), 3.0 * name) for name in range(int(group.max()) + 1)]
    both = together(*parts)
    pairs = Demonstrations.from_arrays(both.observations, actions, successors=both.successors)
    futures = Futures.of(pairs)
    assert futures is not None
    return Camp(pairs, futures, group, 0)


def several(sizes: Sequence[int]) -> tuple[Index, NDArray[np.float64]]:
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.random.default_rng(0).normal(size=(len(group), 2))


def of_both_sides(*sizes: int) -> tuple[Index, NDArray[np.float64], NDArray[np.float64]]:
    """A camp, honest pairs and bad ones; their actions, and a policy that has yet to learn the honest ones."""
    part, predicted = several(sizes or (200, 40, 40))
    actions = np.where((part == 2)[:, None], -3 * predicted, predicted)
    return part, actions, np.where((part == 1)[:, None], predicted + 0.5, predicted)
