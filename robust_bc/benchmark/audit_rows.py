"""The rows of the audit benchmark: every number over the seeds of a place, and estimated against true rates."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.benchmark.audit import AuditCells
from robust_bc.benchmark.audit_cells import (
    CORRUPT_EPISODES,
    EPISODE_AP,
    EPISODE_AUROC,
    EPISODES,
    ESTIMATED,
    HIGH,
    LOW,
    PAIR_AP,
    PAIR_AUROC,
    TRUE,
    AuditCell,
)
from robust_bc.benchmark.audit_plan import FILTERED, MLP, ORACLE, TRAINED, AuditPlan
from robust_bc.benchmark.control_cells import Cell
from robust_bc.benchmark.control_rows import SHARE, ControlRow, share_of
from robust_bc.evaluation.statistics import mean_interval

Array = NDArray[np.float64]
Place = tuple[str, str, float]

RATE_ERROR, SECONDS, RETURN = "rate_error", "seconds", "return"
DETECTION_METRICS = (PAIR_AUROC, PAIR_AP, EPISODE_AUROC, EPISODE_AP, RATE_ERROR, SECONDS, EPISODES, CORRUPT_EPISODES)
SMALLER_IS_BETTER = {RATE_ERROR, SECONDS}
POINTS = 0.05
"""An estimated rate is wanted to be this near to the true one."""


@dataclass(frozen=True)
class RateRow:
    """Estimated against true rates of the mixes of one place, one mix per seed."""

    task: str
    how: str
    rate: float
    detector: str
    true: float
    """Mean; whole episodes do not always make up the very rate that was asked for."""
    estimated: float
    low: float
    high: float
    """Of the mean estimate, over seeds."""
    error: float
    """Mean of |estimated − true|."""
    largest: float
    within: int
    """Mixes whose estimate is within 5 points."""
    covered: int
    """Mixes whose true rate is in the interval of the estimate."""
    width: float
    """Mean width of these intervals: one that holds everything says nothing."""
    seeds: int


@dataclass(frozen=True)
class AuditResults:
    """The cells of a plan, and reading them by places in tables."""

    plan: AuditPlan
    cells: AuditCells
    random: Mapping[str, float | None]
    """By task, the return of random actions, which counts as nothing."""

    def sound(self, place: Place, detector: str) -> list[AuditCell]:
        """The cells of a detector in which nothing failed, by seed."""
        keys = [self.plan.key(*place, detector, seed) for seed in self.plan.seeds]
        found = [self.cells.detections[key] for key in keys if key in self.cells.detections]
        return [cell for cell in found if cell.failure is None]

    def values(self, place: Place, detector: str, metric: str) -> Array:
        """One number for each seed that has one."""
        found = [value(cell, metric) for cell in self.sound(place, detector)]
        return np.array([number for number in found if number is not None], np.float64)

    def returns(self, place: Place, who: str) -> dict[int, float]:
        """Mean returns of the policies that nothing failed with, by seed."""
        keys = {seed: self.plan.key(*place, who, seed) for seed in self.plan.seeds}
        found = {seed: self.cells.trainings.get(key) for seed, key in keys.items()}
        return {seed: cell.mean(RETURN) for seed, cell in found.items() if cell is not None and cell.failure is None}

    @property
    def all_cells(self) -> list[AuditCell | Cell]:
        """Of detectors, then of policies."""
        return [*self.cells.detections.values(), *self.cells.trainings.values()]

    def failures(self) -> list[str]:
        """One line for each cell that failed."""
        return [
            f"{cell.key.task} {cell.key.how} {cell.key.rate:.0%} {cell.key.method} seed {cell.key.seed}: {cell.failure}"
            for cell in self.all_cells
            if cell.failure is not None
        ]


def value(cell: AuditCell, metric: str) -> float | None:
    """A number of a cell by name."""
    if metric == SECONDS:
        return cell.seconds
    if metric == RATE_ERROR:
        return None if cell.error is None else abs(cell.error)
    return cell.numbers.get(metric)


def make_rows(results: AuditResults) -> list[ControlRow]:
    """One per place, detector and metric that has a number; then those of the policies."""
    rows = []
    for place in results.plan.places():
        for detector in results.plan.detectors:
            for metric in DETECTION_METRICS:
                sample = results.values(place, detector, metric)
                if len(sample):
                    rows.append(_row(results.plan, place, detector, metric, sample))
        rows += _training_rows(results, place)
    return rows


def _training_rows(results: AuditResults, place: Place) -> Iterator[ControlRow]:
    """Returns, and shares of the oracle's over the seeds that both have."""
    oracle, random = results.returns(place, ORACLE), results.random.get(place[0])
    for who in TRAINED:
        mine = results.returns(place, who)
        if mine:
            yield _row(results.plan, place, who, RETURN, np.array(list(mine.values())))
        seeds = [seed for seed in mine if seed in oracle]
        if random is None or not seeds or who == ORACLE:
            continue
        ours, best = np.array([mine[seed] for seed in seeds]), np.array([oracle[seed] for seed in seeds])
        share = share_of(ours, best, random)
        if share is not None:
            each = (ours - random) / (best.mean() - random)
            yield _row(results.plan, place, who, SHARE, each, share)


def _row(
    plan: AuditPlan,
    place: Place,
    who: str,
    metric: str,
    sample: Array,
    known: tuple[float, float | None, float | None] | None = None,
) -> ControlRow:
    mean, low, high = known or (float(sample.mean()), *mean_interval(sample))
    return ControlRow(
        *(*place, who, metric),
        mean=mean,
        std=float(sample.std(ddof=1)) if len(sample) > 1 else 0.0,
        low=low,
        high=high,
        worst=float(sample.max() if metric in SMALLER_IS_BETTER else sample.min()),
        seeds=len(sample),
        asked=len(plan.seeds),
        hits=None,
        episodes=plan.rollouts * len(sample) if who in (FILTERED, MLP, ORACLE) else 0,
    )


def rate_rows(results: AuditResults) -> list[RateRow]:
    """One per place and detector that estimates a rate."""
    rows = []
    for place in results.plan.places():
        for detector in results.plan.detectors:
            cells = [cell for cell in results.sound(place, detector) if cell.error is not None]
            if not cells:
                continue
            true, estimated, low, high = (
                np.array([cell.numbers[name] for cell in cells], np.float64) for name in (TRUE, ESTIMATED, LOW, HIGH)
            )
            error = np.abs(estimated - true)
            bounds = mean_interval(estimated)
            rows.append(
                RateRow(
                    *(*place, detector),
                    true=float(true.mean()),
                    estimated=float(estimated.mean()),
                    low=bounds[0],
                    high=bounds[1],
                    error=float(error.mean()),
                    largest=float(error.max()),
                    within=int((error <= POINTS).sum()),
                    covered=int(((low <= true) & (true <= high)).sum()),
                    width=float((high - low).mean()),
                    seeds=len(cells),
                )
            )
    return rows


def cells_as_csv(results: AuditResults) -> str:
    """One line per detection, with all its numbers."""
    cells: Sequence[AuditCell] = list(results.cells.detections.values())
    names = list(dict.fromkeys(name for cell in cells for name in cell.numbers))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "how", "rate", "detector", "seed", *names, SECONDS, "failure"])
    for cell in cells:
        key = cell.key
        numbers = [cell.numbers.get(name) for name in names]
        writer.writerow([key.task, key.how, key.rate, key.method, key.seed, *numbers, cell.seconds, cell.failure])
    return text.getvalue()
