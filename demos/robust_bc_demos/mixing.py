"""Mixing: clean demonstrations with an exact share of corrupt pairs, and a hidden record of which they are.

| how | what a corrupt pair is |
| --- | --- |
| rollout | state and action from the bad teacher's own episodes |
| relabel | a state of the good teacher, the action that the bad one would take there |
| flip | a state of the good teacher, its action mirrored in the middle of the action space (negated, if that is zero) |
| uniform | a state of the good teacher, a uniformly random action |

For one seed and rate the clean pairs are the same whatever the way; a higher rate corrupts those of a lower one and
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode
from robust_bc_demos.teachers import Teacher, limits, random_actions

HOWS = ("rollout", "relabel", "flip", "uniform")


@dataclass(frozen=True)
class Mix:
    """Episodes, and for each of them which of its pairs are corrupt."""

    episodes: list[Episode]
    corrupt: list[NDArray[np.bool_]]

    @property
    def labels(self) -> NDArray[np.bool_]:
        """(N,) in the order of the pairs."""
        return np.concatenate(self.corrupt)


def check_mix(how: str, rate: float, pairs: int | None) -> None:
    """One sentence for whatever cannot be mixed."""
    if how not in HOWS:
        raise RobustBCError(f"there is no way '{how}' to corrupt; the ways are {', '.join(HOWS)}.")
    if not 0 <= rate <= 1:
        raise RobustBCError(f"rate must be between 0 and 1, but it is {rate}.")
    if pairs is not None and pairs < 2:
        raise RobustBCError(f"pairs must be at least 2 or 'all', but it is {pairs}.")


def corrupt_count(rate: float, pairs: int) -> int:
    """The share as a number of pairs, to the nearest, halves upward: of 0.145 as it was typed, not as it is stored."""
    return int((Decimal(str(rate)) * pairs).quantize(Decimal(1), ROUND_HALF_UP))


def mix_pairs(
    good: Sequence[Episode], bad: Sequence[Episode], how: str, rate: float, pairs: int, seed: int, corrupter: Corrupter
) -> Mix:
    """`pairs` single pairs in random order, each a one-step episode with the observation that truly came next."""
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    count = corrupt_count(rate, pairs)
    # Whatever the way, the first pairs that are drawn stay clean and the last ones are corrupt.
    drawn = generator.permutation(_total(good))
    clean = _draw(good, pairs if how != "rollout" else pairs - count, "clean", drawn)
    if how == "rollout":
        corrupt = _draw(bad, count, "corrupt", generator.permutation(_total(bad)))
    else:  # from the end, so that a higher rate begins with the random actions of a lower one
        corrupt = corrupter.change(clean[pairs - count :][::-1]) if count else []
    singles, labels = clean[: pairs - count] + corrupt, np.arange(pairs) >= pairs - count
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(5,))).permutation(pairs)
    return Mix([singles[index] for index in order], [labels[index : index + 1] for index in order])


def mix_episodes(
    good: Sequence[Episode], bad: Sequence[Episode], how: str, rate: float, seed: int, corrupter: Corrupter
) -> Mix:
    """Whole episodes; bad ones are bad throughout, but for one that is cut or changed midway so that the rate is exact.

    For `rollout` the number of good episodes is the nearest to their share, and bad ones fill up.
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    if how == "rollout":
        kept = list(good[: len(good) - corrupt_count(rate, len(good))])
        if not kept and rate < 1:
            raise RobustBCError(f"a rate of {rate} leaves none of {len(good)} episodes clean; take more episodes.")
        clean = _total(kept)
        wanted = round(clean * rate / (1 - rate)) if rate < 1 else _total(good)
        foreign = _cut(bad, wanted)
        episodes = kept + foreign
        labels = [np.full(len(e), index >= len(kept)) for index, e in enumerate(episodes)]
        order = generator.permutation(len(episodes))
        return Mix([episodes[index] for index in order], [labels[index] for index in order])
    left = corrupt_count(rate, _total(good))
    episodes, labels = list(good), [np.zeros(len(e), np.bool_) for e in good]
    for index in generator.permutation(len(good)):
        part = min(left, len(good[index]))
        if part:
            labels[index][:part] = True
            episodes[index] = corrupter.change_steps(good[index], part)
            left -= part
    return Mix(episodes, labels)


@dataclass
class Corrupter:
    """Replaces actions of good demonstrations, in one of the ways that need no bad episodes."""

    how: str
    space: spaces.Box
    generator: np.random.Generator
    bad_teacher: Teacher | None = None

    def actions(self, observations: NDArray[np.floating], actions: NDArray[np.floating]) -> NDArray[np.floating]:
        """Corrupt actions (N, A) for pairs of observations (N, S) and actions (N, A)."""
        if self.how == "flip":
            low, high = limits(self.space)
            bounded = np.isfinite(low) & np.isfinite(high)
            twice_the_middle = np.where(bounded, np.where(bounded, low, 0) + np.where(bounded, high, 0), 0)
            return np.asarray(np.clip(twice_the_middle - actions, low, high), actions.dtype)
        if self.how == "uniform":
            return random_actions(self.space, len(actions), self.generator)
        if self.bad_teacher is None:
            raise RobustBCError("relabel asks a bad teacher what it would do; name one with --bad.")
        return np.asarray(self.bad_teacher.label(observations, self.generator), actions.dtype)

    def change(self, singles: Sequence[Episode]) -> list[Episode]:
        """One-step episodes with corrupt actions."""
        states = np.concatenate([single.observations[:1] for single in singles])
        changed = self.actions(states, np.concatenate([single.actions for single in singles]))
        return [replace(s, actions=changed[i : i + 1]) for i, s in enumerate(singles)]

    def change_steps(self, episode: Episode, steps: int) -> Episode:
        """An episode whose first steps have corrupt actions."""
        changed = self.actions(episode.observations[:steps], episode.actions[:steps])
        return replace(episode, actions=np.concatenate([changed, episode.actions[steps:]]))


def _total(episodes: Sequence[Episode]) -> int:
    return sum(len(episode) for episode in episodes)


def _draw(episodes: Sequence[Episode], count: int, what: str, order: NDArray[np.intp]) -> list[Episode]:
    """The first `count` of all pairs in this order, each as an episode of its own."""
    if count > len(order):
        raise RobustBCError(f"{count} {what} pairs are asked for, but there are {len(order)}; collect more episodes.")
    ends = np.cumsum([len(episode) for episode in episodes])
    singles = []
    for pair in order[:count]:
        which = int(np.searchsorted(ends, pair, side="right"))
        episode = episodes[which]
        step = int(pair - ends[which] + len(episode))
        singles.append(
            Episode(
                seed=None,
                observations=episode.observations[step : step + 2],
                actions=episode.actions[step : step + 1],
                rewards=episode.rewards[step : step + 1],
                terminated=episode.terminated and step == len(episode) - 1,
            )
        )
    return singles


def _cut(episodes: Sequence[Episode], pairs: int) -> list[Episode]:
    """The first episodes with just so many pairs in all; the last one is cut off as by a time limit."""
    kept: list[Episode] = []
    for episode in episodes:
        part = min(pairs, len(episode))
        if part == 0:
            break
        whole = part == len(episode)
        kept.append(
            replace(
                episode,
                observations=episode.observations[: part + 1],
                actions=episode.actions[:part],
                rewards=episode.rewards[:part],
                terminated=episode.terminated and whole,
                infos={},
            )
        )
        pairs -= part
    if pairs:
        raise RobustBCError(f"{pairs} corrupt pairs are missing; collect more bad episodes.")
    return kept
