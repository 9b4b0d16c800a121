"""`mlp`: plain behaviour cloning, the least-squares network that robust methods are measured against."""

from __future__ import annotations

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms, regression_loss, squared_errors
from robust_bc.networks.mixture import MixtureParameters


class MLP(RegressionMethod[NetworkSettings]):
    """Least squares: min ‖y − f(x)‖²."""

    name = "mlp"
    summary = "plain behaviour cloning by least squares; assumes that all demonstrations are good"
    when = "for clean demonstrations, and as the line to beat"
    settings_type = NetworkSettings
    robust = False
    part_names = ("l2",)

    def loss(
        self, settings: NetworkSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        return regression_loss(parameters, actions)

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return squared_errors(parameters, actions)
