"""`lgpr`: leveraged Gaussian-process regression (Choi et al., ICRA 2016)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.gaussian_processes.fitted import FittedProcess
from robust_bc.gaussian_processes.leverage import fit_leveraged
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods.gaussian_process import GaussianProcessMethod, GaussianProcessSettings


@dataclass(frozen=True, kw_only=True)
class LGPRSettings(GaussianProcessSettings):
    """Settings of leveraged regression."""

    sparsity: float = 5.0
    """λ, weight of ‖1 − l‖₁: how much likelihood a pair must win before it may leave the leverage 1. With 1, a few
    outliers among exact pairs are told apart better, but pairs that are only noisy lose their leverage, too."""
    iterations: int = 30
    """Steps of proximal gradient, at most."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_not_negative("sparsity")
        self.require_at_least(1, "iterations")


class LGPR(GaussianProcessMethod[LGPRSettings]):
    """One leverage per pair, found with the fit; acts at leverage 1."""

    name = "lgpr"
    summary = "leveraged Gaussian process, a weight from -1 to 1 per pair; assumes that most pairs agree"
    when = "for up to a few thousand smooth pairs, few of them bad; rgpr is mostly ahead of it"
    settings_type = LGPRSettings

    def fit_process(self, settings: LGPRSettings, prior: Prior, targets: Tensor) -> FittedProcess:
        return fit_leveraged(prior, targets, settings.sparsity, settings.iterations)
