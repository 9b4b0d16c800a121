"""Provenance: which pairs lead to which, and so which of them belong together.

A demonstrator that goes its own way visits states of its own: nobody contradicts it there, so no action looks wrong.
But where its pairs lead, its own pairs go on, and the others' never come. So pairs are linked to where they lead: pair
i goes to the pairs whose observations are nearest to its successor, which makes a Markov chain T over pairs, and

    R = Σ_t γ^t T^(t+1) = T (I − γT)⁻¹,      γ = 1 − 1/HORIZON

says how often each pair will be met on the way from each. Two pairs have one future if their rows of R are parallel:
their similarity is the cosine. Pairs, or episodes by the mean similarity of their pairs, are then put together by
average linkage while their futures are similar. Phases of one gait are not taken apart, as a clustering of states would
do, for each leads to the next.

It needs the successor of each pair, and does not look at actions: which of the groups are foreign is for `strangers` to
say. A million pairs are grouped by a sample of `LANDMARKS` of them, and each of the others by the landmark nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.neighbors import NearestNeighbors

from robust_bc.auditing.pooling import Grouping
from robust_bc.demonstrations import Demonstrations
from robust_bc.normalisation import Affine

Floats = NDArray[np.float64]
Index = NDArray[np.int64]

NEIGHBOURS = 5
"""Pairs that one leads to. With more, the few pairs of a small group lead into a large one nearby."""
HORIZON = 100
"""Steps ahead that count. Long enough to pass from one phase of a task to the next."""
SAME_FUTURE = 0.45
"""Mean cosine from which two groups of episodes are one."""
SAME_FUTURE_OF_PAIRS = 0.9
"""The same for single pairs. What is met first on the way of two demonstrators is alike in the long run, so groups that
are to be of one demonstrator must be small."""
LANDMARKS = 1500
QUERIES = 50_000
"""Pairs that are looked up at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class Futures:
    """Where L landmarks of N pairs lead, and how to tell of the others."""

    met: Floats  # (L, L), R
    landmarks: Index  # (L,)
    grouping: Grouping
    homeless: Index  # pairs of episodes that have no landmark
    nearest: Index  # of each of these, the landmark nearest to it

    @classmethod
    def of(cls, demonstrations: Demonstrations, seed: int = 0) -> Futures | None:
        """None where successors are not known, or with a handful of pairs."""
        if demonstrations.successors is None or len(demonstrations) <= NEIGHBOURS + 1:
            return None
        scale = Affine.of(demonstrations.observations)
        before, after = scale.forward(demonstrations.observations), scale.forward(demonstrations.successors)
        grouping = Grouping.of(demonstrations.episodes)
        landmarks = _landmarks(grouping, seed)
        has_landmark = np.zeros(len(grouping.names), np.bool_)
        has_landmark[grouping.places[landmarks]] = True
        homeless = np.flatnonzero(~has_landmark[grouping.places])
        nearest = _nearest(before[landmarks], before[homeless]) if len(homeless) else np.zeros(0, np.int64)
        return cls(often_met(before[landmarks], after[landmarks]), landmarks, grouping, homeless, nearest)

    def groups(self, same: float | None = None) -> Index:
        """(N,) the group of each pair: 0 is the largest. `same` is the mean cosine from which two groups are one."""
        if same is None:
            same = SAME_FUTURE_OF_PAIRS if self.grouping.single else SAME_FUTURE
        episode = self.grouping.places
        found = put_together(similarity(self.met), episode[self.landmarks], same)  # (L,)
        return _by_size(_spread(found, episode, self.landmarks, self.homeless, self.nearest))

    def led_to(self, group: Index, camp: NDArray[np.bool_]) -> Floats:
        """(G,) how often pairs of a camp (N,) meet those of each group (N,), in units of its share of all pairs."""
        code, inside = group[self.landmarks], camp[self.landmarks]
        share = np.bincount(code, minlength=int(group.max()) + 1) / len(code)
        mass = self.met[inside].mean(0) / HORIZON if inside.any() else np.zeros(len(code))  # (L,), sums to 1
        return np.asarray(np.bincount(code, mass, minlength=len(share)) / np.where(share > 0, share, np.inf))


def _spread(group: Index, episode: Index, chosen: Index, homeless: Index, nearest: Index) -> Index:
    """(N,) from landmarks (L,) to all pairs; an episode without takes the one that most of its pairs are nearest to."""
    known = np.full(int(episode.max()) + 1, -1)
    known[episode[chosen]] = group
    width = int(group.max()) + 1
    names, votes = np.unique(episode[homeless] * width + group[nearest], return_counts=True)
    for_most = names[np.argsort(votes, kind="stable")]  # the last one of an episode has most votes, and stays
    known[for_most // width] = for_most % width
    return np.asarray(known[episode])


def similarity(met: Floats) -> Floats:
    """(L, L) cosines of the rows of R (L, L)."""
    direction = met / np.linalg.norm(met, axis=1, keepdims=True)
    return np.asarray(direction @ direction.T)


def often_met(before: NDArray[np.float32], after: NDArray[np.float32]) -> Floats:
    """(L, L) R, of pairs with observations (L, S) and successors (L, S)."""
    chain = transitions(before, after)
    return np.asarray(np.linalg.solve(np.eye(len(before)) - (1 - 1 / HORIZON) * chain, chain))  # T commutes with it


def transitions(before: NDArray[np.float32], after: NDArray[np.float32]) -> Floats:
    """(L, L) rows that sum to 1: where each pair leads, by a Gaussian of the distance to its successor."""
    neighbours = min(NEIGHBOURS, len(before) - 1)
    found = NearestNeighbors(n_neighbors=neighbours + 1).fit(before)
    distance, index = found.kneighbors(after)  # (L, n + 1)
    own = index == np.arange(len(before))[:, None]  # a pair does not lead to itself
    squared = np.where(own, np.inf, distance.astype(np.float64) ** 2)
    order = np.argsort(squared, axis=1)[:, :neighbours]
    squared, index = np.take_along_axis(squared, order, 1), np.take_along_axis(index, order, 1)
    width = squared.mean(1, keepdims=True)
    weight = np.exp(-squared / np.where(width > 0, 2 * width, 1.0))
    chain = np.zeros((len(before), len(before)))
    np.put_along_axis(chain, index, weight / weight.sum(1, keepdims=True), 1)
    return chain


def put_together(similar: Floats, units: Index, same: float) -> Index:
    """(L,) the group of each pair, from similarities (L, L): pairs of one unit (L,) stay together."""
    names, code, sizes = np.unique(units, return_inverse=True, return_counts=True)
    if len(names) < 2:
        return np.zeros(len(units), np.int64)
    if len(names) < len(units):
        member = np.zeros((len(names), len(units)))
        member[code, np.arange(len(units))] = 1 / sizes[code]
        similar = member @ similar @ member.T  # (U, U)
    distance = np.clip(1 - similar, 0, None)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    return np.asarray(fcluster(tree, 1 - same, "distance") - 1, np.int64)[code]


def _by_size(group: Index) -> Index:
    """The same groups, numbered from the largest to the smallest."""
    _, code, sizes = np.unique(group, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[code]


def _landmarks(grouping: Grouping, seed: int) -> Index:
    """All pairs, or so many of them: of every episode the same share, drawn at random."""
    episode = grouping.places
    count = len(episode)
    if count <= LANDMARKS:
        return np.arange(count)
    generator = np.random.default_rng([seed, 6])
    shuffled = generator.permutation(count)
    by_episode = shuffled[np.argsort(episode[shuffled], kind="stable")]
    rank = np.empty(count, np.int64)  # of each pair within its episode, at random
    rank[by_episode] = np.arange(count) - np.repeat(grouping.starts, grouping.lengths)
    share = (rank + generator.random(count)) / grouping.lengths[episode]
    return np.sort(np.argsort(share, kind="stable")[:LANDMARKS]).astype(np.int64)


def _nearest(landmarks: NDArray[np.float32], asked: NDArray[np.float32]) -> Index:
    """(Q,) the landmark nearest to each."""
    found = NearestNeighbors(n_neighbors=1).fit(landmarks)
    parts = [
        found.kneighbors(asked[start : start + QUERIES], return_distance=False)[:, 0]
        for start in range(0, len(asked), QUERIES)
    ]
    return np.concatenate(parts)
