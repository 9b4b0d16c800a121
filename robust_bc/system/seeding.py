"""Random streams that belong to one member and one purpose, whoever else is in the fleet.

Every stream is made from (seed, member, restart, peer, purpose, index) alone. Nothing carries over from one draw to the
next, so a resumed run needs no generator state and a member draws the same numbers in any fleet and on any device.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError

Index = NDArray[np.int64]
"""Rows of a pool of pairs."""


class Purpose(IntEnum):
    """What a stream is for; the numbers are part of the file format of a resumable run."""

    INITIALISE = 0
    SPLIT = 1
    TRAIN = 2


@dataclass(frozen=True)
class MemberSeed:
    """Which network this is: one peer of one restart of one member of the policy with this seed."""

    seed: int
    member: int = 0
    restart: int = 0
    peer: int = 0

    def stream(self, purpose: Purpose, index: int = 0) -> np.random.Generator:
        """A fresh generator.

        Restarts share their split, so that their held-out scores can be compared, and peers share all but their
        start, so that they see the same batches.
        """
        restart = 0 if purpose is Purpose.SPLIT else self.restart
        peer = (self.peer,) if self.peer and purpose is Purpose.INITIALISE else ()
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self.member, restart, int(purpose), index, *peer))
        return np.random.Generator(np.random.SFC64(sequence))


def check_seed(seed: int) -> int:
    """A whole number from 0 up, or an error that says so."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise RobustBCError(f"seed must be a whole number of at least 0, but it is {seed!r}.")
    return int(seed)
