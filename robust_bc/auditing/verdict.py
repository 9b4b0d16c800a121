"""The verdict: from agreement and conflict to a probability of being clean, or to "cannot tell".

Agreement says which episodes are the majority, and conflict how far each episode contradicts it. Episodes beyond the
limit are set aside, the policies are fitted to all others, and those that were set aside are judged once more: what was
set aside for another episode's fault comes back. Nothing else moves, so the verdict cannot drift from one group to
another. With score x, limit l and deviation d of the majority's scores,

    P(clean) = 1/(1 + exp((x − l)/(d/4)))

so that one deviation on either side of the limit leaves less than 2 % of doubt. An episode in whose states the majority
knows next to nothing has one half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from robust_bc.auditing.agreement import Agreement, compare_episodes
from robust_bc.auditing.conflict import Policies, episode_scores, judge_pairs, limit_of
from robust_bc.auditing.scaled import Flags, Floats, Scaled
from robust_bc.auditing.settings import AuditSettings
from robust_bc.demonstrations import Demonstrations

STEEPNESS = 4.0
"""Of the probability at the limit, in deviations."""
LEAST_SCORE = 0.01
"""Scores below are next to nothing; it keeps their logarithms finite."""
Progress = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Judged:
    """What agreement and conflict lead to."""

    episode_clean: Floats  # (E,)
    scores: Floats  # (E,)
    known: Floats  # (E,)
    conflict: Floats  # (N,)
    expected: Floats  # (N, A)
    agreement: Agreement | None = None
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
    generator = np.random.default_rng(seed)
    tell(0.0, "comparing episodes")
    found = compare_episodes(scaled, settings, generator)
    majority = np.zeros(len(scaled.grouping.names), np.bool_)
    majority[found.compared[found.majority]] = True
    if majority.sum() < 2:
        return cannot_tell(scaled, demonstrations, "no two episodes agree with each other.")
    tell(0.3, "fitting the majority's policy")
    policies = Policies.of(scaled, majority, settings, generator)
    scores, known = episode_scores(scaled, policies, settings)
    limit, spread = limit_of(scores[majority], settings)
    aside = scores > limit
    if aside.any() and (~aside).sum() >= 2:
        tell(0.5, "judging once more")
        policies = Policies.of(scaled, ~aside, settings, generator)
        scores, known = episode_scores(scaled, policies, settings)
        limit, spread = limit_of(scores[~aside], settings)
        aside &= scores > limit
    clean = special.expit(-STEEPNESS * (scores - limit) / spread)
    clean = np.where(known < settings.known, 0.5, clean)
    tell(0.7, "judging pairs")
    conflict, expected, _ = judge_pairs(
        scaled, policies, demonstrations, settings, ~aside, lambda share: tell(0.7 + 0.3 * share, "judging pairs")
    )
    return Judged(
        clean, ranking(scores, found), known, conflict, expected, found, _no_majority(scaled, found, aside, settings)
    )


def ranking(scores: Floats, found: Agreement) -> Floats:
    """(E,) the higher, the worse: the mean of conflict and disagreement, both as logarithms.

    Verdicts go by conflict alone, which knows what it does not know; of demonstrators with more or less noise,
    agreement tells the finer differences.
    """
    usual = np.median(found.scores[found.compared[found.majority]])
    return np.asarray((np.log(scores + LEAST_SCORE) + found.scores - usual) / 2)


def _no_majority(scaled: Scaled, found: Agreement, aside: Flags, settings: AuditSettings) -> str | None:
    """Why neither side can be told to be right, if so."""
    lengths = scaled.grouping.lengths
    against = float(lengths[aside].sum() / lengths.sum())
    if against > settings.small and found.contrast < settings.contrast:
        return (
            f"episodes with {against:.0%} of the pairs contradict the others, but they do not show as a group of their"
            " own; more episodes would tell."
        )
    compared = lengths[found.compared]
    share = float(compared[found.majority].sum() / compared.sum())
    if share >= settings.tie or against < 1 - settings.tie:
        return None
    return (
        f"two groups of about the same size contradict each other ({share:.0%} and {1 - share:.0%} of the pairs),"
        " and nobody can tell which of them is right."
    )
