"""The rows of a benchmark: one per cell and metric, with an interval and the worst seed."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields

import numpy as np

from robust_bc.evaluation.statistics import mean_interval


@dataclass(frozen=True)
class Row:
    """A metric over the seeds of one cell; `rate` is a fraction, `low` and `high` bound the mean with 95 %."""

    task: str
    how: str
    rate: float
    method: str
    metric: str
    mean: float
    std: float
    low: float
    high: float
    worst: float
    n: int


def summarise(
    values: Sequence[float],
    *,
    task: str,
    how: str,
    rate: float,
    method: str,
    metric: str,
    larger_is_better: bool = False,
) -> Row:
    """Mean, deviation, bootstrap interval of the mean and worst value; one seed has no interval but itself."""
    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean())
    low, high = mean_interval(sample)
    return Row(
        task=task,
        how=how,
        rate=float(rate),
        method=method,
        metric=metric,
        mean=mean,
        std=float(sample.std(ddof=1)) if len(sample) > 1 else 0.0,
        low=low,
        high=high,
        worst=float(sample.min() if larger_is_better else sample.max()),
        n=len(sample),
    )


def rows_as_json(rows: Sequence[Row]) -> list[dict[str, str | float | int]]:
    """Rows as plain objects."""
    return [asdict(row) for row in rows]


def rows_as_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Row))
    writer.writerows(astuple(row) for row in rows)
    return text.getvalue()


def rows_as_markdown(rows: Sequence[Row], metric: str) -> str:
    """One table per task: methods down, rates across, `mean [low, high] worst` in each cell."""
    chosen = [row for row in rows if row.metric == metric]
    parts: list[str] = []
    for task in dict.fromkeys(row.task for row in chosen):
        mine = [row for row in chosen if row.task == task]
        rates = list(dict.fromkeys(row.rate for row in mine))
        cells = {(row.method, row.rate): row for row in mine}
        parts.append(
            f"**{task}**, {mine[0].how} corruption, {metric}: mean [95 % interval] worst of {mine[0].n} seeds\n"
        )
        parts.append("| method | " + " | ".join(f"{rate:.0%}" for rate in rates) + " |")
        parts.append("| --- |" + " --- |" * len(rates))
        for method in dict.fromkeys(row.method for row in mine):
            shown = [_cell(cells[method, rate]) if (method, rate) in cells else "–" for rate in rates]
            parts.append(f"| {method} | " + " | ".join(shown) + " |")
        parts.append("")
    return "\n".join(parts)


def _cell(row: Row) -> str:
    return f"{row.mean:.4f} [{row.low:.4f}, {row.high:.4f}] {row.worst:.4f}"
