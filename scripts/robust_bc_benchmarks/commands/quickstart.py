"""`robust-bc quickstart`: three methods on bad demonstrations of two tasks, in a minute or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.arguments import Device, command_line, parse
from robust_bc.cli.console import print_json, say, show
from robust_bc.cli.tables import print_table

if TYPE_CHECKING:
    from robust_bc.report import Page, Table
    from robust_bc_benchmarks.commands.running import Finished

RATE = 0.3
KIND = "relabel"
WALKER_EPISODES, DRIVING_EPISODES = 20, 200
SETTINGS = (("hidden", (128, 128)), ("steps", 2000), ("batch_size", 128))
"""Of all networks: less than they would have otherwise, so that nobody waits long."""
# Which metric of which part, and how the one table of both calls it.
COLUMNS = (
    (0, "return", "HalfCheetah: return"),
    (0, "share_of_oracle", "of the oracle's"),
    (1, "collision", "driving: collisions"),
    (1, "lane_deviation_rms", "RMS deviation in m"),
)


@dataclass(frozen=True)
class QuickstartArguments:
    """Fit `auto`, ChoiceNet and an MLP to demonstrations of which 30 % are bad, and let the policies act.

    HalfCheetah with the answers of a hostile teacher in 30 % of the expert's states, and lane driving with 30 % from a
    careless driver. The teachers ship, and the demonstrations are made on the spot. Ends with a table and a page.

    Example: robust-bc quickstart --out runs/quickstart
    """

    seeds: int = 2
    """Number of seeds; data and start of a fit come from its seed, the same for every method."""
    device: Device = "auto"
    """Where to fit; auto takes CUDA, then MPS, then the CPU."""
    out: Path = Path("runs/quickstart")
    """Folder for the page and, in folders of their own, everything about each task."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(parse(QuickstartArguments, "robust-bc quickstart", args), command_line("quickstart", args))


def execute(given: QuickstartArguments, command: str) -> None:
    """Both parts, then one table and one page."""
    from robust_bc.report import write_page
    from robust_bc_benchmarks.commands import control
    from robust_bc_benchmarks.commands.running import as_records, complete

    shared: dict[str, Any] = {"rates": (RATE,), "seeds": given.seeds, "device": given.device, "common": SETTINGS}
    walker = control.MujocoArguments(
        **shared, tasks=("halfcheetah",), kinds=(KIND,), episodes=WALKER_EPISODES, out=given.out / "halfcheetah"
    )
    driver = control.DrivingArguments(**shared, episodes=DRIVING_EPISODES, out=given.out / "driving")
    requests = [control.mujoco(walker, command), control.driving(driver, command)]
    parts = []
    for number, request in enumerate(requests, 1):
        plan = request.suite.plan
        say(f"{number} of {len(requests)}: {', '.join(plan.methods)} on {plan.tasks[0]} ...")
        parts.append(complete(request))
    table = summary(parts)
    report = write_page(given.out / "report.html", _page(parts, table, command))
    if given.json:
        names = ("halfcheetah", "driving")
        rows = {name: {**part.about, "rows": as_records(part.summary)} for name, part in zip(names, parts, strict=True)}
        print_json({"command": command, "report": str(report), **rows})
        return
    print_table(
        [column.name for column in table.columns],
        [[cell.text for cell in row] for row in table.rows],
        [column.name for column in table.columns[1:]],
    )
    show(f"report: {report} (open it in a browser)")


def summary(parts: Sequence[Finished]) -> Table:
    """One line per method, with the numbers of both tasks."""
    from robust_bc.report import Cell, Column, Table
    from robust_bc_benchmarks.core.contenders import shown_name
    from robust_bc_benchmarks.showing.grids import NOTHING, WHO, grids

    columns, cells = [Column("method")], []
    for part, metric, name in COLUMNS:
        (shown,) = [one for one in parts[part].request.shown if one.metric == metric]
        (grid,) = grids(parts[part].summary, [shown], paper=False)
        columns.append(Column(name, "number", "low" if grid.lower else "high"))
        best = grid.best(RATE)
        means = dict(zip(grid.rows.method, grid.rows["mean"], strict=True))
        cells.append(
            {method: Cell(shown.number(value), value, strong=method in best) for method, value in means.items()}
        )
    lines = [
        [Cell(shown_name(method), shown_name(method)), *(column.get(method, Cell(NOTHING)) for column in cells)]
        for method in next(grids(parts[0].summary, parts[0].request.shown, paper=False)).methods
    ]
    return Table("What they learned", columns, lines, note=f"30 % of the demonstrations are bad. {WHO}")


def _page(parts: Sequence[Finished], table: Table, command: str) -> Page:
    from robust_bc.report import Block, Command, Group, Page, Text

    blocks: list[Block] = [table]
    for part in parts:
        blocks += [block for block in part.page.blocks if isinstance(block, Group)]
    blocks += [
        Text("And now", ["The same for all kinds of corruption, rates and seeds, and for your own demonstrations:"]),
        Command("robust-bc benchmark mujoco\nrobust-bc benchmark driving\nrobust-bc train --help"),
    ]
    facts = {**parts[0].page.facts, "command": command}
    for name in ("pairs", "episodes"):
        facts[name] = " and ".join(part.page.facts[name].split(",")[0] for part in parts)
    return Page(
        title="robust-bc quickstart",
        lead="Three methods learned from demonstrations of which 30 % are bad, and nobody told them which: HalfCheetah"
        " with the answers of a hostile teacher, and lane driving with a careless driver's.",
        facts=facts,
        blocks=blocks,
    )
