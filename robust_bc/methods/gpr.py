"""`gpr`: Gaussian-process regression, the classical baseline of the paper; exact up to some thousand pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.gaussian_processes.episode_noise import with_episode_noise
from robust_bc.gaussian_processes.fitted import FittedProcess, fit_exact
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods.gaussian_process import GaussianProcessMethod, GaussianProcessSettings


@dataclass(frozen=True, kw_only=True)
class GPRSettings(GaussianProcessSettings):
    """Settings of regression."""

    inducing: int = 2000
    """So many pairs stand for all, where there are more than `max_pairs`."""
    episode_noise: bool = True
    """Every episode has a noise of its own, so that careless ones count less; up to `max_pairs`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(2, "inducing")


class GPR(GaussianProcessMethod[GPRSettings]):
    """Median trick for the length of the kernel, marginal likelihood for its variances."""

    name = "gpr"
    summary = "Gaussian-process regression; assumes that bad episodes are noisier than good ones, and a smooth function"
    when = "for whole episodes of a smooth task that an audit has cleaned, from a few dozen pairs on"
    settings_type = GPRSettings
    robust = False
    tells_trust = False

    def inducing(self, settings: GPRSettings) -> int:
        return settings.inducing

    def refine(
        self,
        settings: GPRSettings,
        fitted: FittedProcess,
        prior: Prior,
        targets: Tensor,
        episodes: NDArray[np.int64],
    ) -> FittedProcess:
        names, index = np.unique(episodes, return_inverse=True)
        if not settings.episode_noise or not 1 < len(names) < len(episodes):
            return fitted
        return with_episode_noise(fitted, prior, targets, torch.from_numpy(index))

    def fit_process(self, settings: GPRSettings, prior: Prior, targets: Tensor) -> FittedProcess:
        return fit_exact(prior, targets)
