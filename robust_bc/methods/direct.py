"""Methods that are computed in one go instead of being trained step by step, such as Gaussian processes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robust_bc.methods.base import Method, SettingsType
from robust_bc.networks.model import Model
from robust_bc.system.seeding import MemberSeed


class DirectMethod(Method[SettingsType]):
    """From normalised pairs to a finished model."""

    @abstractmethod
    def fit(
        self,
        settings: SettingsType,
        observations: NDArray[np.float32],
        actions: NDArray[np.float32],
        seeds: Sequence[MemberSeed],
        episodes: NDArray[np.int64] | None = None,
    ) -> Model:
        """The model of normalised observations (N, S) and actions (N, D), with one member for each seed.

        `episodes` (N,) says which pairs were recorded together, where that is known.
        """
