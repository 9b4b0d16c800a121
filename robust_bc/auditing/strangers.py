"""Strangers: which groups of pairs are foreign, because they lead elsewhere and do not what the others would do there.

`provenance` puts pairs together by where they lead. The largest group is the first of a camp. A group that is not in it
need not be bad: it may be a part of the task that is seldom seen. So the camp's policy is learned, and asked what it
would do in the states of each group:

- a group that acts as the camp would, if not exactly, joins it, and so does one that the camp's own pairs lead to;
- one that does so no more than actions drawn at random is strange;
- the camp's policy is then learned anew, with those that joined, until nobody joins any more.

Where all begin, single pairs of both sides are one group, and some would vouch for the others. So a group of single
pairs joins at first only if it clearly acts as the camp would. If none does, those that are not strange are cut finer,
and what can be cut no more joins as above. Each cut is made once, for all groups that are undecided then: one that was
strange at that time, and is not any more, joins whole.

The largest group need not be of the larger side: one gait may be cut in several. So if a camp is outnumbered by those
who would be foreign, the largest group outside is the first of another camp, and the larger of the two counts. Nor is a
camp of single pairs right because it is large: those near the start act nearly as either side would, and join whoever
asks first. So if the group that it began with is no majority, the largest group of those who would be foreign is the
first of a rival, and each group is compared with the first policies of both, which know nobody but these two. The one
that most pairs are nearer to is the camp.

Who never joins and was strange in the mean of all looks is foreign. (Not in the last one alone: among those who joined
are bad pairs of the states in which all begin, and the policy learns from them, too.) Small groups are not: a dozen
pairs of a rare state look as strange, and a policy without them falls. If there were as many foreign pairs as the camp
has, or if the camp had not more than a third of all, it would not be what most do, and nobody is foreign.

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
CLEARLY_JOINS, JOINS, STRANGE = 0.5, 0.8, 0.9
"""Distance of that quarter from the camp's policy, in units of what the closest quarter of random actions has: below
the first a group joins, below the second if it can be cut no more, from the third on it is strange."""
FAR = 0.9
"""The same in units of the actions' deviation: what is nearer is not strange."""
LED_TO = 0.6
"""How often the camp's pairs lead to a group, in units of its share of the pairs, from which it is part of the task."""
FEWEST = 15
"""Landmarks of a group (pairs, where there are not many) below which it is not called foreign, nor cut off."""
LEAST_CAMP = 1 / 3
"""Share of all pairs that the camp exceeds, if anybody is foreign."""
FINER = (0.95, 0.97)
"""Likeness of futures at which groups of single pairs are cut again, one after the other."""
POLICIES = 8
"""That are learned of a camp, at most."""
MOST_POLICIES = 2 * POLICIES + 1
"""Of two camps, and the first one of a rival."""
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
    """Each (2, G): how far from the camp's policy every group is, in both units; one of each policy and of each cut."""
    cuts: tuple[float, ...] = ()
    """Likeness at which groups outside may still be cut, the next one first."""

    @classmethod
    def of(cls, pairs: Demonstrations, futures: Futures, seed: int) -> Camp:
        """One that begins with the largest group; whole episodes are never cut."""
        return cls(pairs, futures, futures.groups(), seed, cuts=FINER if futures.grouping.single else ())

    @property
    def flags(self) -> Flags:
        """(N,) whether each pair is in the camp."""
        return np.isin(self.group, list(self.joined))

    @property
    def foreign(self) -> Flags:
        """(N,) whether each pair is foreign."""
        return self.against & bool(not self.outnumbered and self.flags.mean() > LEAST_CAMP)

    @property
    def against(self) -> Flags:
        """(N,) whether each pair would be foreign, if this camp is what most do."""
        known = np.bincount(self.group[self.futures.landmarks], minlength=int(self.group.max()) + 1)
        return (self.strange & (known >= FEWEST))[self.group] & ~self.flags

    @property
    def outnumbered(self) -> bool:
        """Whether there are as many against the camp as in it."""
        return int(self.against.sum()) >= int(self.flags.sum())

    @property
    def strange(self) -> Flags:
        """(G,) whether each group does not what the camp would do, in the mean of all looks."""
        relative, absolute = np.mean(self.looks, axis=0)
        return np.asarray((relative >= STRANGE) & (absolute >= FAR))

    @property
    def contested(self) -> bool:
        """Whether single pairs would be foreign, though the largest group, where the camp began, is no majority."""
        return bool(self.futures.grouping.single and self.against.any() and 2 * (self.group == 0).mean() <= 1)

    def opposite(self) -> Camp:
        """Another camp, which begins with the largest group outside of this one."""
        return self._beginning_with(~self.flags)

    def rival(self) -> Camp:
        """Another camp, which begins with the largest group of those who would be foreign."""
        return self._beginning_with(self.against)

    def _beginning_with(self, some: Flags) -> Camp:
        other = Camp.of(self.pairs, self.futures, self.seed)
        other.joined = {int(np.bincount(other.group[some]).argmax())}
        return other

    def loses_to(self, rival: Camp) -> bool:
        """Whether most pairs are of groups that are nearer to what the rival's first policy would do than to ours."""
        sizes = np.bincount(self.futures.groups())  # before any was cut; pieces that were cut off come after these
        ours, theirs = (camp.looks[0][0][: len(sizes)] for camp in (self, rival))
        return 2 * int(sizes[theirs < ours].sum()) > int(sizes.sum())

    def ask(self, policy: Policy) -> bool:
        """Compare every group outside with what the camp's policy would do; gives whether to learn and ask again.

        Not if nobody has joined, or all have.
        """
        predicted = policy.predict(self.pairs.observations)[0]
        self.looks.append(self._look(predicted))
        while not self._join():
            if not self.cuts:
                return False
            self._cut()
            self.looks.append(self._look(predicted))  # beside the whole's: pieces are small
        return len(self.joined) <= int(self.group.max())

    def _look(self, predicted: NDArray[np.floating]) -> Floats:
        """(2, G) how far every group is from what the camp's policy would do (N, A)."""
        return np.stack(strangeness(self.pairs.actions, predicted, self.group, self.seed))

    def _join(self) -> bool:
        """Let those join who are near by the last look, or whom the camp leads to; gives whether anybody did."""
        near = self.looks[-1][0] < (CLEARLY_JOINS if self.cuts else JOINS)
        near |= self.futures.led_to(self.group, self.flags) >= LED_TO
        before = len(self.joined)
        self.joined |= set(np.flatnonzero(near).tolist())
        return len(self.joined) > before

    def _cut(self) -> None:
        """Cut the groups outside that might join, as fine as the next cut is, into pieces of enough landmarks."""
        finer = self.futures.groups(self.cuts[0])
        self.cuts = self.cuts[1:]
        undecided = ~self.strange | (self.looks[-1][0] < JOINS)
        parents = list(range(len(undecided)))  # of each group, itself or what it was cut off from
        for name in sorted(set(np.flatnonzero(undecided).tolist()) - self.joined):
            mine = np.flatnonzero(self.group == name)
            pieces, sizes = np.unique(finer[np.intersect1d(mine, self.futures.landmarks)], return_counts=True)
            for piece in pieces[sizes >= FEWEST][1:]:  # the first one keeps the name, and so do all small ones
                self.group[mine[finer[mine] == piece]] = len(parents)
                parents.append(name)
        self.looks = [look[:, parents] for look in self.looks]


def find_strangers(demonstrations: Sequence[Demonstrations], seeds: Sequence[int], learn: Learn) -> list[Flags]:
    """(N,) for each of many data sets: pairs of groups that lead elsewhere and act otherwise than most."""
    camps: dict[int, Camp] = {}
    for which, (pairs, seed) in enumerate(zip(demonstrations, seeds, strict=True)):
        futures = Futures.of(pairs, seed)
        if futures is not None and (camp := Camp.of(pairs, futures, seed)).group.any():
            camps[which] = camp
    _grow(camps, learn)
    others = {which: camp.opposite() for which, camp in camps.items() if camp.outnumbered}
    rivals = {which: camp.rival() for which, camp in camps.items() if camp.contested and which not in others}
    _ask(rivals, list(rivals), learn)
    lost = {which for which, rival in rivals.items() if camps[which].loses_to(rival)}
    others |= {which: camps[which].rival() for which in lost}
    _grow(others, learn)
    camps |= {
        which: other for which, other in others.items() if which in lost or other.flags.sum() > camps[which].flags.sum()
    }
    nobody = (np.zeros(len(pairs), np.bool_) for pairs in demonstrations)
    return [camps[which].foreign if which in camps else flags for which, flags in enumerate(nobody)]


def _grow(camps: dict[int, Camp], learn: Learn) -> None:
    """Ask the policy of each camp, learned anew whenever somebody joined."""
    growing = list(camps)
    for _ in range(POLICIES):
        growing = _ask(camps, growing, learn)


def _ask(camps: dict[int, Camp], some: list[int], learn: Learn) -> list[int]:
    """Learn and ask the policies of some of the camps; gives those whose policy is to be learned anew."""
    policies = learn(some, [camps[which].flags for which in some]) if some else []
    return [which for which, policy in zip(some, policies, strict=True) if camps[which].ask(policy)]


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
