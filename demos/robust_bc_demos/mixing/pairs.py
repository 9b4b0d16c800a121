"""Mixing: clean demonstrations with a share of corrupt pairs, and a hidden record of which they are.

| kind | what a corrupt demonstration is |
| --- | --- |
| rollout | the bad teacher's own episodes |
| medium | episodes of the medium teacher, whose training was stopped half-way |
| noisy | the good teacher with Gaussian noise of 0.7 of half the action space, recorded as executed |
| delayed | the good teacher, who executes the action that it wanted four steps ago |
| stuck | the good teacher, one of whose actuators stays in the middle of its range |
| relabel | states of the good teacher, the actions that the bad one would take there |
| flip | states of the good teacher, its actions mirrored in the middle of the action space (negated, if that is zero) |
| uniform | states of the good teacher, uniformly random actions |
| misaligned | good episodes recorded one step off: the observation of t + 1 beside the action of t |
| duplicated | good episodes with every row three times |
| graded | not good and bad but ten demonstrators of rising noise, from none to 0.7 |

For one seed the good episodes are the same whatever the kind. Of single pairs, a higher rate corrupts those of a lower
one and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.mixing.corrupting import Corrupter

EXECUTED = ("rollout", "medium", "noisy", "delayed", "stuck")
"""Kinds with episodes of their own."""
CHANGED = ("relabel", "flip", "uniform")
"""Kinds with other actions in good episodes."""
MISRECORDED = ("misaligned", "duplicated")
"""Kinds that record good episodes wrongly."""
GRADED = "graded"
KINDS = (*EXECUTED, *CHANGED, *MISRECORDED, GRADED)


@dataclass(frozen=True)
class Mix:
    """Episodes, and for each of them which of its pairs are corrupt."""

    episodes: list[Episode]
    corrupt: list[NDArray[np.bool_]]
    noise: NDArray[np.float64] | None = None
    """(N,) in the order of the pairs, for a graded mix: the noise of the demonstrator who made each."""

    @property
    def labels(self) -> NDArray[np.bool_]:
        """(N,) in the order of the pairs."""
        return np.concatenate(self.corrupt)


def check_mix(kind: str, rate: float, pairs: int | None) -> None:
    """One sentence for whatever cannot be mixed."""
    if kind not in KINDS:
        raise RobustBCError(f"there is no kind of corruption '{kind}'; the kinds are {', '.join(KINDS)}.")
    if not 0 <= rate <= 1:
        raise RobustBCError(f"rate must be between 0 and 1, but it is {rate}.")
    if pairs is not None and pairs < 2:
        raise RobustBCError(f"pairs must be at least 2 or 'all', but it is {pairs}.")
    if pairs is not None and kind in ("duplicated", GRADED):
        raise RobustBCError(f"single pairs cannot show the kind '{kind}'; take whole episodes (--pairs all).")


def corrupt_count(rate: float, pairs: int) -> int:
    """The share as a number of pairs, to the nearest, halves upward: of 0.145 as it was typed, not as it is stored."""
    return int((Decimal(str(rate)) * pairs).quantize(Decimal(1), ROUND_HALF_UP))


def mix_pairs(
    good: Sequence[Episode], bad: Sequence[Episode], rate: float, pairs: int, seed: int, corrupter: Corrupter
) -> Mix:
    """`pairs` single pairs in random order, each a one-step episode with the observation that truly came next.

    Corrupt pairs are drawn from bad episodes; where there are none, from the good ones, and then changed.
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    count = corrupt_count(rate, pairs)
    changed = corrupter.kind in CHANGED
    # Whatever the kind, the first pairs that are drawn stay clean and the last ones are corrupt.
    drawn = generator.permutation(_total(good))
    clean = _draw(good, pairs if changed else pairs - count, "clean", drawn)
    if not changed:
        corrupt = _draw(bad, count, "corrupt", generator.permutation(_total(bad)))
    else:  # from the end, so that a higher rate begins with the random actions of a lower one
        corrupt = corrupter.change(clean[pairs - count :][::-1]) if count else []
    singles, labels = clean[: pairs - count] + corrupt, np.arange(pairs) >= pairs - count
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(5,))).permutation(pairs)
    return Mix([singles[index] for index in order], [labels[index : index + 1] for index in order])


def mix_graded(episodes: Sequence[Episode], noise: NDArray[np.float64], seed: int) -> Mix:
    """Whole episodes in random order, each by a demonstrator whose noise is in `noise` (E,)."""
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,))).permutation(len(episodes))
    mixed = [episodes[index] for index in order]
    lengths = [len(episode) for episode in mixed]
    labels = [np.full(length, level > 0) for length, level in zip(lengths, noise[order], strict=True)]
    return Mix(mixed, labels, np.repeat(noise[order], lengths))


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
