"""What the Gaussian-process methods share: settings, the bootstrap of an ensemble, and their model."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.errors import RobustBCError
from robust_bc.gaussian_processes.fitted import FittedProcess, fit_live
from robust_bc.gaussian_processes.kernels import KERNELS, Kernel, KernelName
from robust_bc.gaussian_processes.metric import MetricName, learned_metric
from robust_bc.gaussian_processes.model import GaussianProcesses, MemberFit
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.gaussian_processes.projecting import project
from robust_bc.methods.direct import DirectMethod
from robust_bc.methods.settings import Settings
from robust_bc.system.seeding import MemberSeed, Purpose

BYTES_OF_A_DOUBLE = 8
BYTES_OF_A_GIGABYTE, BYTES_OF_A_MEGABYTE = 1e9, 1e6


@dataclass(frozen=True, kw_only=True)
class GaussianProcessSettings(Settings):
    """What every Gaussian process can be told."""

    kernel: KernelName = "wide-network"
    """The kernel of infinitely wide networks, which goes on like a line, or the squared exponential."""
    length_scale: float = 0.5
    """Length scale of the kernel, in medians of the distances between observations, as the metric has them
    (wide-network: their root mean square)."""
    metric: MetricName = "learned"
    """Whether directions of the observations count as much as a first process finds that they matter, or all alike."""
    max_pairs: int = 4000
    """Exact up to so many pairs: memory grows with their square, and time with their cube. More are refused, but by
    `gpr`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("length_scale")
        self.require_at_least(2, "max_pairs")


GaussianProcessSettingsType = TypeVar("GaussianProcessSettingsType", bound=GaussianProcessSettings)


class GaussianProcessMethod(DirectMethod[GaussianProcessSettingsType]):
    """One kernel for all action dimensions; exact inference, as far as memory allows."""

    tells_trust: ClassVar[bool] = True
    """Whether it finds out how far each pair is to be trusted."""

    @abstractmethod
    def fit_process(self, settings: GaussianProcessSettingsType, prior: Prior, targets: Tensor) -> FittedProcess:
        """The process of targets (n, D) under this prior; no column of them is 0 throughout, unless all are."""

    def refine(
        self,
        settings: GaussianProcessSettingsType,
        fitted: FittedProcess,
        prior: Prior,
        targets: Tensor,
        episodes: NDArray[np.int64],
    ) -> FittedProcess:
        """What the episodes (n,) of the targets (n, D) have to say; nothing, unless a method knows better."""
        return fitted

    def inducing(self, settings: GaussianProcessSettingsType) -> int | None:
        """How many pairs stand for all, where there are more than `max_pairs`; None refuses these."""
        return None

    def check(self, settings: GaussianProcessSettingsType, pairs: int) -> None:
        if pairs > settings.max_pairs and self.inducing(settings) is None:
            raise RobustBCError(
                f"method '{self.name}' was given {pairs} pairs, but max_pairs is {settings.max_pairs}: each of several"
                f" matrices would take {_memory(BYTES_OF_A_DOUBLE * pairs**2)}, and the time grows with the cube of the"
                " pairs; give fewer pairs, raise max_pairs (`--max-pairs` at the command line) or take 'gpr'."
            )

    def fit(
        self,
        settings: GaussianProcessSettingsType,
        observations: NDArray[np.float32],
        actions: NDArray[np.float32],
        seeds: Sequence[MemberSeed],
        episodes: NDArray[np.int64] | None = None,
    ) -> GaussianProcesses:
        pairs = len(observations)
        self.check(settings, pairs)
        inputs, targets = (torch.from_numpy(values.astype(np.float64)) for values in (observations, actions))
        kernel = KERNELS[settings.kernel]
        fits = []
        for seed in seeds:
            all_rows = np.arange(pairs) if len(seeds) == 1 else bootstrap_rows(pairs, seed)
            rows = self._exact_rows(all_rows, settings, seed)
            mine, shown = (values[torch.from_numpy(rows)] for values in (inputs, targets))
            metric, (fitted, prior) = None, self._fit_one(settings, kernel, mine, shown, seed)
            if settings.metric == "learned":
                slopes_of = kernel(fitted.length_scale)
                metric = learned_metric(mine, slopes_of, fitted.coefficients).float()  # as it is stored
                fitted, prior = self._fit_one(settings, kernel, mine @ metric.double(), shown, seed)
            if episodes is not None and len(rows) == len(all_rows):
                fitted = self.refine(settings, fitted, prior, shown, episodes[rows])
            if len(rows) < len(all_rows):
                everybody = torch.from_numpy(all_rows)
                few, many = (each if metric is None else each @ metric.double() for each in (mine, inputs[everybody]))
                fitted = project(fitted, prior, few, many, targets[everybody])
            fits.append(MemberFit(rows, fitted, metric))
        known = np.arange(pairs)
        if pairs > settings.max_pairs:  # a policy keeps those that stand for all
            known = np.unique(np.concatenate([one.rows for one in fits]))
            fits = [replace(one, rows=np.searchsorted(known, one.rows)) for one in fits]
        return GaussianProcesses.of(observations[known], fits, kernel, self.tells_trust)

    def _exact_rows(
        self, rows: NDArray[np.int64], settings: GaussianProcessSettingsType, seed: MemberSeed
    ) -> NDArray[np.int64]:
        """Those of a member's rows that a process is fitted to exactly: all, or of too many some at random."""
        inducing = self.inducing(settings)
        if len(rows) <= settings.max_pairs or inducing is None:
            return rows
        count = min(inducing, settings.max_pairs)
        return np.sort(seed.stream(Purpose.TRAIN, index=1).choice(rows, count, replace=False))

    def _fit_one(
        self,
        settings: GaussianProcessSettingsType,
        kernel: type[Kernel],
        inputs: Tensor,
        targets: Tensor,
        seed: MemberSeed,
    ) -> tuple[FittedProcess, Prior]:
        """The process of targets (n, D) at inputs (n, S), and its prior."""
        length_scale = settings.length_scale * kernel.unit(inputs, seed.stream(Purpose.INITIALISE))
        prior = Prior.at(inputs, kernel(float(np.float32(length_scale))))  # the one that is stored, to the last digit
        return fit_live(functools.partial(self.fit_process, settings, prior), targets), prior

    def empty(
        self,
        settings: GaussianProcessSettingsType,
        members: int,
        observations: int,
        actions: int,
        tensors: Mapping[str, Tensor],
    ) -> GaussianProcesses:
        return GaussianProcesses.empty(
            members,
            observations,
            actions,
            tensors,
            KERNELS[settings.kernel],
            self.tells_trust,
            settings.metric == "learned",
        )


def bootstrap_rows(pairs: int, seed: MemberSeed) -> NDArray[np.int64]:
    """The rows of a bootstrap sample, sorted; each counts once, for a copy would vouch for its twin."""
    return np.unique(seed.stream(Purpose.TRAIN).integers(0, pairs, pairs))


def _memory(size: float) -> str:
    """A number of bytes for a person."""
    if size >= BYTES_OF_A_GIGABYTE:
        return f"{size / BYTES_OF_A_GIGABYTE:.1f} GB"
    return f"{max(1, round(size / BYTES_OF_A_MEGABYTE))} MB"
