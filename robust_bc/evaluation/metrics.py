"""What is measured of an episode beside its return, and which returns count as nothing and as everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from robust_bc.errors import RobustBCError

if TYPE_CHECKING:
    from robust_bc.evaluation.rollouts import Episode


@dataclass(frozen=True)
class Metric:
    """One number of an episode beside its return, read from what the environment tells in `info`."""

    name: str
    info: str
    """The entry of `info` it is read from."""
    reduce: Literal["last", "mean"]
    """The entry of the episode's last step, or its mean over the steps."""
    kind: Literal["number", "rate"] = "number"
    """A rate is yes or no for an episode; over many it gets a binomial interval."""


def metric_of(metric: Metric, episode: Episode) -> float:
    """The metric of one episode."""
    values = episode.infos[metric.info]
    return float(values[-1] if metric.reduce == "last" else values.mean())


@dataclass(frozen=True)
class Reference:
    """The returns of random actions and of an expert, which count as 0 and as 1."""

    random: float
    expert: float

    def __post_init__(self) -> None:
        if not abs(self.expert - self.random) > 0:  # equal, or not a number
            raise RobustBCError(
                f"the expert's return is {self.expert} and that of random actions {self.random}; they must differ."
            )

    def share(self, value: float) -> float:
        """The share of the expert's return: 0 as random actions, 1 as the expert."""
        return (value - self.random) / (self.expert - self.random)
