"""What methods share whose network gives one action instead of a distribution: the head, and how a fit is judged."""

from __future__ import annotations

from torch import Tensor

from robust_bc.methods.network import NetworkMethod, NetworkSettingsType
from robust_bc.networks.heads import RegressionHead
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import absolute_errors


class RegressionMethod(NetworkMethod[NetworkSettingsType]):
    """A point for every observation; what is left to say is the loss."""

    def head(self, settings: NetworkSettingsType, members: int, features: int, actions: int) -> RegressionHead:
        return RegressionHead(members, features, actions)

    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        """The absolute error, whatever the loss: it is one of single pairs, and bad ones move it little.

        A biweight is not: measured by its own MAD, a bad fit looks as good as a good one. Nor is a trimmed mean,
        which judges no single pair.
        """
        return absolute_errors(parameters, actions)
