"""Results without fits: cells whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robust_bc.evaluation.metrics import Metric
from robust_bc_benchmarks.control.cells import Cell, Key, LearningCurve, PairCorrelations
from robust_bc_benchmarks.control.plan import ControlPlan
from robust_bc_benchmarks.control.rows import Results, World
from tests.robust_bc_benchmarks.control.small import FORWARD, plan

COLLISION = Metric("collision", "collision", "last", "rate")
DEVIATION = Metric("lane_deviation_rms", "lane_deviation_rms", "last")


def results(number: Callable[[Key], float | None], **changes: Any) -> Results:
    """Two episodes a cell, a little below and above the number; None is a failure."""
    asked = plan(**changes)
    return Results(
        asked,
        _cells(asked, lambda key: _episodes(number(key), "x_velocity")),
        {"halfcheetah": World([FORWARD], -100.0)},
    )


def driving(hits: Callable[[Key], int], **changes: Any) -> Results:
    """Ten episodes a cell, with so many collisions."""
    asked = plan(tasks=("lane-driving",), **changes)

    def episodes(key: Key) -> dict[str, list[float | None]]:
        count = hits(key)
        collided: list[float | None] = [float(index < count) for index in range(10)]
        return {"return": [1.0] * 10, "length": [5.0] * 10, "collision": collided, "lane_deviation_rms": [0.25] * 10}

    return Results(asked, _cells(asked, episodes), {"lane-driving": World([COLLISION, DEVIATION], None)})


def _episodes(number: float | None, metric: str) -> dict[str, list[float | None]]:
    if number is None:
        return {}
    return {"return": [number - 1, number + 1], "length": [30, 30], metric: [1.0, 3.0]}


def _cells(asked: ControlPlan, episodes: Callable[[Key], dict[str, list[float | None]]]) -> dict[Key, Cell]:
    cells = {}
    for unit in asked.units():
        for key in unit:
            found = episodes(key)
            cells[key] = Cell(
                key,
                found,
                failure=None if found else "training diverged.",
                history=LearningCurve(["total"], [10, 20], [[2.0, 1.0]]),
                correlation=PairCorrelations([1.0, -1.0], [0.1, 2.0], "01") if key.method == "choicenet" else None,
                finished="2026-01-01T00:00:00+00:00",
            )
    return cells
