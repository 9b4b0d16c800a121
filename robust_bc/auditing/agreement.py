"""Agreement: how well demonstrations agree in the states that they share, and which group is the majority.

Of every compared episode some states are drawn evenly over what it visited: each is the one farthest from those before
(Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985). So a swerve counts as much as a long
straight. For episodes i and j, with the closest half of i's states and the state of j nearest to each,

    D[i, j] = root mean square of aᵢ − aⱼ

is what a person looks at. Which of them are a group is told by the policies that explain them (`groups`), which share
what they know between all episodes and not between two at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_bc.auditing.groups import Groups, View, find_groups
from robust_bc.auditing.policies import Fitted
from robust_bc.auditing.scaled import Flags, Floats, Places, Scaled, evenly_in_time, spread_evenly
from robust_bc.auditing.settings import AuditSettings
from robust_bc.demonstrations import Demonstrations

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
    """Log odds that two policies made the episodes, and not one."""
    scores: Floats  # (E,) the higher, the worse: per state, log odds of the others' policy or misfit of one for all

    @property
    def order(self) -> Places:
        """(C,) for a picture: the majority first, each group by its disagreement with the majority."""
        return np.lexsort((self.disagreement[:, self.majority].mean(1), ~self.majority))


def agreement(demonstrations: Demonstrations, settings: AuditSettings | None = None, seed: int = 0) -> Agreement:
    """Compare the episodes of some demonstrations."""
    return compare_episodes(Scaled.of(demonstrations), settings or AuditSettings(), np.random.default_rng(seed))[0]


def compare_episodes(
    scaled: Scaled, settings: AuditSettings, generator: np.random.Generator
) -> tuple[Agreement, Groups, Fitted]:
    """For pairs that are scaled already: the groups and the policy of all, too; there must be two episodes at least."""
    episodes = scaled.episodes
    compared = np.arange(len(episodes))
    if len(episodes) > settings.compared:
        shares = scaled.grouping.lengths / len(scaled)
        compared = np.sort(generator.choice(len(episodes), settings.compared, replace=False, p=shares))
    policy = View.of(scaled, settings, recording=False).fit(compared, generator)
    groups = find_groups(scaled, compared, policy, settings, generator)
    found = Agreement(compared, disagreements(scaled, compared), groups.majority, groups.evidence, groups.scores)
    return found, groups, policy


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
