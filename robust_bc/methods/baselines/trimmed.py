"""`trimmed`: least trimmed squares, learned from the pairs of each batch that fit best (Shen & Sanghavi 2019).

    min_f  (1/|S|) Σ_{i∈S} ‖y_i − f(x_i)‖²,     S = the (1 − rate)·B pairs of the batch of smallest ‖y_i − f(x_i)‖²

Networks learn what most pairs say before they learn the exceptions, so that early in training a bad pair is one with a
large loss. The trimmed share grows linearly from nothing to `rate` over the first `warm_up` of training: at the very
start no loss says anything yet, and later the exceptions are known by heart. rate = 0 is `mlp`.

References: Rousseeuw 1984, "Least median of squares regression" (least trimmed squares); Shen & Sanghavi 2019,
"Learning with bad training data via iterative trimmed loss minimization".
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import residuals_of, trimmed_mean


@dataclass(frozen=True, kw_only=True)
class TrimmedSettings(NetworkSettings):
    """Settings of least trimmed squares."""

    rate: float = 0.4
    """Share of bad pairs that is assumed: so many of each batch, the worst fitted ones, are left out."""
    warm_up: float = 0.05
    """Share of training over which the share that is left out grows from 0 to `rate`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("rate", 0 <= self.rate < 1, "at least 0 and below 1")
        self.require_share("warm_up")

    def rate_at(self, progress: float) -> float:
        """The share that is left out after this share of training."""
        return self.rate * (progress / self.warm_up if progress < self.warm_up else 1.0)


class Trimmed(RegressionMethod[TrimmedSettings]):
    """Least squares on the best-fitted share of every batch."""

    name = "trimmed"
    summary = "least squares without the worst-fitted pairs; assumes that you know about how many are bad"
    when = "when the share of bad pairs is known and no right action is rare"
    settings_type = TrimmedSettings
    part_names = ("l2",)

    def loss(
        self, settings: TrimmedSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        error = trimmed_mean(residuals_of(parameters, actions).square().sum(1), settings.rate_at(progress))
        return LossTerms(error, {"l2": error})
