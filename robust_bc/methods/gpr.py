"""`gpr`: Gaussian-process regression, the classical baseline of the paper; exact up to some thousand pairs."""

from __future__ import annotations

from torch import Tensor

from robust_bc.gaussian_processes.fitted import FittedProcess, fit_exact
from robust_bc.gaussian_processes.prior import Prior
from robust_bc.methods.gaussian_process import GaussianProcessMethod, GaussianProcessSettings


class GPR(GaussianProcessMethod[GaussianProcessSettings]):
    """Median trick for the length of the kernel, marginal likelihood for its variances."""

    name = "gpr"
    summary = "Gaussian-process regression; assumes that all demonstrations are good, and a smooth function"
    when = "for clean pairs of a smooth task, from a few dozen on"
    settings_type = GaussianProcessSettings
    robust = False
    any_number = True
    tells_trust = False

    def fit_process(self, settings: GaussianProcessSettings, prior: Prior, targets: Tensor) -> FittedProcess:
        return fit_exact(prior, targets)
