"""The verdict: from agreement and conflict to a probability of being clean, or to "cannot tell"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.judging.agreement import Agreement, compare_episodes
from robust_bc.auditing.judging.conflict import Majority
from robust_bc.auditing.judging.scaled import Floats, Scaled
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.system.progress import Progress


@dataclass(frozen=True, eq=False)
class Judged:
    """What agreement and conflict lead to."""

    episode_clean: Floats  # (E,)
    scores: Floats  # (E,)
    known: Floats  # (E,)
    conflict: Floats  # (N,)
    expected: Floats  # (N, A)
    agreement: Agreement | None = None
    """None if every pair was judged for itself, or nothing could be."""
    undecided: str | None = None


def cannot_tell(scaled: Scaled, demonstrations: Demonstrations, why: str) -> Judged:
    """One half for all."""
    episodes = len(scaled.grouping.names)
    half = np.full(episodes, 0.5)
    nothing = np.zeros(len(scaled))
    expected = np.array(demonstrations.actions, np.float64)
    return Judged(half, np.zeros(episodes), np.zeros(episodes), nothing, expected, None, why)


def judge_episodes(
    scaled: Scaled, demonstrations: Demonstrations, settings: AuditSettings, seed: int, tell: Progress
) -> Judged:
    """Whole episodes, of which there are enough to compare."""
    tell(0.0, "comparing episodes")
    found, bad, policy = compare_episodes(scaled, settings, np.random.default_rng(seed))
    clean = 1 - bad
    aside = clean < 0.5
    if (~aside).sum() < 2:
        return cannot_tell(scaled, demonstrations, "no two episodes agree with each other.")
    tell(0.5, "judging pairs")
    places = scaled.grouping.places
    owners = np.full(len(clean), -1, np.intp)
    owners[found.compared] = np.arange(len(found.compared))
    members = ~aside[found.compared]
    members = members if members.any() else found.majority
    told = Majority(policy.settled(members), members).judge(
        scaled, owners[places], ~aside[places], lambda share: tell(0.5 + 0.5 * share, "judging pairs")
    )
    known = scaled.grouping.means(told.known)
    lengths = scaled.grouping.lengths
    undecided = no_majority(float(lengths[aside].sum() / lengths.sum()), settings)
    return Judged(clean, found.scores, known, told.probability, told.expected, found, undecided)


def no_majority(against: float, settings: AuditSettings) -> str | None:
    """Why neither side can be told to be right, if so, from the share of the pairs that is against the others."""
    if against < 1 - settings.tie:
        return None
    if against > settings.tie:
        return f"{against:.0%} of the pairs contradict the others, so these are no majority."
    return (
        f"two groups of about the same size contradict each other ({1 - against:.0%} and {against:.0%} of the pairs),"
        " and nobody can tell which of them is right."
    )
