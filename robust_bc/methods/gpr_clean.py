"""`gpr-clean`: audit the demonstrations, leave out what is probably bad, and fit a Gaussian process to the rest.

As `choicenet-clean`, but for few pairs: what the audit leaves is nearly clean, and from a few hundred clean pairs of a
smooth task a Gaussian process that learns which directions of the observations matter learns more than networks do, in
seconds. It has no defence of its own against bad pairs that the audit overlooks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from robust_bc.auditing import REVISION
from robust_bc.demonstrations import Demonstrations
from robust_bc.gaussian_processes.fitted import FittedProcess, fit_exact
from robust_bc.gaussian_processes.kernels import KernelName
from robust_bc.gaussian_processes.method import GaussianProcessMethod, GaussianProcessSettings
from robust_bc.gaussian_processes.metric import MetricName
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods.cleaning import CleaningSettings, keep_trusted


@dataclass(frozen=True, kw_only=True)
class GPRCleanSettings(CleaningSettings, GaussianProcessSettings):
    """Settings of the audit, and of the Gaussian process that learns from what it leaves."""

    kernel: KernelName = "wide-network"
    """The squared exponential, or the kernel of infinitely wide networks, which goes on like a line: what few
    demonstrations show, such as a first step, is better met so."""
    metric: MetricName = "learned"
    """Whether all directions of the observations count alike, or as much as a first process finds that they matter."""


class GPRClean(GaussianProcessMethod[GPRCleanSettings]):
    """Gaussian-process regression on the pairs that an audit trusts."""

    name = "gpr-clean"
    summary = "audits, drops what is probably bad, a Gaussian process on the rest; assumes that most pairs are good"
    when = "for up to a few thousand pairs of a smooth task, some of them bad"
    settings_type = GPRCleanSettings
    revision = REVISION
    tells_trust = False

    def choose(
        self,
        settings: GPRCleanSettings,
        demonstrations: Sequence[Demonstrations],
        seeds: Sequence[int],
        device: torch.device,
        progress: Callable[[float], None],
    ) -> Sequence[Demonstrations]:
        return keep_trusted(settings, settings.judge_steps, demonstrations, seeds, device, progress)

    def fit_process(self, settings: GPRCleanSettings, prior: Prior, targets: Tensor) -> FittedProcess:
        return fit_exact(prior, targets)
