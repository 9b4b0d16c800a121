"""`rgpr`: a truncated mixture of Gaussian-process experts (after Rasmussen and Ghahramani 2002)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.gaussian_processes.experts import fit_experts
from robust_bc.gaussian_processes.fitted import FittedProcess
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods.gaussian_process import GaussianProcessMethod, GaussianProcessSettings


@dataclass(frozen=True, kw_only=True)
class RGPRSettings(GaussianProcessSettings):
    """Settings of the mixture of experts."""

    experts: int = 2
    """Gaussian processes that share out the pairs, beside a broad component for those that none explains."""
    iterations: int = 40
    """Steps of expectation-maximisation after each expert is added, at most."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "experts", "iterations")


class RGPR(GaussianProcessMethod[RGPRSettings]):
    """Truncated, where the original is infinite: see `robust_bc.gaussian_processes.experts`."""

    name = "rgpr"
    summary = "truncated mixture of Gaussian-process experts; assumes that good pairs are the largest smooth group"
    when = "for up to a few thousand pairs of a smooth task, without jumps"
    settings_type = RGPRSettings

    def fit_process(self, settings: RGPRSettings, prior: Prior, targets: Tensor) -> FittedProcess:
        return fit_experts(prior, targets, settings.experts, settings.iterations)
