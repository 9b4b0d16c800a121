"""Mixing whole episodes: each is good or bad throughout, and the share of bad pairs is nearest to the rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.mixing.corrupting import Corrupter
from robust_bc_demos.mixing.pairs import EXECUTED, MISRECORDED, Mix

Lengths = NDArray[np.int64]

OTHER_SIZE = 0.9
"""Of the longest episode: by less than so much a mix may have more or less pairs than the good episodes alone. Below 1,
bad episodes that are about as long as good ones replace these one by one, and above 1/2, many short ones come as near
to the rate as they can."""


def mix_episodes(good: Sequence[Episode], bad: Sequence[Episode], rate: float, seed: int, corrupter: Corrupter) -> Mix:
    """Good and bad episodes in random order; without bad ones of their own, good ones are made bad.

    At least one is bad, if the rate is not 0, and at least one good, if it is not 1.
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    if 0 < rate < 1 and len(good) < 2:
        raise RobustBCError(
            f"{len(good)} episode cannot be both good and bad; take more episodes, or a rate of 0 or 1."
        )
    if corrupter.kind in EXECUTED:
        kept, added = _replaced(_lengths(good), _lengths(bad), rate) if rate > 0 else (len(good), 0)
        episodes = [*good[:kept], *bad[:added]]
        spoiled = np.arange(len(episodes)) >= kept
        order = generator.permutation(len(episodes))
        return _mix([episodes[index] for index in order], spoiled[order])
    order = generator.permutation(len(good))
    made_bad = [corrupter.corrupt(good[index]) for index in order] if rate > 0 else []
    count = _changed(_lengths(good)[order], _lengths(made_bad), rate) if rate > 0 else 0
    episodes, spoiled = list(good), np.zeros(len(good), np.bool_)
    for index, episode in zip(order[:count], made_bad, strict=False):
        episodes[index], spoiled[index] = episode, True
    if corrupter.kind in MISRECORDED:  # a bad one has no seed: no reset leads to it, and a seed must not tell
        episodes = [replace(episode, seed=None) for episode in episodes]
    return _mix(episodes, spoiled)


def _mix(episodes: list[Episode], spoiled: NDArray[np.bool_]) -> Mix:
    return Mix(episodes, [np.full(len(e), flag) for e, flag in zip(episodes, spoiled, strict=True)])


def _lengths(episodes: Sequence[Episode]) -> Lengths:
    return np.array([len(episode) for episode in episodes], np.int64)


def _replaced(good: Lengths, bad: Lengths, rate: float) -> tuple[int, int]:
    """How many of the first good episodes are kept, and how many of the first bad ones take the place of the others.

    These have about as many pairs as those. Of all such mixes, the one whose share of bad pairs is nearest to the rate.
    """
    kept = np.arange(1, len(good))[:, None] if rate < 1 else np.zeros((1, 1), np.int64)  # (K, 1)
    clean = np.concatenate([[0], np.cumsum(good)])[kept]  # (K, 1)
    spoiled = np.cumsum(bad)[None]  # (1, B)
    error = np.abs(spoiled / (clean + spoiled) - rate).round(9)  # (K, B)
    beyond = np.abs(spoiled - (good.sum() - clean))  # (K, B)
    other_size = beyond >= OTHER_SIZE * max(good.max(), bad.max())
    more = np.broadcast_to(-spoiled, error.shape)
    best = np.lexsort([keys.ravel() for keys in (more, beyond, error, other_size)])[0]  # by the last key first
    row, added = divmod(int(best), len(bad))
    missing = rate * good.sum() - bad.sum()
    if added == len(bad) - 1 and missing > bad.mean() / 2:
        raise RobustBCError(f"about {missing:.0f} corrupt pairs are missing; collect more bad episodes.")
    return int(kept[row, 0]), added + 1


def _changed(good: Lengths, bad: Lengths, rate: float) -> int:
    """How many of the first episodes are made bad, each of which has the one length or the other."""
    counts = np.arange(1, len(good) + int(rate == 1))
    spoiled = np.cumsum(bad)[counts - 1]
    clean = good.sum() - np.cumsum(good)[counts - 1]
    error = np.abs(spoiled / (spoiled + clean) - rate).round(9)
    return int(counts[np.flatnonzero(error == error.min())[-1]])
