"""Views: what actions are explained by, which is the states, or the states and what came of them.

In the view of the policy, actions are explained by states. In that of the recording, by states and the changes that
followed: that is the same for all who act in one world, but a mirrored, shifted or invented recording contradicts it,
also where its actions look like those of a policy. Two groups count in the view that shows them best. Where neither
shows two, everybody is compared with one policy of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robust_bc.auditing.judging.contradiction import Suspects, find_suspects
from robust_bc.auditing.judging.groups import find_groups
from robust_bc.auditing.judging.policies import Fitted, Shown
from robust_bc.auditing.judging.scaled import Floats, Places, Scaled, Singles, evenly_in_time
from robust_bc.auditing.settings import AuditSettings
from robust_bc.errors import RobustBCError

NOTHING_TO_SPLIT = -1e3
FEWEST_STATES = 2


@dataclass(frozen=True, eq=False)
class View:
    """Inputs that explain actions."""

    scaled: Scaled
    recording: bool

    def rows(self, places: Places, states: int) -> list[Places]:
        """Of some episodes, at most so many of each, as far as they have these inputs."""
        mine = [self.scaled.episodes[place] for place in places]
        return [evenly_in_time(rows[self.scaled.followed[rows]] if self.recording else rows, states) for rows in mine]

    def inputs(self, rows: Places) -> Singles:
        """(n, S), and (n, 2S) with the changes."""
        states = self.scaled.states[rows]
        return np.concatenate([states, self.scaled.changes[rows]], axis=1) if self.recording else states

    def fit(self, places: Places, settings: AuditSettings, generator: np.random.Generator) -> Fitted | None:
        """Policies of some episodes; None if there is nothing to learn them from."""
        rows = self.rows(places, settings.states)
        whole, lengths = np.concatenate(rows), [len(mine) for mine in rows]
        if len(whole) < FEWEST_STATES:
            return None
        split = np.split(np.arange(len(whole)), np.cumsum(lengths)[:-1])
        fitted = Fitted.to(self.inputs(whole), self.scaled.actions[whole], split, settings.features, generator)
        pairs = self.scaled.grouping.lengths[places].astype(np.float64)
        return replace(fitted, pairs=pairs).settled(np.ones(len(pairs), np.bool_))

    def shown(self, places: Places, states: int, fitted: Fitted) -> Shown:
        """Other episodes, by the features of those."""
        rows = self.rows(places, states)
        whole = np.concatenate(rows)
        actions: Floats = self.scaled.actions[whole].astype(np.float64)
        return Shown.of(fitted.features.of(self.inputs(whole)), actions, [len(mine) for mine in rows])


def fit_policies(scaled: Scaled, places: Places, settings: AuditSettings, generator: np.random.Generator) -> Fitted:
    """Of some episodes, by their states."""
    fitted = View(scaled, recording=False).fit(places, settings, generator)
    if fitted is None:
        raise RobustBCError(f"there are fewer than {FEWEST_STATES} pairs to compare.")
    return fitted


@dataclass(frozen=True, eq=False)
class Seen:
    """What the views show of some episodes."""

    suspects: Suspects
    evidence: float
    """J of `groups`."""
    view: View
    """The one that shows it."""
    policy: Fitted
    """The episodes in the view of the policy."""


def find_in_views(scaled: Scaled, compared: Places, settings: AuditSettings, generator: np.random.Generator) -> Seen:
    """Who contradicts the majority of some episodes, in the view that shows it best."""
    view, recording = View(scaled, recording=False), View(scaled, recording=True)
    policy = fitted = fit_policies(scaled, compared, settings, generator)
    split = find_groups(policy, generator)
    recorded = recording.fit(compared, settings, generator)
    if recorded is not None:
        other = find_groups(recorded, generator)
        if other is not None and other.counts and not (split and split.counts and split.evidence >= other.evidence):
            view, fitted, split = recording, recorded, other
    evidence = NOTHING_TO_SPLIT if split is None else split.evidence
    return Seen(find_suspects(fitted, split), evidence, view, policy)
