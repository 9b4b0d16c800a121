"""`l1`: least absolute error, which learns a median where least squares learns a mean.

    min_f  mean_i Σ_d |y_id − f_d(x_i)|

What is learned is the conditional median of every action dimension: as long as clearly more than half of the actions
shown in a state are good ones close together, bad ones move it little, however far away they are.

Reference: Koenker & Bassett 1978, "Regression quantiles" (the median is the quantile at one half).
"""

from __future__ import annotations

from torch import Tensor

from robust_bc.fleet.heads import RegressionHead
from robust_bc.losses import LossTerms
from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.mixture import MixtureParameters
from robust_bc.robust_losses import absolute_errors


class L1(NetworkMethod[NetworkSettings]):
    """Absolute error, summed over action dimensions."""

    name = "l1"
    summary = "least absolute error, a median; assumes that most actions shown in a state are good; nothing to tune"
    settings_type = NetworkSettings
    part_names = ("l1",)

    def head(self, settings: NetworkSettings, members: int, features: int, actions: int) -> RegressionHead:
        return RegressionHead(members, features, actions)

    def loss(
        self, settings: NetworkSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        error = absolute_errors(parameters, actions).mean(1)
        return LossTerms(error, {"l1": error})

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return absolute_errors(parameters, actions)
