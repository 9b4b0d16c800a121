"""Conflict: whose action is not what the others do in such states, judged only by networks that never saw the pair.

Round by round, in every part of the data (a fold of whole episodes) the action of each pair is compared with what two
policies would do that learned from the other parts: one from the pairs that are trusted so far, and a rival from those
that are not. At first those are trusted that do not contradict the winner of a `duel`, or whose episodes do not. A
pair's distances to both tell how probable it is that the pair is good (see `opinions` and `calibration`), and the
probable ones are trusted in the next round, until hardly a verdict changes. The rival of single pairs also learns from
foreign ones, and is heard from the second round on.

The rival is there because a demonstrator with a policy of its own may win: it is learned as well as the good one, and
with 40 % of the pairs it is the one a network takes up in some region. So where the rival explains clearly more of the
neighbouring pairs than the trusted policy does, the two change places: most demonstrations are good in every region.
Episodes of several steps pass through all regions; there the two change places as a whole, if most pairs side with the
rival, and the pairs of an episode vouch for each other (see `whole_episodes`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from robust_bc.auditing.calibration import Calibration
from robust_bc.auditing.duel import standing
from robust_bc.auditing.opinions import form_opinion
from robust_bc.auditing.pooling import single_pairs
from robust_bc.auditing.strangers import MEMBERS, MOST_POLICIES, find_strangers
from robust_bc.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.fitting import Progress, fit_fleet
from robust_bc.policy import Policy

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Index = NDArray[np.int64]

FOLDS = 5
MOST_ROUNDS = 5
SETTLED = 0.03
"""Share of verdicts that may change in a round that is the last."""
FEWEST_RIVALS = 20
"""Pairs below which there is no rival to learn."""
LARGEST_FIT = 20_000
"""Pairs that a network learns from, drawn at random where there are more: it bounds memory and time."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """What all rounds say about N pairs. The last two count: their networks share neither folds nor starts."""

    opinions: tuple[Calibration, ...]
    """Of every round."""
    rounds: int
    settled: bool

    @property
    def explains(self) -> bool:
        """Whether the policies of the last round explain the pairs at all."""
        return self.opinions[-1].explains

    @property
    def good(self) -> Floats:
        """(N,) the mean probability that a pair is good."""
        return (self.opinions[-2].good + self.opinions[-1].good) / 2

    @property
    def spread(self) -> Floats:
        """(N,) the standard deviation of that."""
        return np.asarray(np.abs(self.opinions[-2].good - self.opinions[-1].good) / np.sqrt(2))


@dataclass(frozen=True, eq=False)
class Court:
    """Who judges: a method, its settings and where it is computed."""

    method: str
    settings: dict[str, Any]
    device: str | torch.device
    rival: bool = True
    """Whether what is not trusted makes up a rival."""
    duel: bool = True
    """Whether pairs are trusted at first only if they, or their episodes, stand a duel."""

    def foreign(
        self,
        demonstrations: Sequence[Demonstrations],
        seeds: Sequence[int],
        progress: Callable[[float, str], None] | None = None,
    ) -> list[Flags]:
        """(N,) for each of many data sets: pairs of groups that lead elsewhere and act otherwise than most."""
        tell = progress or (lambda share, note: None)
        looks = itertools.count()

        def learn(places: Sequence[int], camps: Sequence[Flags]) -> list[Policy]:
            look = next(looks)

            def report(state: Progress) -> None:
                tell((look + state.done / state.total) / MOST_POLICIES, "strangers")

            own = [seeds[place] for place in places]
            subsets = [
                _learned_from(demonstrations[place], [camp], (seed, 0), 0)
                for place, camp, seed in zip(places, camps, own, strict=True)
            ]
            return fit_fleet(subsets, self.method, MEMBERS, own, self.device, report, **self.settings)

        return find_strangers(demonstrations, seeds, learn)

    def judge(
        self,
        demonstrations: Sequence[Demonstrations],
        eligible: Sequence[Flags],
        seeds: Sequence[int],
        progress: Callable[[float, str], None] | None = None,
    ) -> list[Judgement]:
        """One judgement for each of many data sets, all networks of a round in one fleet.

        The trusted policy learns from eligible pairs (N,) only; all are judged.
        """
        fewest = min(len(pairs) for pairs in demonstrations)
        if fewest <= MINIMUM_PAIRS:
            raise RobustBCError(f"an audit needs at least {MINIMUM_PAIRS + 1} pairs, but there are {fewest}.")
        tell = progress or (lambda share, note: None)
        trusted = [
            standing(pairs, flags, seed) if self.duel else np.array(flags)
            for pairs, flags, seed in zip(demonstrations, eligible, seeds, strict=True)
        ]
        single = [single_pairs(pairs.episodes) for pairs in demonstrations]
        opinions: list[list[Calibration]] = [[] for _ in demonstrations]
        settled = [False] * len(demonstrations)
        for number in range(MOST_ROUNDS):
            open_ = [index for index, done in enumerate(settled) if not done]
            if not open_:
                break

            def report(state: Progress, number: int = number) -> None:
                tell((number + state.done / state.total) / MOST_ROUNDS, f"round {number + 1}")

            found = self._round(
                [demonstrations[index] for index in open_],
                [trusted[index] for index in open_],
                [_doubted(eligible[index], trusted[index], single[index], number) for index in open_],
                [eligible[index] for index in open_],
                [(seeds[index], number) for index in open_],
                report,
            )
            for index, opinion in zip(open_, found, strict=True):
                opinions[index].append(opinion)
                now = eligible[index] & _verdict(opinion)
                changed = float((now != trusted[index])[eligible[index]].mean())
                settled[index] = number >= (2 if single[index] else 1) and changed <= SETTLED
                trusted[index] = now
        return [Judgement(tuple(mine), len(mine), done) for mine, done in zip(opinions, settled, strict=True)]

    def _round(
        self,
        demonstrations: Sequence[Demonstrations],
        trusted: Sequence[Flags],
        doubted: Sequence[Flags],
        eligible: Sequence[Flags],
        marks: Sequence[tuple[int, int]],
        report: Callable[[Progress], None],
    ) -> list[Calibration]:
        """A look at every pair by networks of this round that have not seen it."""
        folds = [deal(pairs.episodes, mark) for pairs, mark in zip(demonstrations, marks, strict=True)]
        with_rival = [self.rival and int(flags.sum()) >= FEWEST_RIVALS for flags in doubted]
        jobs: list[tuple[int, bool, int]] = []  # which data set, whether the rival, which fold is left out
        subsets: list[Demonstrations] = []
        for which, pairs in enumerate(demonstrations):
            for rival in (False, True) if with_rival[which] else (False,):
                flags = doubted[which] if rival else trusted[which]
                for fold in range(int(folds[which].max()) + 1):
                    jobs.append((which, rival, fold))
                    outside = folds[which] != fold
                    # Where next to none of them is outside this fold, any others are, but never the pairs to be judged.
                    wanted = [flags & outside, eligible[which] & outside, outside]
                    subsets.append(_learned_from(pairs, wanted, marks[which], fold))
        seeds = [_network_seed(marks[which], rival, fold) for which, rival, fold in jobs]
        policies = fit_fleet(subsets, self.method, 1, seeds, self.device, report, **self.settings)
        said = [np.zeros((2, *pairs.actions.shape)) for pairs in demonstrations]
        for (which, rival, fold), policy in zip(jobs, policies, strict=True):
            rows = folds[which] == fold
            said[which][int(rival), rows] = policy.predict(demonstrations[which].observations[rows])[0]
        return [
            form_opinion(pairs, of_both, rival, eligible[which], folds[which], marks[which])
            for which, (pairs, of_both, rival) in enumerate(zip(demonstrations, said, with_rival, strict=True))
        ]


def _doubted(eligible: Flags, trusted: Flags, single: bool, number: int) -> Flags:
    """(N,) what the rival of a round learns from.

    Of single pairs that is everything not trusted, whoever is foreign too: where all begin, only they tell what a
    stranger would do. But not in the first round, when honest pairs of rare states may still be among them.
    """
    if not single:
        return eligible & ~trusted
    return ~trusted & (number > 0)


def deal(episodes: NDArray[np.int64], mark: tuple[int, int]) -> NDArray[np.int64]:
    """(N,) the fold of each pair: whole episodes go together, for neighbours in an episode are alike.

    Single pairs are dealt where one episode has most of the pairs, and too little would be left to learn from.
    """
    names, code = np.unique(episodes, return_inverse=True)
    fold = _shuffled_folds(len(names), mark)[code]
    enough = 2 * np.bincount(fold).max() <= len(episodes) + 1 and len(episodes) > MINIMUM_PAIRS
    return fold if enough else _shuffled_folds(len(episodes), mark)


def _shuffled_folds(units: int, mark: tuple[int, int]) -> NDArray[np.int64]:
    """(U,) FOLDS folds of equal number, but for one."""
    fold = np.empty(units, np.int64)
    fold[np.random.default_rng([*mark, 8]).permutation(units)] = np.arange(units) % min(FOLDS, units)
    return fold


def _learned_from(pairs: Demonstrations, wanted: Sequence[Flags], mark: tuple[int, int], fold: int) -> Demonstrations:
    """The pairs of the first flags that are enough to learn from, or so many of them."""
    rows = next(rows for flags in wanted if len(rows := np.flatnonzero(flags)) >= MINIMUM_PAIRS)
    if len(rows) > LARGEST_FIT:
        rows = np.sort(np.random.default_rng([*mark, fold, 9]).choice(rows, LARGEST_FIT, replace=False))
    return pairs.select(rows)


def _network_seed(mark: tuple[int, int], rival: bool, fold: int) -> int:
    """A seed of its own for every network of an audit, and for every round another."""
    return int(np.random.SeedSequence([*mark, int(rival), fold]).generate_state(1)[0])


def _verdict(opinion: Calibration) -> Flags:
    """Whom to trust next: the probably good; the closer half, while the policy explains hardly anything."""
    return opinion.good > 0.5 if opinion.explains else opinion.log_ratio <= np.median(opinion.log_ratio)
