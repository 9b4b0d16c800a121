"""How well an audit did, where it is known which pairs are corrupt; the audit itself never sees that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.pooling import Floats
from robust_bc.auditing.results import Audit
from robust_bc.errors import RobustBCError

CORRUPT_FROM = 0.5
"""An episode is corrupt if more than this share of its pairs is."""


@dataclass(frozen=True)
class Truth:
    """The true rate, and how well good and bad are told apart; None where all are of one kind."""

    rate: float
    pair_auroc: float | None
    pair_average_precision: float | None
    episode_auroc: float | None
    episode_average_precision: float | None


def compare(audit: Audit, corrupt: NDArray[np.bool_]) -> Truth:
    """An audit beside the truth (N,)."""
    if corrupt.shape != audit.quality.shape:
        raise RobustBCError(f"there are {len(corrupt)} labels for {len(audit)} audited pairs.")
    grouping = audit.grouping
    bad_episodes = grouping.means(corrupt.astype(np.float64)) > CORRUPT_FROM
    return Truth(
        float(corrupt.mean()),
        *told_apart(1 - audit.quality, corrupt),
        *told_apart(1 - audit.episode_quality[0], bad_episodes),
    )


def told_apart(suspicion: Floats, corrupt: NDArray[np.bool_]) -> tuple[float, float] | tuple[None, None]:
    """Area under the ROC curve and average precision, if there are both kinds."""
    if corrupt.all() or not corrupt.any():
        return None, None
    from sklearn.metrics import average_precision_score, roc_auc_score

    return float(roc_auc_score(corrupt, suspicion)), float(average_precision_score(corrupt, suspicion))
