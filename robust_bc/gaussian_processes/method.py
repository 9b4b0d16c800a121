"""What the Gaussian-process methods share: settings, the bootstrap of an ensemble, and their model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.errors import RobustBCError
from robust_bc.gaussian_processes.fitted import FittedProcess
from robust_bc.gaussian_processes.model import GaussianProcesses
from robust_bc.gaussian_processes.prior import Prior, median_distance
from robust_bc.methods.direct import DirectMethod
from robust_bc.methods.settings import Settings
from robust_bc.seeding import MemberSeed, Purpose

BYTES_OF_A_DOUBLE = 8


@dataclass(frozen=True, kw_only=True)
class GaussianProcessSettings(Settings):
    """What every Gaussian process can be told."""

    length_scale: float = 0.5
    """Length scale of the squared-exponential kernel, in medians of the distances between observations."""
    max_pairs: int = 4000
    """Refuse more pairs than this: memory grows with their square, and time with their cube."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("length_scale")
        self.require_at_least(2, "max_pairs")


GaussianProcessSettingsType = TypeVar("GaussianProcessSettingsType", bound=GaussianProcessSettings)


class GaussianProcessMethod(DirectMethod[GaussianProcessSettingsType]):
    """Exact inference with one kernel for all action dimensions."""

    @abstractmethod
    def fit_process(self, settings: GaussianProcessSettingsType, prior: Prior, targets: Tensor) -> FittedProcess:
        """The process of targets (n, D) under this prior."""

    def fit(
        self,
        settings: GaussianProcessSettingsType,
        observations: NDArray[np.float32],
        actions: NDArray[np.float32],
        seeds: Sequence[MemberSeed],
    ) -> GaussianProcesses:
        pairs = len(observations)
        if pairs > settings.max_pairs:
            gigabytes = BYTES_OF_A_DOUBLE * pairs**2 / 1e9
            raise RobustBCError(
                f"method '{self.name}' was given {pairs} pairs, but max_pairs is {settings.max_pairs}: each of several"
                f" matrices would take {gigabytes:.1f} GB, and the time grows with the cube of the pairs; fit fewer"
                " pairs (`Demonstrations.select`) or raise max_pairs."
            )
        inputs, targets = (torch.from_numpy(values.astype(np.float64)) for values in (observations, actions))
        fits = []
        for seed in seeds:
            rows = np.arange(pairs) if len(seeds) == 1 else bootstrap_rows(pairs, seed)
            mine = inputs[torch.from_numpy(rows)]
            length_scale = settings.length_scale * median_distance(mine, seed.stream(Purpose.INITIALISE))
            prior = Prior.at(mine, float(np.float32(length_scale)))  # the one that is stored, to the last digit
            fits.append((rows, self.fit_process(settings, prior, targets[torch.from_numpy(rows)])))
        return GaussianProcesses.of(observations, fits, self.robust)

    def empty(
        self,
        settings: GaussianProcessSettingsType,
        members: int,
        observations: int,
        actions: int,
        tensors: Mapping[str, Tensor],
    ) -> GaussianProcesses:
        return GaussianProcesses.empty(members, observations, actions, tensors, self.robust)


def bootstrap_rows(pairs: int, seed: MemberSeed) -> NDArray[np.int64]:
    """The rows of a bootstrap sample, sorted; each counts once, for a copy would vouch for its twin."""
    return np.unique(seed.stream(Purpose.TRAIN).integers(0, pairs, pairs))
