"""`mlp`: plain behaviour cloning, the least-squares network that robust methods are measured against."""

from __future__ import annotations

from torch import Tensor

from robust_bc.fleet.heads import RegressionHead
from robust_bc.losses import LossTerms, regression_loss
from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.mixture import MixtureParameters


class MLP(NetworkMethod[NetworkSettings]):
    """Least squares: min ‖y − f(x)‖²."""

    name = "mlp"
    summary = "plain behaviour cloning by least squares; assumes that all demonstrations are good"
    settings_type = NetworkSettings
    robust = False
    part_names = ("l2",)

    def head(self, settings: NetworkSettings, members: int, features: int, actions: int) -> RegressionHead:
        return RegressionHead(members, features, actions)

    def loss(
        self, settings: NetworkSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        return regression_loss(parameters, actions)

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        return (actions - parameters.means[:, 0]).square().sum(1)
