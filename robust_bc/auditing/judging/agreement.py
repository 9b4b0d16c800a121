"""Agreement: how well demonstrations agree in the states that they share, and which group is the majority.

Of every compared episode some states are drawn evenly over what it visited: each is the one farthest from those before
(Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985). So a swerve counts as much as a long
straight. For episodes i and j, with the closest half of i's states and the state of j nearest to each,

    D[i, j] = root mean square of aᵢ − aⱼ

is what a person looks at. Who is of the majority is told by the policies that explain the episodes (`views`), which
share what they know between all episodes and not between two at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.judging.policies import Fitted
from robust_bc.auditing.judging.scaled import Flags, Floats, Places, Scaled, evenly_in_time, spread_evenly
from robust_bc.auditing.judging.views import find_in_views
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError

DRAWN, CLOSEST = 60, 0.5
"""States of an episode that are compared, and the share of them with the closest match: far ones say nothing."""
MOST_MATCHED = 300
"""States of an episode among which the nearest is looked for; of a longer one, every so many."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """C compared episodes of E."""

    compared: Places  # (C,) their places among all
    disagreement: Floats  # (C, C) root mean square difference of their actions, in deviations; 0 with themselves
    majority: Flags  # (C,) which of them are the majority
    evidence: float
    """J of `groups`: by how much two policies explain the episodes better than one, in nats."""
    scores: Floats  # (E,) how much each contradicts the majority; the higher, the worse

    @property
    def order(self) -> Places:
        """(C,) for a picture: the majority first, each group by its disagreement with the majority."""
        return np.lexsort((self.disagreement[:, self.majority].mean(1), ~self.majority))


def agreement(demonstrations: Demonstrations, settings: AuditSettings | None = None, seed: int = 0) -> Agreement:
    """Compare the episodes of some demonstrations."""
    scaled = Scaled.of(demonstrations)
    if not scaled.live.any():
        raise RobustBCError("all actions are the same, so there is nothing to disagree about.")
    return compare_episodes(scaled, settings or AuditSettings(), np.random.default_rng(seed))[0]


def compare_episodes(
    scaled: Scaled, settings: AuditSettings, generator: np.random.Generator
) -> tuple[Agreement, Floats, Fitted]:
    """For two episodes or more that are scaled already; the probability of being bad (E,) and policies of them, too."""
    episodes = scaled.episodes
    compared = np.arange(len(episodes))
    if len(episodes) > settings.compared:
        shares = scaled.grouping.lengths / len(scaled)
        compared = np.sort(generator.choice(len(episodes), settings.compared, replace=False, p=shares))
    seen = find_in_views(scaled, compared, settings, generator)
    suspects = seen.suspects
    scores, bad = np.zeros((2, len(episodes)))
    scores[compared], bad[compared] = suspects.scores, suspects.bad
    others = np.setdiff1d(np.arange(len(episodes)), compared)
    for begin in range(0, len(others), settings.compared):
        part = others[begin : begin + settings.compared]
        scores[part], bad[part] = suspects.others(seen.view.shown(part, settings.states, suspects.fitted))
    found = Agreement(compared, disagreements(scaled, compared), suspects.majority, seen.evidence, scores)
    return found, bad, seen.policy


def disagreements(scaled: Scaled, compared: Places) -> Floats:
    """D (C, C), the mean of both directions."""
    rows = [evenly_in_time(scaled.episodes[place], MOST_MATCHED) for place in compared]
    directed = np.zeros((len(rows), len(rows)))
    for one, mine in enumerate(rows):
        drawn = mine[spread_evenly(scaled.states[mine], DRAWN)]
        for two, theirs in enumerate(rows):
            if one != two:
                directed[one, two] = _disagreement(scaled, drawn, theirs)
    return (directed + directed.T) / 2


def _disagreement(scaled: Scaled, mine: Places, theirs: Places) -> float:
    states, others = scaled.states[mine], scaled.states[theirs]
    distance = (others**2).sum(1) - 2 * states @ others.T  # |x − y|² up to |x|², which is the same for all y
    match = distance.argmin(1)
    distances = distance[np.arange(len(mine)), match] + (states**2).sum(1)
    near = np.argsort(distances, kind="stable")[: int(np.ceil(CLOSEST * len(mine)))]
    difference = scaled.actions[mine[near]] - scaled.actions[theirs[match[near]]]
    return float(np.sqrt(np.mean(difference.astype(np.float64) ** 2))) if difference.size else 0.0
