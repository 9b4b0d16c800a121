"""The rows of a control benchmark: each metric over the seeds of a cell, its share of the oracle's, and differences."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from robust_bc.evaluation.metrics import Metric
from robust_bc.evaluation.statistics import CONFIDENCE, mean_interval, rate_interval
from robust_bc_benchmarks.contenders import ORACLE
from robust_bc_benchmarks.control.cells import EXPERT, Cell, Key
from robust_bc_benchmarks.control.plan import ControlPlan

Array = NDArray[np.float64]

SHARE = "share_of_oracle"
DRAWS = 10_000
"""Of a paired bootstrap."""
SMALLER_IS_BETTER = {"collision", "off_road", "lane_deviation_rms"}


@dataclass(frozen=True)
class ControlRow:
    """A metric over the seeds of one place in a table; `low` and `high` bound the mean with 95 %, over seeds."""

    task: str
    how: str
    rate: float
    method: str
    metric: str
    mean: float
    std: float
    low: float | None
    high: float | None
    worst: float
    """Of the seeds; of the expert, which has no seeds, the mean."""
    seeds: int
    """That count; the others failed."""
    asked: int
    hits: int | None
    """For a metric that is yes or no: in how many episodes of all seeds."""
    episodes: int


@dataclass(frozen=True)
class World:
    """What rows need to know of a task: its metrics, and the return of random actions, which counts as nothing."""

    metrics: Sequence[Metric]
    random: float | None


@dataclass(frozen=True)
class Results:
    """The cells of a plan, and reading them by places in tables."""

    plan: ControlPlan
    cells: Mapping[Key, Cell]
    worlds: Mapping[str, World]

    def cell(self, task: str, how: str, rate: float, method: str, seed: int) -> Cell | None:
        return self.cells.get(self.plan.key(task, how, rate, method, seed))

    def sound(self, task: str, how: str, rate: float, method: str) -> dict[int, Cell]:
        """By seed, the cells in which nothing failed."""
        found = {seed: self.cell(task, how, rate, method, seed) for seed in self.plan.seeds}
        return {seed: cell for seed, cell in found.items() if cell is not None and cell.failure is None}

    def paired(self, task: str, how: str, rate: float, one: str, other: str, metric: str) -> tuple[Array, Array]:
        """Means of two methods over the seeds that both have, (S,) each."""
        mine, theirs = self.sound(task, how, rate, one), self.sound(task, how, rate, other)
        seeds = [seed for seed in mine if seed in theirs]
        return np.array([mine[s].mean(metric) for s in seeds]), np.array([theirs[s].mean(metric) for s in seeds])

    def failures(self) -> list[str]:
        """One line for each cell that failed."""
        return [
            f"{key.task} {key.how} {key.rate:.0%} {key.method} seed {key.seed}: {cell.failure}"
            for key, cell in self.cells.items()
            if cell.failure is not None
        ]


def make_rows(results: Results) -> list[ControlRow]:
    """One row per task, way, rate, method and metric, in that order; the oracle and the expert stand in each."""
    return [row for place in places(results.plan) for row in _rows_of(results, *place)]


def places(plan: ControlPlan) -> Iterator[tuple[str, str, float, str]]:
    """Task, way, rate and method as tables show them."""
    for task in plan.tasks:
        for how in plan.hows:
            for rate in plan.rates:
                for method in (*plan.methods, ORACLE, EXPERT):
                    yield task, how, rate, method


def _rows_of(results: Results, task: str, how: str, rate: float, method: str) -> Iterator[ControlRow]:
    world, expert = results.worlds[task], method == EXPERT
    cells = list(results.sound(task, how, rate, method).values())[: 1 if expert else None]
    asked = 1 if expert else len(results.plan.seeds)
    if not cells:
        return
    kinds = {"return": "number", "length": "number", **{metric.name: metric.kind for metric in world.metrics}}
    for metric, kind in kinds.items():
        if not all(metric in cell.episodes for cell in cells):
            continue
        values = np.concatenate([cell.values(metric) for cell in cells])
        # The expert has no seeds: its interval is over episodes.
        sample = values if expert else np.array([cell.mean(metric) for cell in cells])
        low, high = mean_interval(sample)
        if kind == "rate" and (expert or (len(sample) > 1 and np.ptp(sample) == 0)):
            # Seeds without a single collision are no proof that there never is one: the episodes have their say.
            low, high = rate_interval(int(values.sum()), len(values))
        worst = sample.mean() if expert else sample.max() if metric in SMALLER_IS_BETTER else sample.min()
        yield ControlRow(
            *(task, how, float(rate), method, metric),
            mean=float(sample.mean()),
            std=_deviation(sample),
            low=low,
            high=high,
            worst=float(worst),
            seeds=len(cells),
            asked=asked,
            hits=int(values.sum()) if kind == "rate" else None,
            episodes=len(values),
        )
    if world.random is None or method in (ORACLE, EXPERT):
        return
    mine, oracle = results.paired(task, how, rate, method, ORACLE, "return")
    share = share_of(mine, oracle, world.random)
    if share is not None:
        each = (mine - world.random) / (oracle.mean() - world.random)
        yield ControlRow(
            *(task, how, float(rate), method, SHARE),
            mean=share[0],
            std=_deviation(each),
            low=share[1],
            high=share[2],
            worst=float(each.min()),
            seeds=len(each),
            asked=asked,
            hits=None,
            episodes=sum(len(cell.values("return")) for cell in cells),
        )


def _deviation(sample: Array) -> float:
    return float(sample.std(ddof=1)) if len(sample) > 1 else 0.0


def share_of(mine: Array, oracle: Array, random: float) -> tuple[float, float | None, float | None] | None:
    """(mean(x) − random) / (mean(oracle) − random) over paired seeds, and its interval by resampling pairs.

    None if the oracle is no better than random actions. Without an interval if that can happen among the resampled.
    """
    if len(mine) == 0 or oracle.mean() <= random:
        return None
    share = float((mine.mean() - random) / (oracle.mean() - random))
    draws = _draws(len(mine))
    below = oracle[draws].mean(1) - random  # (draws,)
    if (below <= 0).any():
        return share, None, None
    low, high = _interval((mine[draws].mean(1) - random) / below)
    return share, low, high


def difference(mine: Array, other: Array) -> tuple[float, float, float]:
    """Mean of the paired differences and its interval."""
    apart = mine - other
    low, high = _interval(apart[_draws(len(apart))].mean(1))
    return float(apart.mean()), low, high


def _draws(count: int) -> NDArray[np.intp]:
    """Seeded, so that the same results always print the same interval."""
    return np.random.default_rng(0).integers(count, size=(DRAWS, count), dtype=np.intp)


def _interval(statistics: Array) -> tuple[float, float]:
    low, high = np.percentile(statistics, [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)])
    return float(low), float(high)


def rows_as_csv(rows: Sequence[ControlRow]) -> str:
    """Rows as CSV text."""
    return _csv([field.name for field in fields(ControlRow)], [astuple(row) for row in rows])


def cells_as_csv(results: Results) -> str:
    """One line per cell: means over its episodes."""
    metrics = list(dict.fromkeys(name for cell in results.cells.values() for name in cell.episodes))
    head = ["task", "how", "rate", "method", "seed", "episodes", *metrics, "fit_seconds", "evaluate_seconds"]
    lines = []
    for key, cell in results.cells.items():
        measured = [cell.values(name) for name in metrics]
        finite = [values[np.isfinite(values)] for values in measured]
        means = [float(values.mean()) if len(values) else None for values in finite]
        count = len(cell.episodes.get("return", []))
        start = (key.task, key.how, key.rate, key.method, key.seed, count)
        lines.append((*start, *means, cell.fit_seconds, cell.evaluate_seconds, cell.failure))
    return _csv([*head, "failure"], lines)


def _csv(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return text.getvalue()
