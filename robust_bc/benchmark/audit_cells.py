"""The cells of the audit benchmark: how well one detector finds the corrupt pairs and episodes of one mix."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.pooling import Grouping, worth_keeping
from robust_bc.auditing.results import SUSPECT_BELOW
from robust_bc.auditing.truth import CORRUPT_FROM, told_apart
from robust_bc.benchmark.cell_cache import now
from robust_bc.benchmark.control_cells import Key
from robust_bc.benchmark.detectors import Detection
from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FORMAT = 1
"""Of a cell's file. Whoever changes what its numbers mean counts it up, and all cells are computed anew."""
PAIR_AUROC, PAIR_AP, EPISODE_AUROC, EPISODE_AP = "pair_auroc", "pair_ap", "episode_auroc", "episode_ap"
EPISODES, CORRUPT_EPISODES = "episodes", "corrupt_episodes"
ESTIMATED, LOW, HIGH, TRUE = "estimated_rate", "estimated_low", "estimated_high", "true_rate"


@dataclass(frozen=True)
class AuditCell:
    """What was measured of one detector on one mix. Its key has the detector's name as the method."""

    key: Key
    numbers: dict[str, float | None] = field(default_factory=dict)
    """By name; None where a number is not defined. Empty if the detector failed."""
    dropped: str | None = field(default=None, repr=False)
    """A 1 for each pair that would be dropped before training; None if the detector gives no probabilities."""
    failure: str | None = None
    """One sentence if the detector gave up; such a cell counts in no mean."""
    seconds: float = 0.0
    finished: str = ""
    """When, in UTC."""

    def __post_init__(self) -> None:
        if self.dropped is not None and not set(self.dropped) <= {"0", "1"}:
            raise RobustBCError("dropped is a 0 or a 1 for each pair.")

    @property
    def error(self) -> float | None:
        """Estimated less true rate."""
        estimated, true = self.numbers.get(ESTIMATED), self.numbers.get(TRUE)
        return None if estimated is None or true is None else estimated - true


def measured(key: Key, detection: Detection, mix: Demonstrations, seconds: float) -> AuditCell:
    """The detector's opinion beside the truth, which the mix must tell."""
    assert mix.corrupt is not None
    numbers: dict[str, float | None] = dict.fromkeys((EPISODE_AUROC, EPISODE_AP))
    numbers[PAIR_AUROC], numbers[PAIR_AP] = told_apart(detection.suspicion, mix.corrupt)
    grouping = Grouping.of(mix.episodes)
    corrupt = grouping.means(mix.corrupt.astype(np.float64)) > CORRUPT_FROM  # (E,)
    if not grouping.single:  # single pairs are no episodes to judge
        numbers[EPISODE_AUROC], numbers[EPISODE_AP] = told_apart(grouping.means(detection.suspicion), corrupt)
    rate = detection.rate
    numbers |= {
        ESTIMATED: None if rate is None else float(rate.value),
        LOW: None if rate is None else float(rate.low),
        HIGH: None if rate is None else float(rate.high),
        TRUE: float(mix.corrupt.mean()),
        "pairs": float(len(mix)),
        EPISODES: float(len(corrupt)),
        CORRUPT_EPISODES: float(corrupt.sum()),
    }
    dropped = None
    if rate is not None:
        dropped = "".join("1" if drop else "0" for drop in to_drop(grouping, detection.suspicion))
    return AuditCell(key, numbers, dropped, seconds=round(seconds, 3), finished=now())


def to_drop(grouping: Grouping, suspicion: Array) -> Mask:
    """(N,) which pairs go before training, as in `robust-bc filter --above 0.5`."""
    return ~worth_keeping(grouping, 1 - suspicion, SUSPECT_BELOW)
