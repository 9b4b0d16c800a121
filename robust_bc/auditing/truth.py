"""How well an audit did, where it is known which pairs are corrupt; the audit itself never sees that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.judging.scaled import Floats
from robust_bc.auditing.results import AuditResults
from robust_bc.errors import RobustBCError

CORRUPT_FROM = 0.5
"""An episode is corrupt if more than this share of its pairs is."""


@dataclass(frozen=True)
class Truth:
    """The true rate, and how well good and bad are told apart; None where all are of one kind."""

    rate: float
    pair_auroc: float | None
    """Of pairs, by their probability of being clean."""
    pair_average_precision: float | None
    episode_auroc: float | None
    """Of episodes, by their scores."""
    episode_average_precision: float | None
    episode_spearman: float | None
    """Rank correlation of the episodes' scores with the noise of their demonstrators, for a graded mix."""


def compare(audit: AuditResults, corrupt: NDArray[np.bool_], noise: Floats | None = None) -> Truth:
    """An audit beside the truth (N,), and beside the noise (N,) of a graded mix."""
    for labels in (corrupt, noise):
        if labels is not None and labels.shape != (len(audit),):
            raise RobustBCError(f"there are {len(labels)} labels for {len(audit)} audited pairs.")
    grouping = audit.grouping
    bad_episodes = grouping.means(corrupt.astype(np.float64)) > CORRUPT_FROM
    of_pairs, of_episodes = told_apart(1 - audit.clean, corrupt), told_apart(audit.scores, bad_episodes)
    return Truth(
        rate=float(corrupt.mean()),
        pair_auroc=of_pairs[0],
        pair_average_precision=of_pairs[1],
        episode_auroc=of_episodes[0],
        episode_average_precision=of_episodes[1],
        episode_spearman=None if noise is None else rank_correlation(audit.scores, grouping.means(noise)),
    )


def told_apart(suspicion: Floats, corrupt: NDArray[np.bool_]) -> tuple[float, float] | tuple[None, None]:
    """Area under the ROC curve and average precision, if there are both kinds."""
    if corrupt.all() or not corrupt.any():
        return None, None
    from sklearn.metrics import average_precision_score, roc_auc_score

    return float(roc_auc_score(corrupt, suspicion)), float(average_precision_score(corrupt, suspicion))


def rank_correlation(one: Floats, other: Floats) -> float | None:
    """Spearman's, if neither is constant."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    from scipy import stats

    return float(stats.spearmanr(one, other).statistic)
