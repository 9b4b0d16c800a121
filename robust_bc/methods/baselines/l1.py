"""`l1`: least absolute error, which learns a median where least squares learns a mean.

    min_f  mean_i Σ_d |y_id − f_d(x_i)|

What is learned is the conditional median of every action dimension: as long as clearly more than half of the actions
shown in a state are good ones close together, bad ones move it little, however far away they are.

Reference: Koenker & Bassett 1978, "Regression quantiles" (the median is the quantile at one half).
"""

from __future__ import annotations

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import residuals_of


class L1(RegressionMethod[NetworkSettings]):
    """Absolute error, summed over action dimensions."""

    name = "l1"
    summary = "least absolute error, a median; assumes that most actions shown in a state are good; nothing to tune"
    when = "for outliers at random, up to about 40 %, when nothing may be tuned"
    settings_type = NetworkSettings
    part_names = ("l1",)

    def loss(
        self, settings: NetworkSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        error = residuals_of(parameters, actions).abs().sum(1).mean(1)
        return LossTerms(error, {"l1": error})
