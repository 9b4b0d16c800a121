"""Conflict: whose action is not what the others do in such states, judged only by networks that never saw the pair.

Round by round, in every part of the data (a fold of whole episodes) the action of each pair is compared with what two
policies would do that learned from the other parts: one from the pairs that are trusted so far (all, at first), and a
rival from those that are not. A pair's distance to the trusted policy tells how probable it is that the pair is good
(see `calibration`), and the probable ones are trusted in the next round, until hardly a verdict changes.

The rival is there because a demonstrator with a policy of its own may win: it is learned as well as the good one, and
with 40 % of the pairs it is the one a network takes up in some region. So where the rival explains clearly more of the
neighbouring pairs than the trusted policy does, the two change places: most demonstrations are good in every region.
Episodes of several steps pass through all regions; there the two change places as a whole, if most pairs side with the
rival, and the pairs of an episode vouch for each other (see `whole_episodes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from robust_bc.auditing.calibration import TINY, Calibration, calibrate, distances
from robust_bc.auditing.neighbourhood import company, novelty, share_nearby
from robust_bc.auditing.pooling import Grouping
from robust_bc.auditing.provenance import groups, has_majority, strange
from robust_bc.auditing.whole_episodes import by_episode, ratio_of_kinds, two_kinds
from robust_bc.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.fitting import Progress, fit_fleet
from robust_bc.normalisation import Affine

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
USUAL = 0.8
"""Share of the pairs nearby that do as a pair does, from which its action is in no conflict."""
NO_CONFLICT = 0.6
"""Probability of being good that a pair has then at least."""
CHANGE_BELOW = 0.45
"""Share of its neighbours that sides with the trusted policy, below which the rival takes its place."""


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

    def foreign(self, demonstrations: Sequence[Demonstrations], seeds: Sequence[int]) -> list[Flags]:
        """(N,) for each of many data sets: pairs of groups that lead elsewhere and act otherwise than most."""
        found = [groups(pairs, seed) for pairs, seed in zip(demonstrations, seeds, strict=True)]
        asked = [which for which, group in enumerate(found) if group.any() and has_majority(group)]
        foreign = [np.zeros(len(pairs), np.bool_) for pairs in demonstrations]
        if not asked:
            return foreign
        largest = [_learned_from(demonstrations[which], [found[which] == 0], (seeds[which], 0), 0) for which in asked]
        policies = fit_fleet(largest, self.method, 1, [seeds[which] for which in asked], self.device, **self.settings)
        for which, policy in zip(asked, policies, strict=True):
            pairs = demonstrations[which]
            predicted = policy.predict(pairs.observations)[0]
            scale = Affine.of(pairs.actions).scale
            foreign[which] = strange(pairs.actions, predicted, found[which], scale, seeds[which])
        return foreign

    def judge(
        self,
        demonstrations: Sequence[Demonstrations],
        eligible: Sequence[Flags],
        seeds: Sequence[int],
        progress: Callable[[float, str], None] | None = None,
    ) -> list[Judgement]:
        """One judgement for each of many data sets, all networks of a round in one fleet.

        Only eligible pairs (N,) are learned from; all are judged.
        """
        fewest = min(len(pairs) for pairs in demonstrations)
        if fewest <= MINIMUM_PAIRS:
            raise RobustBCError(f"an audit needs at least {MINIMUM_PAIRS + 1} pairs, but there are {fewest}.")
        tell = progress or (lambda share, note: None)
        trusted = [np.array(flags) for flags in eligible]
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
                [eligible[index] & ~trusted[index] for index in open_],
                [(seeds[index], number) for index in open_],
                report,
            )
            for index, opinion in zip(open_, found, strict=True):
                opinions[index].append(opinion)
                now = eligible[index] & _verdict(opinion)
                changed = float((now != trusted[index])[eligible[index]].mean())
                settled[index] = number > 0 and changed <= SETTLED
                trusted[index] = now
        return [Judgement(tuple(mine), len(mine), done) for mine, done in zip(opinions, settled, strict=True)]

    def _round(
        self,
        demonstrations: Sequence[Demonstrations],
        trusted: Sequence[Flags],
        doubted: Sequence[Flags],
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
                    wanted = [flags & outside, (trusted[which] | doubted[which]) & outside, outside]
                    subsets.append(_learned_from(pairs, wanted, marks[which], fold))
        seeds = [_network_seed(marks[which], rival, fold) for which, rival, fold in jobs]
        policies = fit_fleet(subsets, self.method, 1, seeds, self.device, report, **self.settings)
        said = [np.zeros((2, *pairs.actions.shape)) for pairs in demonstrations]
        for (which, rival, fold), policy in zip(jobs, policies, strict=True):
            rows = folds[which] == fold
            said[which][int(rival), rows] = policy.predict(demonstrations[which].observations[rows])[0]
        return [
            _opinion(pairs, of_both, rival, trusted[which] | doubted[which], folds[which], marks[which])
            for which, (pairs, of_both, rival) in enumerate(zip(demonstrations, said, with_rival, strict=True))
        ]


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


def _opinion(
    pairs: Demonstrations, said: Floats, rival: bool, eligible: Flags, fold: Index, mark: tuple[int, int]
) -> Calibration:
    """From what trusted policy and rival would do, (2, N, A), to the probability that each pair is good."""
    scale = Affine.of(pairs.actions).scale
    states = Affine.of(pairs.observations).forward(pairs.observations)
    grouping = Grouping.of(pairs.episodes)
    predicted = said[0]
    found = distances(pairs.actions, predicted, scale)
    if rival:
        to_rival = distances(pairs.actions, said[1], scale)
        nearer = found <= to_rival
        if grouping.single:
            change = share_nearby(states, nearer, eligible, mark) < CHANGE_BELOW
        else:
            change = np.full(len(pairs), bool(nearer[eligible].mean() < 0.5))
        predicted = np.where(change[:, None], said[1], predicted)
        found = np.where(change, to_rival, found)
    opinion = calibrate(found, pairs.actions, predicted, scale, mark[0], novelty(states, fold, mark))
    log_found = np.log(found + TINY)
    worse = two_kinds(log_found, grouping)
    if worse is not None:
        ratio, good = ratio_of_kinds(log_found, worse, grouping)
        opinion = replace(opinion, log_ratio=ratio, good=good, explains=True)
    # Whoever does what is usual in such states is in no conflict, be it ever so hard to learn: a gripper that closes.
    usual = company(states, pairs.actions, scale, fold, eligible, mark) >= USUAL
    opinion = replace(
        opinion,
        log_ratio=np.where(usual, np.minimum(opinion.log_ratio, 0), opinion.log_ratio),
        good=np.where(usual, np.maximum(opinion.good, NO_CONFLICT), opinion.good),
    )
    return replace(opinion, good=by_episode(opinion.log_ratio, opinion.good, grouping))
