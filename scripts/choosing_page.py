"""Writes docs/choosing-a-method.md: what each method did in every benchmark, and what to make of it (`make docs`).

python scripts/choosing_page.py

Reads the results that the other pages are written from: run scripts/synthetic_page.py, scripts/housing_page.py and
scripts/benchmark_page.py first. Only what a fit costs is measured here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from robust_bc import fit, method_names
from robust_bc.methods import get_method
from robust_bc.system.files import write_whole
from robust_bc_benchmarks.contenders import ALL, ORACLE, expand, find_contender
from robust_bc_benchmarks.teachers import make_teacher_task

DOCS, RUNS = Path("docs"), Path("runs")
SAME_STATE = ("relabel", "flip", "uniform")
CONTROL = (
    "HalfCheetah same-state 30 %",
    "rollout 30 %",
    "Walker2d same-state 30 %",
    "rollout 30 %",
    "driving 30 %: collisions",
    "deviation",
    "left the road",
)
TURNS = 3

Rows = list[dict[str, Any]]


def main() -> None:
    """Gather, measure, write."""
    torch.set_num_threads(1)
    table = _table()
    advice = (Path(__file__).parent / "choosing_advice.md").read_text()
    assumes = "\n".join(
        f"- **{name}**: {get_method(name).summary}. Use it {get_method(name).when}." for name in method_names()
    )
    page = advice.replace("{table}", table).replace("{ten_seeds}", _ten_seeds()).replace("{assumes}", assumes)
    write_whole(DOCS / "choosing-a-method.md", page)
    print(f"wrote {DOCS / 'choosing-a-method.md'}")


def _table() -> str:
    synthetic, housing = _read("docs/main"), _read("docs/housing")
    mujoco, driving = _read("benchmark-mujoco-methods"), _read("benchmark-driving-methods")
    cost = _cost()
    heads = ("method", "cosexp 0 %", "cosexp 40 %", "Boston 0 %", "Boston 30 %", *CONTROL, "time of a fit")
    lines = _head(heads)
    for name in [*expand([ALL]), ORACLE]:
        cells = [
            _number(synthetic, name, ".4f", task="cosexp", rate=0.0, metric="rmse"),
            _number(synthetic, name, ".4f", task="cosexp", rate=0.4, metric="rmse"),
            _number(housing, name, ".2f", rate=0.0, metric="rmse"),
            _number(housing, name, ".2f", rate=0.3, metric="rmse"),
        ]
        cells += _control(mujoco, driving, name)
        cells.append(f"{cost[find_contender(name).method]:.1f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _ten_seeds() -> str:
    """The columns of control once more, for the methods that were measured with ten seeds as well."""
    mujoco, driving = _read("benchmark-mujoco"), _read("benchmark-driving")
    lines = _head(("method", *CONTROL))
    for name in ("mlp", "mdn", "choicenet", ORACLE):
        lines.append(f"| {name} | " + " | ".join(_control(mujoco, driving, name)) + " |")
    return "\n".join(lines)


def _head(names: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(names) + " |", "| --- |" + " --- |" * (len(names) - 1)]


def _control(mujoco: Rows, driving: Rows, name: str) -> list[str]:
    """The cells of the columns `CONTROL`."""
    cells = [
        _number(mujoco, name, ",.0f", hows=hows, task=task, rate=0.3, metric="return")
        for task in ("halfcheetah", "walker2d")
        for hows in (SAME_STATE, ("rollout",))
    ]
    cells.append(_number(driving, name, ".1%", rate=0.3, metric="collision"))
    cells.append(_number(driving, name, ".3f", rate=0.3, metric="lane_deviation_rms"))
    cells.append(_number(driving, name, ".1%", rate=0.3, metric="off_road"))
    return cells


def _read(folder: str) -> Rows:
    rows: Rows = json.loads((RUNS / folder / "benchmark.json").read_text())["rows"]
    return rows


def _number(rows: Rows, method: str, form: str, hows: Sequence[str] | None = None, **where: Any) -> str:
    """The mean over the rows of this method that fit; a dash where there is none."""
    found = [
        row["mean"]
        for row in rows
        if row["method"] == method
        and (hows is None or row["how"] in hows)
        and all(row[name] == value for name, value in where.items())
    ]
    return format(float(np.mean(found)), form).replace("-", "−") if found else "–"


def _cost() -> dict[str, float]:
    """Time of one fit to 500 pairs as a multiple of the MLP's; they take turns, and each counts with its fastest."""
    pairs = make_teacher_task("flip", 0.3, 0).demonstrations
    seconds = dict.fromkeys(method_names(), float("inf"))
    for _ in range(TURNS):
        for name in seconds:
            start = time.perf_counter()
            fit(pairs, name, device="cpu")
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return {name: value / seconds["mlp"] for name, value in seconds.items()}


if __name__ == "__main__":
    main()
