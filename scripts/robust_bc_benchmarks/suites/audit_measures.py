"""What the audit benchmark measures: how well bad episodes are found, and what a policy then learns."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.auditing.judging.scaled import Flags, Floats
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.core.cells import Cell, Cells, Key
from robust_bc_benchmarks.suites.detectors import Detection

BAD_FROM = 0.5
"""An episode is bad if more than this share of its pairs is."""
LEARNER: dict[str, Any] = {"method": "gpr", "kernel": "wide-network", "metric": "learned", "episode_noise": False}
"""It learns a walker from few pairs, and trusts all alike: a return tells of the data that are kept, and not of the
training. Equal pairs give equal returns, whatever episodes they are of."""
MOST_PAIRS, ROLLOUTS = 2000, 20
EVALUATION_SEED = 1_000_003
"""Of the episodes that policies are measured in, the same for all."""
LEARNT_BY = {"learner": LEARNER, "pairs": MOST_PAIRS, "rollouts": ROLLOUTS, "seed": EVALUATION_SEED}
"""All that a return depends on, beside the pairs."""
RETURNS = ("return_all", "return_cleaned", "return_oracle")


def measures(found: Detection, mix: Demonstrations, noise: Floats | None) -> dict[str, float]:
    """By name, as far as they are defined; `noise` (N,) is that of each pair's demonstrator in a graded mix."""
    assert mix.corrupt is not None
    grouping = Grouping.of(mix.episodes)
    numbers: dict[str, float | None] = {
        "estimated_rate": found.rate,
        "undecided": None if found.undecided is None else float(found.undecided),
    }
    if noise is not None:
        numbers |= rank_correlations(found.scores, grouping.means(noise))
        return {name: value for name, value in numbers.items() if value is not None}
    bad = grouping.means(mix.corrupt.astype(np.float64)) > BAD_FROM
    numbers |= {"auroc": auroc(found.scores, bad), "true_rate": float(mix.corrupt.mean())}
    if found.dropped is not None:
        dropped = found.dropped[grouping.places]
        numbers |= {
            "dropped_good": _share(dropped, ~mix.corrupt),
            "dropped_bad": _share(dropped, mix.corrupt),
            "false_alarm": float((found.dropped & ~bad).any()),
        }
    return {name: value for name, value in numbers.items() if value is not None}


def auroc(scores: Floats, bad: Flags) -> float | None:
    """Probability that a bad episode scores above a good one; None if there are not both."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(bad, scores)) if bad.any() and not bad.all() else None


def rank_correlations(scores: Floats, noise: Floats) -> dict[str, float]:
    """Spearman's, of episodes and of demonstrators, each with the mean score of their episodes; 0 if all are alike."""
    from scipy import stats

    levels, who = np.unique(noise, return_inverse=True)
    means = np.bincount(who, scores) / np.bincount(who)
    found = {"spearman": (scores, noise), "spearman_demonstrators": (means, levels)}
    return {
        name: float(stats.spearmanr(*pair).statistic) if np.ptp(pair[0]) > 0 and np.ptp(pair[1]) > 0 else 0.0
        for name, pair in found.items()
    }


def _share(dropped: Flags, among: Flags) -> float | None:
    return float(dropped[among].mean()) if among.any() else None


class Returns:
    """Mean returns of the learner by task and pairs; equal pairs are learned from once, in whatever mix they are."""

    def __init__(self, folder: Path) -> None:
        self.cells = Cells(folder)

    def of(self, task: str, sets: dict[str, Demonstrations], seed: int) -> dict[str, float]:
        """By name, for pairs of the same names."""
        from robust_bc.evaluation.evaluating import evaluate_fleet
        from robust_bc.training.fitting import fit

        drawn = {name: draw(pairs, seed) for name, pairs in sets.items()}
        keys = {name: Key(task, "returns", 0.0, _digest(pairs), 0) for name, pairs in drawn.items()}
        found = {key: self.cells.read(key, LEARNT_BY) for key in keys.values()}
        missing = {keys[name]: pairs for name, pairs in drawn.items() if found[keys[name]] is None}
        policies = [fit(pairs, seed=0, device="cpu", **LEARNER) for pairs in missing.values()]
        evaluations = evaluate_fleet(policies, task, ROLLOUTS, EVALUATION_SEED) if policies else []
        for key, evaluation in zip(missing, evaluations, strict=True):
            if evaluation.failures:
                raise RobustBCError(f"a policy could not be measured: {evaluation.failures[0]['failure']}")
            found[key] = new = Cell(key, {"return": float(evaluation.summary["return"].mean)})
            self.cells.write([new], [LEARNT_BY])
        return {name: cell.numbers["return"] for name, key in keys.items() if (cell := found[key]) is not None}


def draw(pairs: Demonstrations, seed: int) -> Demonstrations:
    """At most so many pairs as the learner takes, in their order."""
    if len(pairs) <= MOST_PAIRS:
        return pairs
    generator = np.random.default_rng(seed)
    return pairs.select(np.sort(generator.choice(len(pairs), MOST_PAIRS, replace=False)))


def _digest(pairs: Demonstrations) -> str:
    """Of what is learned from; which episode a pair is of has no part in that."""
    arrays = (np.ascontiguousarray(array, np.float64) for array in (pairs.observations, pairs.actions))
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:32]
