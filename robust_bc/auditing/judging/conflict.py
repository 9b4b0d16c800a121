"""Conflict: pairs against a policy of the majority that has not seen their episode.

The policy knows how little it knows (`policies`): its variance v(s) is small where the majority has been, and as large
as that of all actions elsewhere. So rare states are not held against anybody. The posterior that the action of a pair
is not the majority's is that of a mixture, with one share for the whole pile: Student's t around f(s) for every column
of the action, or for none of them, or for all but one, for a single actuator may be stuck. But a policy may switch, and
no smooth f follows that. So what the majority did in the nearest states of other episodes is expected as well,

    p(a | s) = (1 − SWITCHES)·t(a; f(s), v(s)^power) + SWITCHES · mean over the NEAREST j of N(a; aⱼ, σ²)

v is 1 at most, "unknown", and stays so with any power.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from robust_bc.auditing.judging.policies import Fitted
from robust_bc.auditing.judging.scaled import Flags, Floats, Places, Scaled, Singles

ONE_COLUMN = 0.1
"""Share of conflicts in which a single column of the action is wrong, and not all of them."""
TAILS = 4.0
"""Degrees of freedom of the errors of the majority's policy: few, for its variances are only estimates."""
POWERS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Of the variances; one is chosen by likelihood."""
SWITCHES, NEAREST = 0.1, 20
"""Weight of the nearest states, and how many of them: with 10, bang-bang control loses pairs next to its switch."""
DOUBTFUL = 0.0
"""Log odds below which a pair is more likely in order than not, and nobody looks at what was done nearby."""
PAIRS_AT_A_TIME, DOUBTFUL_AT_A_TIME = 20_000, 2000
LEAST_SHARE = 1e-3
"""Of conflicting pairs: without any, no conflict would ever be seen."""
FIRST_SHARE, ROUNDS = 0.05, 20
"""Of conflicting pairs, and how often expectation maximisation sets it anew; it settles in a few."""

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Conflict:
    """What the majority's policy says of N pairs."""

    probability: Floats  # (N,) that the action is not of the majority's policy
    expected: Floats  # (N, A) what that policy would do, in the units of the actions
    known: Floats  # (N,) share of the actions' variance that the policy explains in the state


@dataclass(frozen=True, eq=False)
class Majority:
    """The policy of a majority, and without each of its episodes."""

    fitted: Fitted
    members: Flags  # (C,) of the episodes that it was fitted to

    def judge(self, scaled: Scaled, owners: Places, fair: Flags, tell: Progress = lambda share: None) -> Conflict:
        """All pairs; `owners` (N,) are the places of their episodes among the C, -1 if of none.

        How many pairs are in conflict at all is learned from those that are `fair` (N,): not bad throughout. Only for
        these it is asked what was done nearby, for the others are bad anyway.
        """
        pairs, size = scaled.actions.shape
        means, variances = np.empty((pairs, size)), np.empty(pairs)
        done = 0
        seen = np.where((owners >= 0) & np.append(self.members, False)[owners], owners, -1)
        order = np.argsort(seen, kind="stable")
        starts = np.flatnonzero(np.diff(seen[order], prepend=-2))
        for rows in np.split(order, starts[1:]):
            without = int(seen[rows[0]])
            policy = self.fitted.policy(self.members, None if without < 0 else without)
            for begin in range(0, len(rows), PAIRS_AT_A_TIME):
                part = rows[begin : begin + PAIRS_AT_A_TIME]
                means[part], variances[part] = policy.predict(self.fitted.features.of(scaled.states[part]))
                done += len(part)
                tell(done / pairs)
        variances = np.minimum(variances, 1.0)
        known = 1 - variances
        power = likeliest_power(scaled.actions, means, variances, np.flatnonzero(fair))
        log_odds, expected = np.empty(pairs), np.empty((pairs, len(scaled.live)))
        for begin in range(0, pairs, PAIRS_AT_A_TIME):
            part = np.arange(begin, min(pairs, begin + PAIRS_AT_A_TIME))
            expected[part] = scaled.unscaled(means[part])
            ours, others = log_densities(scaled.actions[part], means[part], variances[part, None] ** power)
            log_odds[part] = others - ours
            doubtful = np.flatnonzero((others - ours > DOUBTFUL) & fair[part])
            for few in np.array_split(doubtful, len(doubtful) // DOUBTFUL_AT_A_TIME + 1):
                rows = part[few]
                nearby = self.nearby(scaled.states[rows], scaled.actions[rows], seen[rows])
                switching = np.logaddexp(np.log(1 - SWITCHES) + ours[few], np.log(SWITCHES) + nearby)
                log_odds[rows] = others[few] - switching
        return Conflict(posterior(log_odds, fair), expected, known)

    def nearby(self, states: Singles, actions: Singles, own: Places) -> Floats:
        """(n,) log mean density of actions (n, D) around those of the nearest states of others than the own (n,)."""
        shown = self.fitted.shown
        whose, step = np.nonzero(shown.there & self.members[:, None])
        theirs, done = shown.values[whose, step], shown.actions[whose, step]
        alike = self.fitted.features.of(states) @ theirs.T  # the kernel
        alike[own[:, None] == whose] = -np.inf
        nearest = np.argpartition(-alike, min(NEAREST, len(theirs)) - 1, axis=1)[:, :NEAREST]
        noise = self.fitted.usual_noise(self.members)
        apart = ((actions[:, None] - done[nearest]) ** 2).sum(2)
        densities = -0.5 * (apart / noise + actions.shape[1] * np.log(2 * np.pi * noise))
        of_others = np.isfinite(np.take_along_axis(alike, nearest, axis=1))
        found = special.logsumexp(np.where(of_others, densities, -np.inf), axis=1)
        return np.asarray(found - np.log(np.maximum(1, of_others.sum(1))))


def log_densities(actions: np.ndarray, means: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """(n,) of actions (n, D) if they are of a policy, and if they are not."""
    away = (actions - means) ** 2 / variance
    top = float(stats.t.logpdf(0.0, TAILS))
    ours = top - 0.5 * np.log(variance) - (TAILS + 1) / 2 * np.log1p(away / TAILS)
    others = -0.5 * (actions**2 / (1 + variance) + np.log(2 * np.pi * (1 + variance)))
    one = special.logsumexp(others - ours, axis=1) + np.log(ONE_COLUMN / actions.shape[1])
    all_of_them = (others - ours).sum(1) + np.log(1 - ONE_COLUMN)
    return ours.sum(1), np.asarray(ours.sum(1) + np.logaddexp(all_of_them, one))


def likeliest_power(actions: np.ndarray, means: Floats, variances: Floats, fair: Places) -> float:
    """To which variances (N,) are taken: above 1 the policy is surer than it says. 1 without fair pairs.

    The likeliest one for the fair pairs, whatever share of them is in conflict.
    """
    if not len(fair):
        return 1.0
    some = fair[np.linspace(0, len(fair) - 1, min(len(fair), PAIRS_AT_A_TIME)).astype(np.intp)]
    found = []
    for power in POWERS:
        ours, others = log_densities(actions[some], means[some], variances[some, None] ** power)
        share = _share(others - ours, np.ones(len(some), np.bool_))
        found.append(np.logaddexp(ours + np.log1p(-share), others + np.log(share)).sum())
    return POWERS[int(np.argmax(found))]


def posterior(log_odds: Floats, counted: Flags) -> Floats:
    """Of the second kind from its log odds (N,), with the share that is likeliest for the counted pairs."""
    return np.asarray(special.expit(log_odds + special.logit(_share(log_odds, counted))))


def _share(log_odds: Floats, counted: Flags) -> float:
    share = FIRST_SHARE
    for _ in range(ROUNDS):
        found = special.expit(log_odds[counted] + special.logit(share))
        share = float(np.clip(found.mean(), LEAST_SHARE, 0.5)) if found.size else share
    return share
