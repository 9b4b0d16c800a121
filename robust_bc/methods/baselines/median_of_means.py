"""`median-of-means`: least squares on the group of pairs whose mean loss is the median one (Lecué & Lerasle 2020).

    min_f  median_g  mean_{i∈g} ‖y_i − f(x_i)‖²,     g = 1..G, a random split of the batch

Groups without bad pairs have ordinary losses; as long as they are the majority, the median group is one of them or no
worse. That is the condition: with a share ε of bad pairs a group of n is free of them with probability (1 − ε)^n, which
must be about one half or more. So groups have to be small (two pairs at 30 %), and only the median group, or the middle
two, are learned from: a guarantee that asks nothing of the bad pairs is paid for with a noisy gradient. Batches come
in random order, so that every step splits anew.

References: Lecué & Lerasle 2020, "Robust machine learning by median-of-means"; Liu et al. 2022, "Robust imitation
learning from corrupted demonstrations".
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.regression import RegressionMethod
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.robust_losses import median_of_means, residuals_of


@dataclass(frozen=True, kw_only=True)
class MedianOfMeansSettings(NetworkSettings):
    """Settings of the median of means."""

    groups: int = 64
    """Groups per batch. More than half of them should be free of bad pairs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("groups")


class MedianOfMeans(RegressionMethod[MedianOfMeansSettings]):
    """The median of the groups' mean squared errors."""

    name = "median-of-means"
    summary = "least squares on the median group of pairs; assumes that most groups are free of bad pairs"
    when = "to compare; none of our benchmarks speaks for it"
    settings_type = MedianOfMeansSettings
    part_names = ("l2",)

    def loss(
        self, settings: MedianOfMeansSettings, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        error = median_of_means(residuals_of(parameters, actions).square().sum(1), settings.groups)
        return LossTerms(error, {"l2": error})
