"""Writes docs/benchmark.md, docs/baselines.md and their figures from full runs of the control benchmarks (`make docs`).

python scripts/benchmark_page.py [--pages benchmark baselines]

Finished cells in runs/ are kept: what was interrupted goes on, and what is finished is only written anew.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import tyro

from robust_bc.benchmark.control_page import against_rate
from robust_bc.benchmark.control_tables import grids
from robust_bc.cli import benchmark_driving, benchmark_mujoco
from robust_bc.cli.arguments import parse
from robust_bc.cli.benchmark_control import ControlRequest, Finished, complete
from robust_bc.files import write_whole
from robust_bc.report import Lines, lines_png, table_as_markdown

Arguments = TypeVar("Arguments")
DOCS = Path("docs")
UNITS = {"return": "return", "collision": "% of episodes", "lane_deviation_rms": "metres"}
"""Beside the figures' axes."""
PROTOCOL = """\
500 pairs of state and action (driving: 2,000), of which a share is corrupt; nobody tells the methods which. Every
neural method has the same trunk (two layers of 128 ReLU), the same 2,000 steps of 128 pairs and the same optimiser,
and none sees a clean label; `co-teaching` and `bcnd` train two such networks and act by their mean. The **oracle** is
`mlp` on the clean pairs of the same mix. Seeds are paired: data and start of a fit come from its seed, and all
policies are measured in the same episodes. The walkers' teachers have a shaken hand while they show what they mean to
do ([demos/README.md](../demos/README.md) tells why). A cell is `mean [95 % interval over seeds, worst seed]`; the
best mean of the fitted methods is bold.
"""
BENCHMARK = (
    PROTOCOL
    + """
Read these tables with three things in mind. The oracle is an MLP, so a method that learns more than an MLP from clean
pairs can exceed it (see the 0 % column), and 100 % is no limit then. No method stops early; what that is worth on
other data is in [tuning.md](tuning.md). ChoiceNet's `tau_passes` and `tau_inverse` were chosen by returns and
collisions of trial runs at 30 % on these tasks, on seeds that are among those shown here, so its numbers are a little
too good for that; its σ_Z = 1 was chosen elsewhere, by the rule of that page, and is no help here: with
1.5, collisions in driving were 0.9/1.5/1.2/1.2/6.1 % (`git show 0cea73a:docs/benchmark.md`).

A page with sortable tables, learning curves, ρ over the data and replays is written into the folder of each run
(`report.html`):

![the top of a report](report.png)
"""
)
BASELINES = (
    PROTOCOL
    + """
These tables have every method in fewer episodes than [benchmark.md](benchmark.md), which compares three of them more
closely; the differences between seeds are far larger than those between episodes. `trimmed+rate` and `co-teaching+rate`
are told the true share of corrupt pairs, which nobody knows outside of a benchmark; without it they assume 40 %. Three
seeds are few, and an interval by resampling three numbers is narrower than it should be: read these tables for what
fails, not for who is first. How the settings of each method were chosen is in [tuning.md](tuning.md);
those of ChoiceNet that concern τ⁻¹ were chosen on these tasks, so its numbers are a little too good for that. What to
make of it all is in [choosing-a-method.md](choosing-a-method.md).
"""
)


@dataclass(frozen=True)
class Part:
    """A run, and where its figure goes."""

    title: str
    figure: str
    command: str


@dataclass(frozen=True)
class DocsPage:
    """A page of docs/ that is made of runs."""

    title: str
    introduction: str
    parts: tuple[Part, ...]


PAGES = {
    "benchmark": DocsPage(
        "The control benchmarks",
        BENCHMARK,
        (
            Part("MuJoCo", "benchmark-mujoco", "robust-bc benchmark mujoco"),
            Part("Lane driving", "benchmark-driving", "robust-bc benchmark driving"),
            Part(
                "Lane driving, from the straight road to a curved one",
                "benchmark-curved",
                "robust-bc benchmark driving --road curved --seeds 5",
            ),
        ),
    ),
    "baselines": DocsPage(
        "Every method in the control benchmarks",
        BASELINES,
        (
            Part(
                "MuJoCo, all methods",
                "baselines-mujoco",
                "robust-bc benchmark mujoco --methods all --rates 0.3 --seeds 3 --episodes 20"
                " --out runs/benchmark-mujoco-methods",
            ),
            Part(
                "Lane driving, all methods",
                "baselines-driving",
                "robust-bc benchmark driving --methods all --seeds 3 --episodes 100"
                " --out runs/benchmark-driving-methods",
            ),
        ),
    ),
}


def main(pages: tuple[Literal["benchmark", "baselines"], ...] = ("benchmark", "baselines")) -> None:
    """Run, or go on; then write."""
    for name in pages:
        page = PAGES[name]
        finished = [complete(_request(part.command)) for part in page.parts]
        write_whole(DOCS / f"{name}.md", _text(page, finished))
        for part, done in zip(page.parts, finished, strict=True):
            lines_png(DOCS / f"{part.figure}.png", _panels(done))
        print(f"wrote {DOCS / name}.md")


def _text(page: DocsPage, finished: list[Finished]) -> str:
    first = finished[0].content
    commands = "\n".join(f"    {done.request.command}    # {done.page.facts['date']}" for done in finished)
    named = ", ".join(f"{name} {number}" for name, number in first["versions"].items())
    text = (
        f"# {page.title}\n\nWritten by `python scripts/benchmark_page.py` from these runs:\n\n{commands}\n\n"
        f"on {first['machine']['processor']}, {first['machine']['cores']} cores, {named}.\n\n{page.introduction}"
    )
    for part, done in zip(page.parts, finished, strict=True):
        text += f"\n## {part.title}\n\n`{part.command}`\n\n" + "\n\n".join(done.content["headlines"])
        text += f"\n\n![{part.title}]({part.figure}.png)\n" + _tables(done)
        if failures := done.content["failures"]:
            text += "\n**What failed**\n\n" + "\n".join(f"- {failure}" for failure in failures) + "\n"
    return text


def _request(command: str) -> ControlRequest:
    if command.split()[2] == "mujoco":
        return benchmark_mujoco.request(_parsed(benchmark_mujoco.MujocoArguments, command), command)
    return benchmark_driving.request(_parsed(benchmark_driving.DrivingArguments, command), command)


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
    tyro.cli(main)
