"""Who looks for corrupt pairs in the audit benchmark: our audit, and three simple detectors in their standard form.

A detector is a function of (demonstrations, seed, device) and one line of `DETECTORS`. It sees what a person with a
pile of demonstrations sees: the hidden labels are taken away before it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing import REVISION
from robust_bc.auditing.audits import audit, judging_settings
from robust_bc.auditing.pooling import PARTLY_BAD
from robust_bc.auditing.results import Estimate
from robust_bc.benchmark.cell_cache import plain
from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.fitting import fit_fleet
from robust_bc.methods import get_method
from robust_bc.normalisation import Affine

Array = NDArray[np.float64]
Index = NDArray[np.intp]

AUDIT = "audit"
AUDIT_METHOD = "choicenet"
MLP_HIDDEN, FOLDS = (128, 128), 5
"""The trunk of the control benchmarks, and into how many parts episodes are dealt."""
NEIGHBOURS, MOST_REFERENCES = 10, 20_000
MOST_AT_ONCE = 4_000_000
"""Pairs times neighbours that are held in memory."""


@dataclass(frozen=True, eq=False)
class Detection:
    """What a detector says about N pairs."""

    suspicion: Array
    """(N,), the higher the more suspect."""
    rate: Estimate | None = None
    """Estimated share of corrupt pairs; where there is one, `suspicion` is the probability that a pair is corrupt."""


@dataclass(frozen=True)
class Detector:
    """A detector and what tells its numbers from those of another version."""

    detect: Callable[[Demonstrations, int, str], Detection]
    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Finished cells of other settings are computed anew."""
    revision: int = 1
    """Whoever changes what a detector says, by code that no setting tells of, counts it up."""

    def __call__(self, demonstrations: Demonstrations, seed: int, device: str) -> Detection:
        """Its opinion, without a look at the labels."""
        found = self.detect(replace(demonstrations, corrupt=None), seed, device)
        if found.suspicion.shape != (len(demonstrations),) or not np.isfinite(found.suspicion).all():
            raise RobustBCError("the detector gave no finite number for every pair; this is a fault of its code.")
        return found


def find_detector(name: str) -> Detector:
    """The detector of that name, or an error that lists them."""
    if name not in DETECTORS:
        raise RobustBCError(f"there is no detector '{name}'; there are {', '.join(DETECTORS)}.")
    return DETECTORS[name]


def by_audit(demonstrations: Demonstrations, seed: int, device: str) -> Detection:
    """Ours: one minus the quality of a pair, and the estimated rate."""
    found = audit(demonstrations, method=AUDIT_METHOD, seed=seed, device=device)
    return Detection(1 - found.quality, found.rate)


def by_residual(demonstrations: Demonstrations, seed: int, device: str) -> Detection:
    """Distance to the action of an MLP that has not seen the pair's episode.

    Where bad episodes have states of their own (rollout), one stands out only if all its likes happen to be dealt into
    its own fold, else the network has learned from them: with few bad episodes its score is a matter of the deal.
    """
    folds = folds_of(demonstrations.episodes, seed)
    count = int(folds.max()) + 1
    policies = fit_fleet(
        [demonstrations.select(folds != fold) for fold in range(count)],
        "mlp",
        seeds=[seed] * count,
        device=device,
        hidden=MLP_HIDDEN,
    )
    expected = np.empty(demonstrations.actions.shape)  # (N, D)
    for fold, policy in enumerate(policies):
        expected[folds == fold] = policy.predict(demonstrations.observations[folds == fold])[0]
    return Detection(distances(demonstrations, expected))


def by_neighbours(demonstrations: Demonstrations, seed: int, device: str) -> Detection:
    """Distance to the median action of the nearest states of other episodes."""
    from sklearn.neighbors import NearestNeighbors

    states = Affine.of(demonstrations.observations).forward(demonstrations.observations)  # (N, S)
    pairs = len(states)
    # A single episode has no others: then all pairs but itself are others.
    several = len(np.unique(demonstrations.episodes)) > 1
    owner = demonstrations.episodes if several else np.arange(pairs)
    stream = np.random.default_rng([seed, 0])
    reference = np.sort(stream.permutation(pairs)[:MOST_REFERENCES])  # (R,)
    search = NearestNeighbors().fit(states[reference])
    expected = np.full(demonstrations.actions.shape, np.nan)
    left, asked = np.arange(pairs), min(2 * NEIGHBOURS, len(reference))
    while len(left):
        for rows in np.array_split(left, -(-len(left) * asked // MOST_AT_ONCE)):
            near = reference[search.kneighbors(states[rows], asked, return_distance=False)]  # (L, asked), nearest first
            other = owner[near] != owner[rows][:, None]
            first = np.argsort(~other, axis=1, kind="stable")[:, :NEIGHBOURS]  # others first, still by distance
            valid = np.take_along_axis(other, first, 1)  # (L, k)
            ready = valid.all(1) if asked < len(reference) else valid.any(1)
            actions = demonstrations.actions[np.take_along_axis(near, first, 1)[ready]]  # (L, k, D)
            expected[rows[ready]] = np.nanmedian(np.where(valid[ready][:, :, None], actions, np.nan), axis=1)
        left = left[np.isnan(expected[left]).any(1)]
        if asked == len(reference):
            break
        # Neighbours of the same episode came first, so more are asked for until enough others are among them.
        asked = min(2 * asked, len(reference))
    if len(left):
        raise RobustBCError("some pairs have no pair of another episode to be compared with; give more episodes.")
    return Detection(distances(demonstrations, expected))


def by_isolation(demonstrations: Demonstrations, seed: int, device: str) -> Detection:
    """How soon random cuts single out the pair of state and action."""
    from sklearn.ensemble import IsolationForest

    parts = (demonstrations.observations, demonstrations.actions)
    both = np.concatenate([Affine.of(part).forward(part) for part in parts], axis=1)  # (N, S + D)
    forest = IsolationForest(random_state=seed).fit(both)
    return Detection(-forest.score_samples(both).astype(np.float64))


def folds_of(episodes: NDArray[np.int64], seed: int) -> Index:
    """(N,) which fold a pair belongs to; whole episodes go together, and folds have about as many of them."""
    names, unit = np.unique(episodes, return_inverse=True)
    if len(names) < 2:
        raise RobustBCError("a residual out of fold needs at least 2 episodes, but there is 1.")
    dealt = np.empty(len(names), np.intp)
    dealt[np.random.default_rng([seed, 1]).permutation(len(names))] = np.arange(len(names)) % FOLDS
    return np.asarray(dealt[unit], np.intp)


def distances(demonstrations: Demonstrations, expected: Array) -> Array:
    """(N,) from actions (N, D) to the expected ones: root mean square over live dimensions, in units of their scale."""
    scale = Affine.of(demonstrations.actions).scale
    live = scale > 0
    if not live.any():
        return np.zeros(len(demonstrations))
    away = (demonstrations.actions[:, live] - expected[:, live]) / scale[live]
    return np.asarray(np.sqrt((away**2).mean(1)), np.float64)


def _settings_of(method: str, **given: Any) -> dict[str, Any]:
    return plain(asdict(get_method(method).settings(given)))


DETECTORS = {
    AUDIT: Detector(
        by_audit,
        f"`robust-bc audit --method {AUDIT_METHOD}`: one minus the quality of a pair",
        {
            "method": AUDIT_METHOD,
            "partly_bad": PARTLY_BAD,
            **_settings_of(AUDIT_METHOD, **judging_settings(AUDIT_METHOD, {})),
        },
        REVISION,
    ),
    "mlp-residual": Detector(
        by_residual,
        f"distance to the action of a plain MLP ({' and '.join(map(str, MLP_HIDDEN))} units, 2,000 steps) that was"
        f" fitted to the other episodes, in {FOLDS} folds; where bad episodes are alike and have states of their own"
        " (`rollout`), it finds those whose likes were all dealt into the same fold, so that single seeds tell little",
        {"folds": FOLDS, **_settings_of("mlp", hidden=MLP_HIDDEN)},
    ),
    "knn": Detector(
        by_neighbours,
        f"distance to the median action of the {NEIGHBOURS} nearest standardised states of other episodes, among at"
        f" most {MOST_REFERENCES:,} pairs",
        {"neighbours": NEIGHBOURS, "references": MOST_REFERENCES},
    ),
    "isolation-forest": Detector(
        by_isolation, "scikit-learn's IsolationForest with its defaults, on standardised state and action together"
    ),
}
