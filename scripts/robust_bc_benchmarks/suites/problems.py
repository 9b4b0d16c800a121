"""A regression problem: demonstrations, partly bad, and fresh inputs with what should be done there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.policies.policy import Policy

HELD_OUT, STREAM = 0.2, 4
"""Share of the pairs that a policy is judged by, and which of a seed's random streams draws them."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Of N pairs and T fresh inputs."""

    demonstrations: Demonstrations
    observations: Array  # (T, S)
    actions: Array  # (T, A)
    scale: float = 1.0
    """Unit of errors."""
    held_out: Demonstrations | None = None
    """Pairs to judge by, as bad as the others."""

    def error(self, policy: Policy) -> float:
        """RMSE at the fresh inputs."""
        predicted, _ = policy.predict(self.observations)
        return float(np.sqrt(np.mean((predicted - self.actions) ** 2)) / self.scale)

    def holding_out(self, seed: int) -> Problem:
        """With a fifth of the pairs held out; the same ones at every rate of a seed."""
        pairs = self.demonstrations
        order = np.random.default_rng([seed, STREAM]).permutation(len(pairs))
        out, kept = np.split(order, [round(HELD_OUT * len(pairs))])
        return replace(self, demonstrations=pairs.select(np.sort(kept)), held_out=pairs.select(np.sort(out)))


def held_out_distance(policy: Policy, pairs: Demonstrations) -> float:
    """Median over pairs of the root mean square difference between what was shown and what the policy does.

    The one rule by which settings are chosen. As long as fewer than half of the pairs are bad, the median pair is a
    good one: it needs no clean label, no likelihood and no rate, and is the same for every method. In deviations of
    the actions.
    """
    away = (pairs.actions - policy.predict(pairs.observations)[0]) / pairs.actions.std(0)
    return float(np.median(np.sqrt((away**2).mean(1))))
