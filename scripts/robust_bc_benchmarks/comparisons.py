"""Speed and memory as ratios of measurements that were taken in one run.

The machine may be noisy, so the things to compare take turns and each counts with its fastest turn.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

TURNS = 5


@dataclass(frozen=True)
class Comparison:
    """Two measurements of this run, and between what their ratio should be."""

    name: str
    what: str
    measured: str
    ratio: float
    wanted: tuple[float, float]

    @property
    def reached(self) -> bool:
        return self.wanted[0] <= self.ratio <= self.wanted[1]


def fastest(*jobs: Callable[[], object], turns: int = TURNS) -> list[float]:
    """Seconds of the fastest turn of each job; the jobs take turns, so that noise meets all alike."""
    seconds = [float("inf")] * len(jobs)
    for _ in range(turns):
        for index, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            seconds[index] = min(seconds[index], time.perf_counter() - start)
    return seconds


def report(title: str, rows: Sequence[Comparison], as_json: bool) -> bool:
    """Print all comparisons; whether each is where it should be."""
    if as_json:
        content = {"command": "make bench", **{row.name: row.ratio for row in rows}}
        Console().print_json(json.dumps(content))
        return all(row.reached for row in rows)
    table = Table(title=title, title_justify="left")
    for column in ("what", "measured", "ratio", "wanted", ""):
        table.add_column(column)
    for row in rows:
        low, high = row.wanted
        wanted = f"at least {low:g}" if high == float("inf") else f"at most {high:g}"
        table.add_row(row.what, row.measured, f"{row.ratio:.2f}", wanted, "yes" if row.reached else "MISSED")
    Console(width=132).print(table)
    return all(row.reached for row in rows)
