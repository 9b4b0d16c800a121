"""Opinions: from what the trusted policy and its rival would do, to the probability that each pair is good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.calibration import TINY, Calibration, calibrate, distances
from robust_bc.auditing.neighbourhood import company, novelty, share_nearby
from robust_bc.auditing.pooling import Grouping
from robust_bc.auditing.whole_episodes import by_episode, ratio_of_kinds, two_kinds
from robust_bc.demonstrations import Demonstrations
from robust_bc.normalisation import Affine

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Index = NDArray[np.int64]

USUAL = 0.8
"""Share of the pairs nearby that do as a pair does, from which its action is in no conflict."""
NO_CONFLICT = 0.6
"""Probability of being good that a pair has then at least."""
CHANGE_BELOW = 0.45
"""Share of its neighbours that sides with the trusted policy, below which the rival takes its place."""


def form_opinion(
    pairs: Demonstrations, said: Floats, rival: bool, eligible: Flags, fold: Index, mark: tuple[int, int]
) -> Calibration:
    """From what trusted policy and rival would do, (2, N, A), to the probability that each pair is good."""
    scale = Affine.of(pairs.actions).scale
    states = Affine.of(pairs.observations).forward(pairs.observations)
    grouping = Grouping.of(pairs.episodes)
    predicted = said[0]
    found = distances(pairs.actions, predicted, scale)
    to_rival = np.full(len(pairs), np.inf)
    if rival:
        to_rival = distances(pairs.actions, said[1], scale)
        nearer = found <= to_rival
        if grouping.single:
            change = share_nearby(states, nearer, eligible, mark) < CHANGE_BELOW
        else:
            change = np.full(len(pairs), bool(nearer[eligible].mean() < 0.5))
        predicted = np.where(change[:, None], said[1], predicted)
        found, to_rival = np.where(change, to_rival, found), np.where(change, found, to_rival)
    beside = to_rival if rival and grouping.single else None  # episodes have each other to be compared with
    opinion = calibrate(found, pairs.actions, predicted, scale, mark[0], novelty(states, fold, mark), beside)
    usual = company(states, pairs.actions, scale, fold, eligible, mark) >= USUAL
    # A car that goes straight is met to the last digit, and how many digits tells nothing: whatever is nearer than most
    # differs by log 2 at most.
    log_found = np.log(found + np.median(found) + TINY)
    worse = _bad_kind(log_found, usual, grouping)
    if worse is not None:
        ratio, good = ratio_of_kinds(log_found, worse, grouping)
        opinion = replace(opinion, log_ratio=ratio, good=good, explains=True)
    # Whoever does what is usual in such states is in no conflict, be it ever so hard to learn: a gripper that closes.
    opinion = replace(
        opinion,
        log_ratio=np.where(usual, np.minimum(opinion.log_ratio, 0), opinion.log_ratio),
        good=np.where(usual, np.maximum(opinion.good, NO_CONFLICT), opinion.good),
    )
    return replace(opinion, good=by_episode(opinion.log_ratio, opinion.good, grouping, worse))


def _bad_kind(log_found: Floats, usual: Flags, grouping: Grouping) -> Flags | None:
    """(E,) episodes of the worse of two kinds, but for those that mostly do what is usual; None if there are none."""
    worse = two_kinds(log_found, grouping)
    if worse is None:
        return None
    worse = worse & (grouping.means(usual.astype(np.float64)) <= 0.5)
    return worse if worse.any() else None
