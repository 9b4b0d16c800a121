"""Single pairs: each is an episode of one state, and is judged by the same policies and groups as whole episodes.

Every pair has the noise that its own error asks for, so that the policy of all pairs follows those that agree, and
where another policy has many of the pairs, `groups` finds two. Pairs that do not contradict the majority are what the
policies of `conflict` learn from. They say which pairs are in no conflict, learn anew from these, and judge every pair.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robust_bc.auditing.judging.conflict import Majority
from robust_bc.auditing.judging.groups import find_groups
from robust_bc.auditing.judging.policies import Fitted
from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.auditing.judging.scaled import Flags, Places, Scaled, Singles
from robust_bc.auditing.judging.verdict import Judged, cannot_tell, no_majority
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.system.progress import Progress

FEWEST, MOST = 100, 500
"""Episodes below which nothing can be told, for a pair says little, and episodes that are drawn from more: the work
grows with them."""
FOLDS = 8
"""Of the episodes: who is judged has no part in the policies that judge him, which learn from seven of eight."""
CONTRADICTION = math.log(5.0)
"""c from which the majority's policies do not learn from a pair: five times the expected error. They say whether it is
bad."""
SWITCH = 0.1
"""Variance of scaled actions within two groups, below which these are the two ends of one switch, and no policies."""
LEAST_KNOWN = 0.3
"""Median share of the actions' variance that states explain, below which conflict means nothing: of noise it is 0.2."""


def judge_single_pairs(
    scaled: Scaled, demonstrations: Demonstrations, settings: AuditSettings, seed: int, tell: Progress
) -> Judged:
    """Pair by pair; episodes of a few steps have the mean of their pairs."""
    names = len(scaled.episodes)
    if names < FEWEST:
        what = "single pairs" if scaled.grouping.single else "episodes of a few steps"
        return cannot_tell(scaled, demonstrations, f"{names} {what} are too few; it takes {FEWEST}.")
    generator = np.random.default_rng([seed, 15])
    tell(0.0, "separating single pairs")
    drawn = np.sort(generator.permutation(names)[:MOST])
    some = np.array([generator.choice(scaled.episodes[place]) for place in drawn])
    fitted = Fitted.to(scaled.states, scaled.actions, list(some[:, None]), settings.features, generator)
    split = find_groups(fitted, generator)
    majority = np.ones(len(some), np.bool_)
    if split is not None and split.counts and not is_switch(scaled.actions[some], split.majority):
        majority = split.majority
    agree = some[fitted.settled(majority).contradiction(majority) < CONTRADICTION]
    agree = agree if len(agree) else some[majority]
    tell(0.5, "judging pairs")
    owners = (generator.permutation(names) % FOLDS)[scaled.grouping.places]
    all_of_them = np.ones(len(some), np.bool_)
    first = of_majority(scaled, agree, owners, settings, generator).judge(few(scaled, some), owners[some], all_of_them)
    if np.median(first.known) < LEAST_KNOWN:
        return cannot_tell(scaled, demonstrations, "the states do not explain the actions of most pairs.")
    agree = some[first.probability < 0.5]
    none = no_majority(1 - len(agree) / len(some), settings)
    if none is not None:
        return cannot_tell(scaled, demonstrations, none)
    told = of_majority(scaled, agree, owners, settings, generator).judge(
        scaled, owners, np.ones(len(scaled), np.bool_), lambda done: tell(0.5 + 0.5 * done, "judging pairs")
    )
    against = max(1 - float(majority.mean()), float((told.probability > 0.5).mean()))
    means = scaled.grouping.means
    clean = means(1 - told.probability)
    undecided = no_majority(against, settings)
    return Judged(clean, 1 - clean, means(told.known), told.probability, told.expected, None, undecided)


def of_majority(
    scaled: Scaled, agree: Places, owners: Places, settings: AuditSettings, generator: np.random.Generator
) -> Majority:
    """Its policies, with folds of the pairs that agree in place of episodes."""
    folds = [agree[owners[agree] == fold] for fold in range(FOLDS)]
    fitted = Fitted.to(scaled.states, scaled.actions, folds, settings.features, generator)
    return Majority(fitted, np.ones(FOLDS, np.bool_))


def few(scaled: Scaled, rows: Places) -> Scaled:
    """Some pairs, each an episode of its own."""
    arrays = {name: getattr(scaled, name)[rows] for name in ("states", "actions", "changes", "followed")}
    return replace(scaled, grouping=Grouping.of(np.arange(len(rows))), **arrays)


def is_switch(actions: Singles, first: Flags) -> bool:
    """Whether the groups of pairs (n, D) are two values of the actions, as of bang-bang control."""
    return all(float(actions[group].var(0).mean()) < SWITCH for group in (first, ~first))
