"""Writes docs/benchmark.md and its figures from full runs of the control benchmarks (`make docs`).

python scripts/benchmark_page.py

Finished cells in runs/ are kept: what was interrupted goes on, and what is finished is only written anew.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from robust_bc.benchmark.control_page import against_rate
from robust_bc.benchmark.control_tables import grids
from robust_bc.cli import benchmark_driving, benchmark_mujoco
from robust_bc.cli.arguments import parse
from robust_bc.cli.benchmark_control import Finished, complete
from robust_bc.files import write_whole
from robust_bc.report import Lines, lines_png, table_as_markdown

Arguments = TypeVar("Arguments")
DOCS = Path("docs")
MUJOCO = "robust-bc benchmark mujoco --seeds 5"
DRIVING = "robust-bc benchmark driving"
CURVED = "robust-bc benchmark driving --road curved --seeds 5"
UNITS = {"return": "return", "collision": "% of episodes", "lane_deviation_rms": "metres"}
"""Beside the figures' axes."""
INTRODUCTION = """\
Written by `python scripts/benchmark_page.py` from these runs:

{commands}

on {machine} cores, {versions}.

500 pairs of state and action (driving: 2,000), of which a share is corrupt; nobody tells the methods which. Every
method has the same trunk (two layers of 128 ReLU), the same 2,000 steps of 128 pairs and the same optimiser, and none
sees a clean label. The **oracle** is `mlp` on the clean pairs of the same mix. Seeds are paired: data and start of a
fit come from its seed, and all policies are measured in the same episodes. The walkers' teachers have a shaken hand
while they show what they mean to do ([demos/README.md](../demos/README.md) tells why). A cell is `mean [95 % interval
over seeds, worst seed]`; the best mean of the fitted methods is bold.

Read these tables with four things in mind. The oracle is an MLP, so a method that learns more than an MLP from clean
pairs can exceed it (see the 0 % column), and 100 % is no limit then. No method stops early; what that is worth on
other data is in [defaults.md](defaults.md). ChoiceNet's `tau_passes` and `tau_inverse` were chosen by returns and
collisions of trial runs at 30 % on these tasks, on seeds that are among those shown here, so its numbers are a little
too good for that. And five seeds are few: an interval by resampling five numbers is narrower than it should be.

A page with sortable tables, learning curves, ρ over the data and replays is written into the folder of each run
(`report.html`):

![the top of a report](report.png)
"""


def main() -> None:
    """Run, or go on; then write."""
    parts = [
        complete(benchmark_mujoco.request(_parsed(benchmark_mujoco.MujocoArguments, MUJOCO), MUJOCO)),
        complete(benchmark_driving.request(_parsed(benchmark_driving.DrivingArguments, DRIVING), DRIVING)),
        complete(benchmark_driving.request(_parsed(benchmark_driving.DrivingArguments, CURVED), CURVED)),
    ]
    titles = ("MuJoCo", "Lane driving", "Lane driving, from the straight road to a curved one")
    first = parts[0].content
    named = ", ".join(f"{name} {number}" for name, number in first["versions"].items())
    text = "# The control benchmarks\n\n" + INTRODUCTION.format(
        commands="\n".join(f"    {part.request.command}    # {part.page.facts['date']}" for part in parts),
        machine=f"{first['machine']['processor']}, {first['machine']['cores']}",
        versions=named,
    )
    for title, name, part in zip(titles, ("mujoco", "driving", "curved"), parts, strict=True):
        lines_png(DOCS / f"benchmark-{name}.png", _panels(part))
        text += f"\n## {title}\n\n`{part.request.command}`\n\n" + "\n\n".join(part.content["headlines"])
        text += f"\n\n![{title}](benchmark-{name}.png)\n" + _tables(part)
        if failures := part.content["failures"]:
            text += "\n**What failed**\n\n" + "\n".join(f"- {failure}" for failure in failures) + "\n"
    write_whole(DOCS / "benchmark.md", text)


def _parsed(target: type[Arguments], command: str) -> Arguments:
    return parse(target, "robust-bc", shlex.split(command)[3:])


def _panels(part: Finished) -> list[Lines]:
    """The first metric against the rate, one panel for each task and way; for driving the second one as well."""
    plan, shown = part.request.plan, part.request.shown
    chosen = shown[:1] if len(plan.hows) > 1 else shown[:2]
    return [
        replace(
            against_rate(grid, f"{task}, {how}" if len(plan.hows) > 1 else grid.shown.title),
            y_label=UNITS[grid.shown.metric],
        )
        for task in plan.tasks
        for how in plan.hows
        for grid in grids(part.rows, task, how, chosen)
    ]


def _tables(part: Finished) -> str:
    plan, text = part.request.plan, ""
    for task in plan.tasks:
        for how in plan.hows:
            text += f"\n### {task}, {how}\n"
            for grid in grids(part.rows, task, how, part.request.shown):
                table = grid.as_table()
                text += f"\n**{table.title}**\n\n{table_as_markdown(table)}\n"
    return text


if __name__ == "__main__":
    main()
