"""Provenance: which pairs lead to which, and so which of them come from another source than most.

A demonstrator that goes its own way visits states of its own: nobody contradicts it there, so no action looks wrong.
But where its pairs lead, its own pairs go on, and the others' never come. So pairs are linked to where they lead: pair
i goes to the pairs whose observations are nearest to its successor, which makes a Markov chain T over pairs, and

    R = Σ_t γ^t T^(t+1) = T (I − γT)⁻¹,      γ = 1 − 1/HORIZON

says how often each pair will be met on the way from each. Two pairs have one future if their rows of R are parallel:
their similarity is the cosine. Pairs, or episodes by the mean similarity of their pairs, are then put together by
average linkage while their futures are similar. Phases of one gait are not taken apart, as a clustering of states would
do, for each leads to the next.

The largest group is what most demonstrations do. Another one need not be bad: it may be a part of the task that is
seldom seen, or never left. It is foreign if what it does is not what the largest group's policy would do there, no more
than actions drawn at random are (`strange`). If no group has more than half of the pairs, nobody is foreign.

It needs the successor of each pair. It is blind to bad actions in good states: that is `conflict`'s part. A million
pairs are grouped by a sample of `LANDMARKS` of them, and each of the others by the landmark nearest to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.neighbors import NearestNeighbors

from robust_bc.auditing.calibration import distances
from robust_bc.auditing.pooling import Grouping
from robust_bc.demonstrations import Demonstrations
from robust_bc.normalisation import Affine

Floats = NDArray[np.float64]
Index = NDArray[np.int64]

NEIGHBOURS = 5
"""Pairs that one leads to. With more, the few pairs of a small group lead into a large one nearby."""
HORIZON = 100
"""Steps ahead that count. Long enough to pass from one phase of a task to the next."""
SAME_FUTURE = (0.2, 0.35, 0.5)
"""Mean cosines from which two groups are one. Of single pairs, whose futures are less sure than those of episodes, the
next is asked where the one before finds nobody foreign."""
LANDMARKS = 1500
QUERIES = 50_000
"""Pairs that are looked up at a time, which bounds the memory."""
QUARTER, AS_IF_RANDOM, FAR = 0.25, 0.9, 0.9
"""A group is strange if even the closest quarter of its actions is as far from the largest group's policy as this share
of what the closest quarter of random actions is, and this far in units of the actions' deviation. Not the median: of an
honest group with single bad actions in it, the good ones shall count."""
SHUFFLES = 5


def groups(demonstrations: Demonstrations, seed: int = 0) -> Index:
    """(N,) the group of each pair by where it leads: 0 is the largest. All are 0 where successors are not known."""
    return groups_by_cuts(demonstrations, seed, SAME_FUTURE[:1])[0]


def groups_by_cuts(demonstrations: Demonstrations, seed: int, cuts: Sequence[float]) -> list[Index]:
    """(N,) for each of some cosines from which two groups are one; futures are looked at once for all of them."""
    if demonstrations.successors is None or len(demonstrations) <= NEIGHBOURS + 1:
        return [np.zeros(len(demonstrations), np.int64)] * len(cuts)
    scale = Affine.of(demonstrations.observations)
    before, after = scale.forward(demonstrations.observations), scale.forward(demonstrations.successors)
    grouping = Grouping.of(demonstrations.episodes)
    episode = grouping.places
    chosen = _landmarks(grouping, episode, seed)
    similar = similarity(before[chosen], after[chosen])
    found = [put_together(similar, episode[chosen], same) for same in cuts]  # (L,) each
    if len(chosen) == len(before):
        return [_by_size(group) for group in found]
    # An episode is of one group throughout, and its own landmarks know which; one without asks those nearby.
    has_landmark = np.zeros(len(grouping.names), np.bool_)
    has_landmark[episode[chosen]] = True
    homeless = np.flatnonzero(~has_landmark[episode])
    nearest = _nearest(before[chosen], before[homeless]) if len(homeless) else np.zeros(0, np.int64)
    return [_by_size(_spread(group, episode, chosen, homeless, nearest)) for group in found]


def _spread(group: Index, episode: Index, chosen: Index, homeless: Index, nearest: Index) -> Index:
    """(N,) from landmarks (L,) to all pairs; an episode without takes the one that most of its pairs are nearest to."""
    known = np.full(int(episode.max()) + 1, -1)
    known[episode[chosen]] = group
    width = int(group.max()) + 1
    names, votes = np.unique(episode[homeless] * width + group[nearest], return_counts=True)
    for_most = names[np.argsort(votes, kind="stable")]  # the last one of an episode has most votes, and stays
    known[for_most // width] = for_most % width
    return np.asarray(known[episode])


def strange(
    actions: NDArray[np.floating], predicted: NDArray[np.floating], group: Index, scale: Floats, seed: int = 0
) -> NDArray[np.bool_]:
    """(N,) pairs of groups (N,) that do not do at all what the largest group's policy would, (N, A)."""
    generator = np.random.default_rng([seed, 11])
    foreign = np.zeros(len(group), np.bool_)
    if not has_majority(group):
        return foreign
    for other in range(1, int(group.max()) + 1):
        mine = np.flatnonzero(group == other)
        found = float(np.quantile(distances(actions[mine], predicted[mine], scale), QUARTER))
        repeated = np.tile(mine, SHUFFLES)
        drawn = actions[generator.integers(len(actions), size=len(repeated))]
        random = float(np.quantile(distances(drawn, predicted[repeated], scale), QUARTER))
        foreign[mine] = found >= max(AS_IF_RANDOM * random, FAR)
    return foreign


def has_majority(group: Index) -> bool:
    """Whether the largest of the groups (N,) has more than half of all pairs."""
    return 2 * int((group == 0).sum()) > len(group)


def similarity(before: NDArray[np.float32], after: NDArray[np.float32]) -> Floats:
    """(L, L) cosine of the futures of pairs with observations (L, S) and successors (L, S)."""
    count = len(before)
    chain = transitions(before, after)
    met = np.linalg.solve(np.eye(count) - (1 - 1 / HORIZON) * chain, chain)  # R, the resolvent commutes with T
    length = np.linalg.norm(met, axis=1, keepdims=True)
    direction = met / length
    return np.asarray(direction @ direction.T)


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


def put_together(similar: Floats, units: Index, same: float = SAME_FUTURE[0]) -> Index:
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


def _landmarks(grouping: Grouping, episode: Index, seed: int) -> Index:
    """All pairs, or so many of them: of every episode the same share, drawn at random."""
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
