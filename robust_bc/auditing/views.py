"""Views: what actions are explained by, which is the states, or the states and what came of them.

In the view of the policy, actions are explained by states. In that of the recording, by states and the changes that
followed: that is the same for all who act in one world, but a mirrored, shifted or invented recording contradicts it,
also where its actions look like those of a policy. Two groups count in the view that shows them best. Where neither
shows two, everybody is compared with one policy of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robust_bc.auditing.contradiction import Suspects, find_suspects
from robust_bc.auditing.groups import find_groups
from robust_bc.auditing.policies import Fitted, Shown
from robust_bc.auditing.scaled import Flags, Floats, Places, Scaled, Singles, evenly_in_time
from robust_bc.auditing.settings import AuditSettings

NOTHING_TO_SPLIT = -1e3


@dataclass(frozen=True, eq=False)
class View:
    """Inputs that explain actions."""

    scaled: Scaled
    inputs: Singles  # (N, S)
    allowed: Flags  # (N,) which rows have these inputs

    @classmethod
    def of_policy(cls, scaled: Scaled) -> View:
        """By states."""
        return cls(scaled, scaled.states, np.ones(len(scaled), np.bool_))

    @classmethod
    def of_recording(cls, scaled: Scaled) -> View:
        """By states and their changes."""
        return cls(scaled, np.concatenate([scaled.states, scaled.changes], axis=1), scaled.followed)

    def rows(self, places: Places, states: int) -> list[Places]:
        """Of some episodes, at most so many of each."""
        mine = [self.scaled.episodes[place] for place in places]
        return [evenly_in_time(rows[self.allowed[rows]], states) for rows in mine]

    def fit(self, places: Places, settings: AuditSettings, generator: np.random.Generator) -> Fitted:
        """Policies of some episodes."""
        rows = self.rows(places, settings.states)
        fitted = Fitted.to(self.inputs, self.scaled.actions, rows, settings.features, generator)
        return replace(fitted, pairs=self.scaled.grouping.lengths[places].astype(np.float64)).settled()

    def shown(self, places: Places, states: int, fitted: Fitted) -> Shown:
        """Other episodes, by the features of those."""
        rows = self.rows(places, states)
        whole = np.concatenate(rows)
        actions: Floats = self.scaled.actions[whole].astype(np.float64)
        return Shown.of(fitted.features.of(self.inputs[whole]), actions, [len(mine) for mine in rows])


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
    view = View.of_policy(scaled)
    policy = fitted = view.fit(compared, settings, generator)
    split = find_groups(policy, generator)
    if scaled.followed.any():
        recording = View.of_recording(scaled)
        recorded = recording.fit(compared, settings, generator)
        other = find_groups(recorded, generator)
        if other is not None and other.counts and not (split and split.counts and split.evidence >= other.evidence):
            view, fitted, split = recording, recorded, other
    evidence = NOTHING_TO_SPLIT if split is None else split.evidence
    return Seen(find_suspects(fitted, split), evidence, view, policy)
