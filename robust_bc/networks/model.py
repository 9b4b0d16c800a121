"""What a policy holds: something fitted that gives a mixture and an action at normalised observations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from robust_bc.networks.mixture import MixtureParameters

Rows = NDArray[np.float32]
Chooser = Callable[[Rows], Rows]


class Model(nn.Module, ABC):
    """M fitted members of the same kind; all that was learned is in its parameters and buffers."""

    @property
    @abstractmethod
    def members(self) -> int:
        """M."""

    @abstractmethod
    def forward(self, observations: Tensor, noise: Tensor | None = None, progress: float = 1.0) -> MixtureParameters:
        """Mixtures for observations (M, S, B), or (1, S, B) for the same batch in every member."""

    @abstractmethod
    def by_row(self) -> Chooser:
        """What the members do at observations (M, B, S), or (1, B, S) for all alike: actions (M, B, D).

        Made from what is learned as it is now, and the same to the bit for a row whatever stands beside it.
        """

    def check_loaded(self) -> None:
        """A ValueError if numbers that were loaded from a file, all of them finite, cannot have been learned."""

    @property
    def pair_trust(self) -> NDArray[np.float64] | None:
        """How far each training pair was trusted, (N,) in [0, 1]; None where the method cannot tell."""
        return None
