"""Strangers: which groups of pairs are foreign, because they lead elsewhere and do not what the others would do there.

`provenance` puts pairs together by where they lead. The largest group is the first of a camp. A group that is not in it
need not be bad: it may be a part of the task that is seldom seen. So the camp's policy is learned, and asked what it
would do in the states of each group:

- a group that acts as the camp would, if not exactly, joins it, and so does one that the camp's own pairs lead to;
- one that does so no more than actions drawn at random is strange;
- the camp's policy is then learned anew, with those that joined, until nobody joins any more.

Who never joins and was strange in the mean of all looks is foreign. (Not in the last one alone: among those who joined
are bad pairs of the states in which all begin, and the policy learns from them, too.) Small groups are not: a dozen
pairs of a rare state look as strange, and a policy without them falls. If the camp has not more than half of the pairs,
it is not what most do, and nobody is foreign.

Who passes through states of its own before it reaches the camp's, and does something else there, is the case that
cannot be told from a foreign source: an approach before a grasp, if it is recorded as single pairs. Whole episodes are
grouped as such, and do not have that weakness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.calibration import TINY, distances
from robust_bc.auditing.provenance import Futures
from robust_bc.demonstrations import Demonstrations
from robust_bc.normalisation import Affine
from robust_bc.policy import Policy

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Index = NDArray[np.int64]
Learn = Callable[[Sequence[int], Sequence[Flags]], Sequence[Policy]]
"""Policies for some data sets, by their places, each learned from the pairs that are flagged (N,)."""

QUARTER = 0.25
"""What a group does is told by the closest quarter of its actions. Not the median: of an honest group with single bad
actions in it, the good ones shall count."""
JOINS, STRANGE = 0.8, 0.9
"""Distance of that quarter from the camp's policy, in units of what the closest quarter of random actions has: below
the one a group joins, from the other on it is strange."""
FAR = 0.9
"""The same in units of the actions' deviation: what is nearer is not strange."""
LED_TO = 0.6
"""How often the camp's pairs lead to a group, in units of its share of the pairs, from which it is part of the task."""
FEWEST = 15
"""Landmarks of a group (pairs, where there are not many) below which it is not called foreign."""
MOST_LOOKS = 4
MEMBERS = 3
"""Networks of the camp's policy, whose mean is asked: what one of them does in states it has not seen is chance."""
SHUFFLED = 2000
"""Random actions that a group is compared with, at least."""


@dataclass
class Camp:
    """Groups of one data set that belong together so far, and what is known of the others."""

    pairs: Demonstrations
    futures: Futures
    group: Index  # (N,)
    seed: int
    joined: set[int] = field(default_factory=lambda: {0})
    looks: list[Floats] = field(default_factory=list)
    """Of each round, (2, G): how far from the camp's policy every group is, in both units."""

    @property
    def flags(self) -> Flags:
        """(N,) whether each pair is in the camp."""
        return np.isin(self.group, list(self.joined))

    @property
    def foreign(self) -> Flags:
        """(N,) whether each pair is foreign."""
        relative, absolute = np.mean(self.looks, axis=0)  # (G,) each
        known = np.bincount(self.group[self.futures.landmarks], minlength=len(relative))
        strange = (relative >= STRANGE) & (absolute >= FAR) & (known >= FEWEST)
        camp = self.flags
        return strange[self.group] & ~camp if 2 * int(camp.sum()) > len(camp) else np.zeros(len(camp), np.bool_)

    def ask(self, policy: Policy) -> bool:
        """Compare every group outside with what the camp's policy would do; gives whether the camp has grown."""
        predicted = policy.predict(self.pairs.observations)[0]
        relative, absolute = strangeness(self.pairs.actions, predicted, self.group, self.seed)
        self.looks.append(np.stack([relative, absolute]))
        near = (relative < JOINS) | (self.futures.led_to(self.group, self.flags) >= LED_TO)
        before = len(self.joined)
        self.joined |= set(np.flatnonzero(near).tolist())
        return before < len(self.joined) <= int(self.group.max())


def find_strangers(demonstrations: Sequence[Demonstrations], seeds: Sequence[int], learn: Learn) -> list[Flags]:
    """(N,) for each of many data sets: pairs of groups that lead elsewhere and act otherwise than most."""
    camps: dict[int, Camp] = {}
    for which, (pairs, seed) in enumerate(zip(demonstrations, seeds, strict=True)):
        futures = Futures.of(pairs, seed)
        if futures is not None and (group := futures.groups()).any():
            camps[which] = Camp(pairs, futures, group, seed)
    growing = list(camps)
    for _ in range(MOST_LOOKS):
        if not growing:
            break
        policies = learn(growing, [camps[which].flags for which in growing])
        growing = [which for which, policy in zip(growing, policies, strict=True) if camps[which].ask(policy)]
    nobody = (np.zeros(len(pairs), np.bool_) for pairs in demonstrations)
    return [camps[which].foreign if which in camps else flags for which, flags in enumerate(nobody)]


def strangeness(
    actions: NDArray[np.floating], predicted: NDArray[np.floating], group: Index, seed: int = 0
) -> tuple[Floats, Floats]:
    """(G,) how far the closest quarter of each group's actions is from what a policy would do, (N, A).

    In units of how far the closest quarter of random actions is, and in units of the actions' deviation.
    """
    generator = np.random.default_rng([seed, 11])
    scale = Affine.of(actions).scale
    away, random = np.zeros((2, int(group.max()) + 1))
    for name in range(len(away)):
        mine = np.flatnonzero(group == name)
        away[name] = np.quantile(distances(actions[mine], predicted[mine], scale), QUARTER)
        repeated = np.tile(mine, -(-SHUFFLED // len(mine)))
        drawn = actions[generator.integers(len(actions), size=len(repeated))]
        random[name] = np.quantile(distances(drawn, predicted[repeated], scale), QUARTER)
    return away / np.maximum(random, TINY), away
