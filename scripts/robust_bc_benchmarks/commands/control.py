"""What `robust-bc benchmark mujoco` and `robust-bc benchmark driving` share: checking, running, writing, printing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.console import print_json, say, show
from robust_bc.cli.tables import print_table
from robust_bc_benchmarks.commands.runs import about_run, print_run, running, write_run

if TYPE_CHECKING:
    from robust_bc.report import Block, Page
    from robust_bc_benchmarks.control.plan import ControlPlan
    from robust_bc_benchmarks.control.rows import ControlRow, Results, World
    from robust_bc_benchmarks.control.tables import Shown


@dataclass(frozen=True)
class ControlRequest:
    """A benchmark as the command line asks for it."""

    title: str
    command: str
    plan: ControlPlan
    shown: Sequence[Shown]
    out: Path
    device: str = "auto"
    variant: str = ""
    json: bool = False
    demonstration_settings: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    """More of them for the page."""
    extra: Callable[[Results], Mapping[str, Sequence[Block]]] = lambda results: {}
    """More blocks for the page, by way to corrupt."""


@dataclass(frozen=True)
class Finished:
    """A benchmark that was computed and written."""

    request: ControlRequest
    rows: list[ControlRow]
    content: dict[str, Any]
    """What is in its JSON."""
    page: Page


def execute(request: ControlRequest) -> None:
    """Compute what is missing, then write and print everything."""
    finished = complete(request)
    if request.json:
        print_json(finished.content)
        return
    for task in request.plan.tasks:
        for how in request.plan.hows:
            _print(finished.rows, task, how, request.shown)
    print_run(request.out, finished.content, ("table.md", "benchmark.json", "report.html"))


def complete(request: ControlRequest) -> Finished:
    """Compute what is missing and write everything."""
    from robust_bc_benchmarks.commands.control_source import TeacherSource
    from robust_bc_benchmarks.control.rows import Results, make_rows
    from robust_bc_benchmarks.control.running import run_control

    plan, out, device = request.plan, request.out, request.device
    source = TeacherSource(plan.pairs, request.demonstration_settings)
    with running(request.title, request.command, out, device) as bar:
        cells = run_control(plan, source, out, device=device, variant=request.variant, progress=bar, say=say)
    results = Results(plan, cells, {task: _world(plan, task) for task in plan.tasks})
    rows = make_rows(results)
    content, page = _write(request, results, rows)
    for failure in results.failures():
        say(f"failed: {failure}")
    return Finished(request, rows, content, page)


def _world(plan: ControlPlan, task: str) -> World:
    """The return of random actions is that of the task's own settings."""
    from robust_bc.evaluation.worlds import find_world
    from robust_bc_benchmarks.control.rows import World

    world = find_world(task)
    return World(world.metrics, world.reference.random if world.reference and not plan.settings else None)


def _write(request: ControlRequest, results: Results, rows: list[ControlRow]) -> tuple[dict[str, Any], Page]:
    """All files; gives what is in the JSON, and the page."""
    from robust_bc.report import code_as_markdown, text_as_markdown, write_page
    from robust_bc_benchmarks.control.page import make_page
    from robust_bc_benchmarks.control.rows import cells_as_csv, rows_as_csv
    from robust_bc_benchmarks.control.sentences import in_sentences
    from robust_bc_benchmarks.control.tables import tables_as_markdown

    plan, out = request.plan, request.out
    sentences = in_sentences(results, rows, request.shown)
    finished = [cell.finished for cell in results.cells.values()]
    content, facts = about_run(request.command, finished, sentences, results.failures())
    content |= {"rows": [dataclasses.asdict(row) for row in rows]}
    facts |= {
        "seeds": f"{len(plan.seeds)}, from {plan.seeds[0]} on, the same for every method",
        "pairs": str(plan.pairs),
        "episodes": f"{plan.episodes} per policy, the same for all",
        **request.facts,
    }
    page = make_page(
        request.title, request.command, results, rows, request.shown, sentences, facts, request.extra(results)
    )
    parts = [code_as_markdown(request.command), text_as_markdown(" ".join(sentences))]
    text = "\n\n".join([*parts, tables_as_markdown(rows, request.shown)])
    write_run(out, content, cells_as_csv(results), rows_as_csv(rows), text)
    write_page(out / "report.html", page)
    return content, page


def _print(rows: list[ControlRow], task: str, how: str, shown: Sequence[Shown]) -> None:
    """Tables of means and worst seeds."""
    from robust_bc_benchmarks.control.tables import grids

    for grid in grids(rows, task, how, shown):
        worst = f", and the worst of {grid.asked} seeds" if grid.asked > 1 else ""
        show(f"{task}, {how}: {grid.shown.title}, mean{worst}")
        print_table(["method", *grid.heads], grid.as_lines(), grid.heads)
