"""Single pairs: each is an episode of one state, and is judged by the same policies and groups as whole episodes.

Every pair has the noise that its own error asks for, so that the policy of all pairs follows those that agree, and
where another policy has many of the pairs, `groups` finds two. Pairs that do not contradict the majority are what the
policies of `conflict` learn from, which then judge every pair.
"""

from __future__ import annotations

import math

import numpy as np

from robust_bc.auditing.conflict import Majority
from robust_bc.auditing.groups import find_groups
from robust_bc.auditing.policies import Fitted
from robust_bc.auditing.scaled import Scaled
from robust_bc.auditing.settings import AuditSettings
from robust_bc.auditing.verdict import Judged, Progress, cannot_tell
from robust_bc.demonstrations import Demonstrations

FEWEST, MOST = 100, 500
"""Pairs below which nothing can be told, and pairs that groups are looked for among."""
FOLDS = 8
"""Of the pairs that the majority's policies learn from."""
CONTRADICTION = math.log(5.0)
"""c from which the majority's policies do not learn from a pair; they say themselves whether it is bad."""


def judge_single_pairs(
    scaled: Scaled, demonstrations: Demonstrations, settings: AuditSettings, seed: int, tell: Progress
) -> Judged:
    """Pair by pair; episodes of a few steps have the mean of their pairs."""
    if len(scaled) < FEWEST:
        return cannot_tell(scaled, demonstrations, f"{len(scaled)} single pairs are too few; it takes {FEWEST}.")
    generator = np.random.default_rng([seed, 15])
    some = np.sort(generator.permutation(len(scaled))[:MOST])
    tell(0.0, "separating single pairs")
    alone = [np.array([place]) for place in some]
    fitted = Fitted.to(scaled.states, scaled.actions, alone, settings.features, generator)
    split = find_groups(fitted, generator)
    majority = np.ones(len(some), np.bool_) if split is None or not split.counts else split.majority
    tell(0.5, "judging pairs")
    agree = generator.permutation(some[fitted.settled(majority).contradiction(majority) < CONTRADICTION])
    # Each fold of the majority's pairs is judged by the others, and all other pairs by all of them.
    folds = np.array_split(agree, min(FOLDS, len(agree)))
    owners = np.full(len(scaled), -1, np.intp)
    for number, fold in enumerate(folds):
        owners[fold] = number
    policy = Fitted.to(scaled.states, scaled.actions, folds, settings.features, generator)
    told = Majority(policy, np.ones(len(folds), np.bool_)).judge(
        scaled, owners, np.ones(len(scaled), np.bool_), lambda done: tell(0.5 + 0.5 * done, "judging pairs")
    )
    means, against = scaled.grouping.means, max(1 - float(majority.mean()), float((told.probability > 0.5).mean()))
    if against > 1 - settings.tie:
        return cannot_tell(
            scaled,
            demonstrations,
            f"two policies explain about as many pairs ({1 - against:.0%} and {against:.0%}), and nobody can tell which"
            " of them is right.",
        )
    clean = means(1 - told.probability)
    return Judged(clean, 1 - clean, means(told.known), told.probability, told.expected)
