"""Who looks for bad episodes in the audit benchmark: the audit, its parts alone, and simple detectors of scikit-learn.

A detector is a function of (demonstrations, seed) and one line of `DETECTORS`. It never sees the hidden labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robust_bc.auditing.audits import audit
from robust_bc.auditing.judging.agreement import agreement, disagreements
from robust_bc.auditing.judging.checks import run_checks
from robust_bc.auditing.judging.conflict import Majority
from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.auditing.judging.scaled import Flags, Floats, Scaled
from robust_bc.auditing.judging.views import fit_policies
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError

NEIGHBOURS = 10
HIDDEN, EPOCHS = (64, 64), 50
"""Of the network whose loss is a detector: enough to learn what most episodes do."""


@dataclass(frozen=True, eq=False)
class Detection:
    """What a detector says of E episodes."""

    scores: Floats  # (E,) the higher, the worse
    dropped: Flags | None = None  # (E,) which episodes it would drop; None if it only ranks them
    rate: float | None = None
    """Estimated share of bad pairs."""
    undecided: bool | None = None
    """Whether it says that it cannot tell; None if it never does."""


Detector = Callable[[Demonstrations, int], Detection]


def detect(name: str, demonstrations: Demonstrations, seed: int) -> Detection:
    """Ask the detector of that name."""
    return DETECTORS[name](replace(demonstrations, corrupt=None), seed)


def by_audit(demonstrations: Demonstrations, seed: int) -> Detection:
    """All parts together."""
    found = audit(demonstrations, seed=seed)
    dropped = found.grouping.means((~found.keep()).astype(np.float64)) > 0  # it drops whole episodes only
    return Detection(found.scores, dropped, found.rate.value, found.undecided is not None)


def by_agreement(demonstrations: Demonstrations, seed: int) -> Detection:
    """Agreement alone, as a person sees it: the mean disagreement with the other episodes, pair by pair of episodes."""
    scaled = Scaled.of(demonstrations)
    return Detection(disagreements(scaled, np.arange(len(scaled.episodes))).mean(1))


def by_policies(demonstrations: Demonstrations, seed: int) -> Detection:
    """Agreement alone, without checks: whoever is not of the majority is dropped."""
    found = agreement(demonstrations, seed=seed)
    dropped = np.zeros(len(found.scores), np.bool_)
    dropped[found.compared] = ~found.majority
    return _dropping(demonstrations, found.scores, dropped)


def by_conflict(demonstrations: Demonstrations, seed: int) -> Detection:
    """Conflict alone, with the policy of all other episodes in place of the majority's."""
    scaled, settings = Scaled.of(demonstrations), AuditSettings()
    everybody = np.arange(len(scaled.episodes))
    policy = fit_policies(scaled, everybody, settings, np.random.default_rng(seed))
    found = Majority(policy, np.ones(len(everybody), np.bool_)).judge(
        scaled, scaled.grouping.places, np.ones(len(scaled), np.bool_)
    )
    return Detection(scaled.grouping.means(found.probability))


def by_checks(demonstrations: Demonstrations, seed: int) -> Detection:
    """Checks alone: the number of findings, and first of all those that spoil an episode."""
    findings = run_checks(demonstrations, seed)
    names = np.unique(demonstrations.episodes)
    scores = np.array([sum(finding.episode == name for finding in findings) for name in names], np.float64)
    spoiled = np.array([any(each.spoils and each.episode == name for each in findings) for name in names])
    return _dropping(demonstrations, scores + spoiled * (1 + len(findings)), spoiled)


def by_neighbours(demonstrations: Demonstrations, seed: int) -> Detection:
    """Mean distance of an action to those in the nearest states of other episodes."""
    from sklearn.neighbors import NearestNeighbors

    scaled = Scaled.of(demonstrations)
    if len(scaled.episodes) < 2:
        raise RobustBCError("there is one episode only, and no other to compare it with.")
    scores = []
    for place, rows in enumerate(scaled.episodes):
        others = np.flatnonzero(scaled.grouping.places != place)
        search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(others))).fit(scaled.states[others])
        near = others[search.kneighbors(scaled.states[rows], return_distance=False)]  # (T, k)
        away = scaled.actions[rows][:, None] - scaled.actions[near]  # (T, k, B)
        scores.append(np.linalg.norm(away, axis=2).mean())
    return Detection(np.array(scores, np.float64))


def by_isolation(demonstrations: Demonstrations, seed: int) -> Detection:
    """How soon random cuts single out a pair of state and action, in the mean of an episode."""
    from sklearn.ensemble import IsolationForest

    scaled = Scaled.of(demonstrations)
    both = np.concatenate([scaled.states, scaled.actions], axis=1)
    forest = IsolationForest(random_state=seed).fit(both)
    return Detection(scaled.grouping.means(-forest.score_samples(both).astype(np.float64)))


def by_loss(demonstrations: Demonstrations, seed: int) -> Detection:
    """Mean squared error of a network that is fitted to everything."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    scaled = Scaled.of(demonstrations)
    network = MLPRegressor(hidden_layer_sizes=HIDDEN, max_iter=EPOCHS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs is what is asked for
        network.fit(scaled.states, scaled.actions if scaled.actions.shape[1] > 1 else scaled.actions[:, 0])
    away = scaled.actions - network.predict(scaled.states).reshape(scaled.actions.shape)
    return Detection(scaled.grouping.means((away**2).mean(1).astype(np.float64)))


def _dropping(demonstrations: Demonstrations, scores: Floats, dropped: Flags) -> Detection:
    """The rate is the share of pairs that are dropped."""
    lengths = Grouping.of(demonstrations.episodes).lengths
    return Detection(scores, dropped, float(lengths[dropped].sum() / lengths.sum()))


DETECTORS: dict[str, Detector] = {
    "audit": by_audit,
    "agreement": by_agreement,
    "policies": by_policies,
    "conflict": by_conflict,
    "checks": by_checks,
    "neighbours": by_neighbours,
    "isolation": by_isolation,
    "loss": by_loss,
}
PARTS = ("audit", "agreement", "policies", "conflict", "checks")
"""Those that change with the audit's revision."""
