"""`co-teaching`: two networks, each learning from the pairs that the other finds easy (Han et al., NeurIPS 2018).

Networks learn what most pairs say before they know the rest by heart, so pairs of small error are probably good. A
network that chose its own pairs would believe its first mistakes ever more; a peer with another start makes others.
Both see the same batch, and each descends on

    (1/|S|) Σ_{i∈S} ‖y_i − f(x_i)‖²,   S = the (1 − r(t))·B pairs with the smallest error of the *other* network,

where r(t) grows linearly from 0 to the assumed share of bad pairs. The policy's action is the mean of the two.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.baselines.trimmed import TrimmedSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import kept_of, residuals_of


@dataclass(frozen=True, kw_only=True)
class CoTeachingSettings(TrimmedSettings):
    """Settings of co-teaching: those of the trimmed loss, for each of two networks."""

    @property
    def peers(self) -> int:
        return 2


class CoTeaching(RegressionMethod[CoTeachingSettings]):
    """Least squares on what the other network finds easy."""

    name = "co-teaching"
    summary = "two networks teach each other their easy pairs; assumes a known share of bad pairs, learned late"
    when = "when the share of bad pairs is known and no right action is rare, like trimmed"
    settings_type = CoTeachingSettings
    part_names = ("l2",)

    def loss(
        self, settings: CoTeachingSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        errors = residuals_of(parameters, actions).square().sum(1)  # (M, B)
        # Peers stand side by side in the fleet: 0 with 1, 2 with 3, ...
        of_the_other = errors.detach().reshape(-1, 2, errors.shape[1]).flip(1).reshape(errors.shape)
        total = errors.gather(1, kept_of(of_the_other, settings.rate_at(progress))).mean(1)
        return LossTerms(total, {"l2": total})
