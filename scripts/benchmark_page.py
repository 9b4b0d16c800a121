"""Writes docs/benchmark.md and other pages of tables, with their figures, from runs of the control benchmarks.

python scripts/benchmark_page.py [--pages benchmark baselines baselines-driving]

Finished cells in runs/ are kept: what was interrupted goes on, and what is finished is only written anew.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

import tyro
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from robust_bc.cli.arguments import parse
from robust_bc.report import Lines, lines_png, table_as_markdown
from robust_bc.system.files import write_whole
from robust_bc_benchmarks.commands import driving, mujoco
from robust_bc_benchmarks.commands.control import ControlRequest, Finished, complete
from robust_bc_benchmarks.contenders import ORACLE
from robust_bc_benchmarks.control.cells import EXPERT
from robust_bc_benchmarks.control.page import against_rate
from robust_bc_benchmarks.control.sentences import OURS
from robust_bc_benchmarks.control.tables import Grid, grids, percent
from robust_bc_benchmarks.dot_plots import HERO, NEUTRAL, REFERENCE, Dot, Panel, dot_figure
from robust_bc_benchmarks.figures import save_figure

Arguments = TypeVar("Arguments")
DOCS = Path("docs")
UNITS = {
    "return": "return",
    "share_of_oracle": "%",
    "collision": "% of episodes",
    "lane_deviation_rms": "metres",
    "off_road": "% of episodes",
}
"""Beside the figures' axes."""
SHORT = {"collision": "collision", "lane_deviation_rms": "deviation", "off_road": "off the road"}
"""Titles of narrow panels."""
COLOURS = {OURS: HERO, ORACLE: REFERENCE, EXPERT: REFERENCE}
MOST_LINES = 8
"""More methods than these are drawn as dots, a line for each, because nobody can tell their curves apart."""
TEXTS = Path(__file__).parent / "benchmark_pages"
"""What stands before the tables: `protocol.md` on every page, and a file for each."""


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
    parts: tuple[Part, ...]


PAGES = {
    "benchmark": DocsPage(
        "The control benchmarks",
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
        "Every method on the walkers",
        (
            Part(
                "MuJoCo, all methods",
                "baselines-mujoco",
                "robust-bc benchmark mujoco --methods all --rates 0.3 --seeds 3 --episodes 20"
                " --out runs/benchmark-mujoco-methods",
            ),
        ),
    ),
    "baselines-driving": DocsPage(
        "Every method on the road",
        (
            Part(
                "Lane driving, all methods",
                "baselines-driving",
                "robust-bc benchmark driving --methods all --seeds 3 --episodes 100"
                " --out runs/benchmark-driving-methods",
            ),
        ),
    ),
}
PageName = Literal["benchmark", "baselines", "baselines-driving"]


def main(pages: tuple[PageName, ...] = get_args(PageName)) -> None:
    """Run, or go on; then write."""
    for name in pages:
        page = PAGES[name]
        finished = [complete(_request(part.command)) for part in page.parts]
        write_whole(DOCS / f"{name}.md", _text(name, page, finished))
        for part, done in zip(page.parts, finished, strict=True):
            if len(done.request.plan.methods) > MOST_LINES or len(done.request.plan.rates) == 1:
                save_figure(_dots(done), DOCS / f"{part.figure}.png")
            else:
                lines_png(DOCS / f"{part.figure}.png", _panels(done))
        print(f"wrote {DOCS / name}.md")


def _text(name: PageName, page: DocsPage, finished: list[Finished]) -> str:
    first = finished[0].content
    introduction = "\n".join((TEXTS / f"{part}.md").read_text() for part in ("protocol", name))
    commands = "\n".join(f"    {done.request.command}    # {done.page.facts['date']}" for done in finished)
    named = ", ".join(f"{name} {number}" for name, number in first["versions"].items())
    text = (
        f"# {page.title}\n\nWritten by `python scripts/benchmark_page.py` from these runs:\n\n{commands}\n\n"
        f"on {first['machine']['processor']}, {first['machine']['cores']} cores, {named}.\n\n{introduction}"
    )
    for part, done in zip(page.parts, finished, strict=True):
        text += f"\n## {part.title}\n\n`{part.command}`\n\n" + "\n\n".join(done.content["sentences"])
        text += f"\n\n![{part.title}]({part.figure}.png)\n" + _tables(done)
        if failures := done.content["failures"]:
            text += "\n**What failed**\n\n" + "\n".join(f"- {failure}" for failure in failures) + "\n"
    return text


def _request(command: str) -> ControlRequest:
    if command.split()[2] == "mujoco":
        return mujoco.request(_parsed(mujoco.MujocoArguments, command), command)
    return driving.request(_parsed(driving.DrivingArguments, command), command)


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


def _dots(part: Finished) -> Figure:
    """A panel for each place, methods in the order of the tables; for driving a row of panels for each of 3 metrics."""
    plan, shown = part.request.plan, part.request.shown
    chosen = shown[:1] if len(plan.hows) > 1 else shown[:3]
    found = [grid for task in plan.tasks for how in plan.hows for grid in grids(part.rows, task, how, chosen)]
    panels = [
        Panel(
            title=f"{grid.task}, {grid.how}" if len(plan.hows) > 1 else f"{SHORT[grid.shown.metric]}, {percent(rate)}",
            label=UNITS[grid.shown.metric],
            dots={method: _dot(grid, method, rate) for method in grid.methods if (method, rate) in grid.found},
        )
        for grid in found
        for rate in grid.rates
    ]
    columns = len(plan.hows) if len(plan.hows) > 1 else len(found[0].rates)
    figure = dot_figure(
        panels, found[0].methods, columns, note="mean and 95 % interval over seeds; oracle, expert black"
    )
    for axis in figure.axes:  # some panels would be logarithmic and others, with negative returns, could not be
        axis.set_xscale("linear")
        axis.xaxis.set_major_locator(MaxNLocator(4))
    return figure


def _dot(grid: Grid, method: str, rate: float) -> Dot:
    row = grid.found[method, rate]
    factor = 100 if grid.shown.percent else 1
    low, high = (row.mean if bound is None else bound for bound in (row.low, row.high))
    return Dot(factor * row.mean, factor * low, factor * high, COLOURS.get(method, NEUTRAL))


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
