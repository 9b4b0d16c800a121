"""Conflict: pairs against a policy of the majority that has not seen their episode.

The policy is a Gaussian process, with the kernel of wide networks and a learned metric, on some hundred pairs of the
majority. It knows how little it knows: its variance v(s) is small where the majority has been, and as large as that of
all actions elsewhere. So an episode is judged where the majority knows better, and rare states are not held against it:

    score = Σ w·log(1 + (a − f(s))²/(ν·v(s))) / Σ w,    w = 1 − v(s)       (actions in units of their deviation)

is about 0.2 for a demonstrator of the majority, wherever it goes: the negative log likelihood of Student's t with ν
degrees of freedom, for a few states on a switching line must not outweigh all others. Its limit comes from the
majority's own scores,
each by a policy that did not see that episode (cross-fitting). For a single pair, the posterior that its action is not
of the majority is that of a mixture, with one share for the whole pile: Student's t around f(s) for every column of the
action, or for none of them, or for all but one, for a single actuator may be stuck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import special, stats

from robust_bc.auditing.agreement import spread_evenly
from robust_bc.auditing.scaled import Flags, Floats, Places, Scaled
from robust_bc.auditing.settings import AuditSettings
from robust_bc.demonstrations import Demonstrations
from robust_bc.gaussian_processes.method import GaussianProcessSettings
from robust_bc.gaussian_processes.model import GaussianProcesses
from robust_bc.methods.gpr import GPR
from robust_bc.seeding import MemberSeed

STATES_IN_ALL = 200_000
"""States that are asked about for the scores of episodes, at most 200 and at least 10 of each."""
MOST_STATES, FEWEST_STATES = 200, 10
ONE_COLUMN = 0.1
"""Share of conflicts in which a single column of the action is wrong, and not all of them."""
MOST_DRAWN_FROM = 5000
"""Pairs that those of a policy are drawn from."""
PAIRS_AT_A_TIME = 20_000
LEAST_VARIANCE = 1e-4
"""Of an action: one hundredth of the deviation of all actions. Below, a policy only interpolates."""
LEAST_SHARE = 1e-3
"""Of conflicting pairs: without any, no conflict would ever be seen."""
ROUNDS = 20
"""Of expectation maximisation for one share; it settles in a few."""

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Conflict:
    """What the majority's policies say of N pairs in E episodes."""

    scores: Floats  # (E,) mean log(1 + squared error/(ν·variance))
    known: Floats  # (E,) share of the actions' variance that the policy explains in the episode's states
    limit: float
    """From here on a score is beyond what the majority's own episodes have."""
    spread: float
    """Deviation of the majority's scores."""
    probability: Floats  # (N,) that the action is not of the majority's policy
    expected: Floats  # (N, A) what that policy would do, in the units of the actions


@dataclass(frozen=True, eq=False)
class Policies:
    """Policies of the majority, each without some of its episodes."""

    models: list[GaussianProcesses]
    judge: Places  # (E,) which of them judges each episode: one that has not seen it

    @classmethod
    def of(cls, scaled: Scaled, majority: Flags, settings: AuditSettings, generator: np.random.Generator) -> Policies:
        """Fitted to the majority (E,), which has two episodes at least."""
        members = generator.permutation(np.flatnonzero(majority))
        folds = min(settings.folds, len(members))
        judge = np.arange(len(majority)) % folds
        judge[members] = np.arange(len(members)) % folds
        models = []
        for fold in range(folds):
            shown = np.concatenate([scaled.episodes[place] for place in members[judge[members] != fold]])
            models.append(fit_policy(scaled, drawn_evenly(scaled, shown, settings.policy_pairs, generator)))
        return cls(models, judge)

    def ask(self, scaled: Scaled, rows: Places, episodes: Places) -> tuple[Floats, Floats]:
        """Mean (n, B) and variance (n,) for pairs of these episodes (n,)."""
        means, variances = np.empty((len(rows), scaled.actions.shape[1])), np.empty(len(rows))
        judges = self.judge[episodes]
        for number, model in enumerate(self.models):
            mine = np.flatnonzero(judges == number)
            for start in range(0, len(mine), PAIRS_AT_A_TIME):
                part = mine[start : start + PAIRS_AT_A_TIME]
                means[part], variances[part] = predict(model, scaled.states[rows[part]])
        return means, variances


def drawn_evenly(scaled: Scaled, rows: Places, count: int, generator: np.random.Generator) -> Places:
    """At most so many of the rows: half at random, and half spread evenly over the states, so that rare ones count."""
    if len(rows) <= count:
        return rows
    some = generator.permutation(rows)[:MOST_DRAWN_FROM]
    usual, others = some[: count // 2], some[count // 2 :]
    return np.concatenate([usual, others[spread_evenly(scaled.states[others], count - count // 2)]])


def fit_policy(scaled: Scaled, rows: Places) -> GaussianProcesses:
    """A Gaussian process for scaled actions at scaled states."""
    settings = GaussianProcessSettings(kernel="wide-network", metric="learned", max_pairs=max(2, len(rows)))
    return GPR().fit(settings, scaled.states[rows], scaled.actions[rows], [MemberSeed(0, 0)])


def predict(model: GaussianProcesses, states: np.ndarray) -> tuple[Floats, Floats]:
    """Mean (n, B) and variance (n,) of an action at states (n, S)."""
    found = model(torch.from_numpy(np.ascontiguousarray(states.T)))
    return (
        found.means[0, 0].mT.double().numpy(),
        np.maximum(found.variances[0, 0, 0].double().numpy(), LEAST_VARIANCE),
    )


def conflict(
    demonstrations: Demonstrations, majority: Flags, settings: AuditSettings | None = None, seed: int = 0
) -> Conflict:
    """Judge all pairs by the majority (E,), episodes in the order of `np.unique(demonstrations.episodes)`."""
    scaled, chosen = Scaled.of(demonstrations), settings or AuditSettings()
    generator = np.random.default_rng(seed)
    policies = Policies.of(scaled, majority, chosen, generator)
    scores, known = episode_scores(scaled, policies, chosen)
    limit, spread = limit_of(scores[majority], chosen)
    probability, expected, _ = judge_pairs(scaled, policies, demonstrations, chosen, scores <= limit)
    return Conflict(scores, known, limit, spread, probability, expected)


def episode_scores(scaled: Scaled, policies: Policies, settings: AuditSettings) -> tuple[Floats, Floats]:
    """Score and known share (E,) of every episode."""
    grouping = scaled.grouping
    most = int(np.clip(STATES_IN_ALL // len(grouping.names), FEWEST_STATES, MOST_STATES))
    rows = [
        mine if len(mine) <= most else mine[np.linspace(0, len(mine) - 1, most).round().astype(np.intp)]
        for mine in scaled.episodes
    ]
    lengths = np.array([len(mine) for mine in rows])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    asked = np.concatenate(rows)
    means, variances = policies.ask(scaled, asked, np.repeat(np.arange(len(rows)), lengths))
    away = (scaled.actions[asked] - means) ** 2 / (settings.tails * variances[:, None])
    errors = np.log1p(away).mean(1)
    weights = np.clip(1 - variances, 0, 1)
    told = np.add.reduceat(weights, starts)
    # One state's worth of nothing is added, so that what shares next to nothing is near 0.
    scores = np.add.reduceat(weights * errors, starts) / (told + 1)
    return scores, told / lengths


def limit_of(scores: Floats, settings: AuditSettings) -> tuple[float, float]:
    """The score from which an episode contradicts a majority with these scores, and their deviation."""
    spread = max(settings.least_spread, float(np.std(scores)))
    return float(np.median(scores)) + settings.noticed * spread, spread


def judge_pairs(
    scaled: Scaled,
    policies: Policies,
    demonstrations: Demonstrations,
    settings: AuditSettings,
    fair: Flags,
    tell: Progress = lambda share: None,
) -> tuple[Floats, Floats, Floats]:
    """Probability of conflict (N,), expected actions (N, A) in their own units, and how much is known there (N,).

    How many pairs are in conflict at all is learned from the episodes that are `fair` (E,): not bad throughout.
    """
    pairs, size = scaled.actions.shape
    places = scaled.grouping.places
    means, variances = np.empty((pairs, size)), np.empty(pairs)
    parts = [np.arange(start, min(pairs, start + PAIRS_AT_A_TIME)) for start in range(0, pairs, PAIRS_AT_A_TIME)]
    for number, rows in enumerate(parts, 1):
        means[rows], variances[rows] = policies.ask(scaled, rows, places[rows])
        tell(number / len(parts))
    known = np.clip(1 - variances, 0, 1)
    variances *= overconfidence(scaled, means, variances, fair[places], settings.tails)
    top_of_t = float(stats.t.logpdf(0.0, settings.tails))
    log_odds, expected = np.empty(pairs), np.empty(demonstrations.actions.shape)
    for rows in parts:
        expected[rows] = scaled.unscaled(means[rows])
        variance = variances[rows, None]
        away = (scaled.actions[rows] - means[rows]) ** 2 / variance
        ours = top_of_t - 0.5 * np.log(variance) - (settings.tails + 1) / 2 * np.log1p(away / settings.tails)
        others = -0.5 * (scaled.actions[rows] ** 2 / (1 + variance) + np.log(2 * np.pi * (1 + variance)))
        one = special.logsumexp(others - ours, axis=1) + np.log(ONE_COLUMN / size)
        log_odds[rows] = np.logaddexp((others - ours).sum(1) + np.log(1 - ONE_COLUMN), one)
    return posterior(log_odds, fair[places], settings.first_share), expected, known


def overconfidence(scaled: Scaled, means: Floats, variances: Floats, fair: Flags, tails: float) -> float:
    """By how much the policies' variances are too small, from the median error of the fair pairs (N,); 1 at least.

    Where a demonstrator has no noise, a process says that it knows to the last digit what it only interpolates.
    """
    errors = (scaled.actions[fair] - means[fair]) ** 2 / variances[fair, None]
    return max(1.0, float(np.median(errors) / stats.f.median(1, tails))) if errors.size else 1.0


def posterior(log_odds: Floats, counted: Flags, first: float) -> Floats:
    """Of the second kind from its log odds (N,), with the share that is likeliest for the counted pairs."""
    share = first
    for _ in range(ROUNDS):
        found = special.expit(log_odds[counted] + special.logit(share))
        share = float(np.clip(found.mean(), LEAST_SHARE, 0.5))
    return np.asarray(special.expit(log_odds + special.logit(share)))
