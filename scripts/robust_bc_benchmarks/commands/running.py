"""What all benchmarks share: running, writing, printing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.console import print_json, progress_bar, say, show
from robust_bc.cli.tables import print_table
from robust_bc.errors import RobustBCError

if TYPE_CHECKING:
    import pandas

    from robust_bc.report import Block, Page, Table
    from robust_bc_benchmarks.core.running import Results, Suite
    from robust_bc_benchmarks.showing.grids import Shown

TABLE, ABOUT = "results.csv", "results.json"


@dataclass(frozen=True)
class Request:
    """A benchmark as the command line asks for it."""

    title: str
    command: str
    suite: Suite
    out: Path
    jobs: int = 1
    json: bool = False
    shown: Sequence[Shown] = ()
    """Metrics in the order of the tables."""
    paper: bool = False
    """Whether it is the paper's setting, so that its numbers stand beside ours."""
    bar: bool = False
    """Whether it is told who reaches the bar."""
    facts: Mapping[str, str] = field(default_factory=dict)
    extra: Callable[[Results, str], Sequence[Block]] = lambda results, kind: ()
    """More blocks for the page, of a kind of corruption."""


@dataclass(frozen=True)
class Finished:
    """A benchmark that was computed and written."""

    request: Request
    about: dict[str, Any]
    """What is in its results.json."""
    table: pandas.DataFrame
    summary: pandas.DataFrame
    page: Page
    bar: Sequence[Table] = ()
    """Who reaches it."""


def execute(request: Request) -> None:
    """Compute what is missing, then write and print everything."""
    finished = complete(request)
    if request.json:
        rows = as_records(finished.summary)
        print_json({**finished.about, "results": as_records(finished.table), "rows": rows})
        return
    from robust_bc_benchmarks.showing.grids import grids, percent

    for grid in grids(finished.summary, request.shown, request.paper):
        worst = f", and the worst of {grid.seeds} seeds" if grid.seeds > 1 else ""
        show(f"{grid.task}, {grid.kind}: {grid.shown.title}, mean{worst}")
        heads = [percent(rate) for rate in grid.rates]
        print_table(["method", *heads], grid.as_lines(), heads)
    for table in finished.bar:
        show(table.title)
        heads = [column.name for column in table.columns]
        print_table(heads, [[cell.text for cell in row] for row in table.rows], heads[1:])
    for name in (TABLE, "table.md", "report.html"):
        show(str(request.out / name))


def complete(request: Request) -> Finished:
    """Compute what is missing and write everything."""
    from robust_bc.report import page_as_markdown, write_page
    from robust_bc.system.files import write_whole
    from robust_bc_benchmarks.core.summaries import summarise
    from robust_bc_benchmarks.showing.bar import bar_table
    from robust_bc_benchmarks.showing.run_pages import make_page

    results, about, facts = compute(request)
    table, plan = results.table(), request.suite.plan
    summary = summarise(table, plan.kinds, methods=plan.methods)
    bar = [bar_table(table, plan.kinds, plan.methods)] if request.bar else []
    page = make_page(
        request.title,
        request.command,
        results,
        summary,
        request.shown,
        request.paper,
        {**facts, **request.facts},
        request.extra,
        bar,
    )
    write_whole(request.out / "table.md", page_as_markdown(page))
    write_page(request.out / "report.html", page)
    return Finished(request, about, table, summary, page, bar)


def compute(request: Request) -> tuple[Results, dict[str, Any], dict[str, str]]:
    """All cells, the long table as a file, and what is to be said about the run, as JSON and in words."""
    from robust_bc.auditing import REVISION
    from robust_bc.system.files import write_json, write_whole
    from robust_bc.system.machine import machine, versions
    from robust_bc_benchmarks.core.running import run_suite

    out = request.out
    with running(request.title, request.command, out) as bar:
        results = run_suite(request.suite, out, request.jobs, bar, say)
    for failure in results.failures():
        say(f"failed: {failure}")
    computed, times = machine(), sorted(cell.finished for cell in results.cells.values())
    about = {
        "command": request.command,
        "date": times[-1] if times else "",
        "methods": results.plan.methods,
        "failures": results.failures(),
        "revision": REVISION,
        "machine": computed,
        "versions": versions(),
    }
    write_json(out / ABOUT, about)
    write_whole(out / TABLE, results.table().to_csv(index=False, float_format="%.6g"))
    seeds = results.plan.seeds
    return (
        results,
        about,
        {
            "command": request.command,
            "machine": f"{computed['processor']}, {computed['cores']} cores",
            "date": f"{_moment(times[0])} to {_moment(times[-1])}" if times else "",
            "seeds": f"{len(seeds)}, from {seeds[0]} on, the same for every method",
        },
    )


def as_records(table: pandas.DataFrame) -> list[dict[str, Any]]:
    """Plain objects; what is no number is None."""
    records: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return records


@contextmanager
def running(title: str, command: str, out: Path) -> Iterator[Callable[[float, str], None]]:
    """A progress bar for the work, in a folder that tells its command; who stops it is told how to go on."""
    import torch

    from robust_bc.system.files import write_whole

    # Products of this size gain little from a second thread, and beside other work threads wait for each other.
    torch.set_num_threads(1)
    write_whole(out / "command.txt", command + "\n")  # before the work: a folder that cannot be written is said
    with progress_bar(title) as bar:
        try:
            yield bar
        except KeyboardInterrupt:
            say(f"stopped; finished cells are kept in '{out}', and the same command goes on from there.")
            raise


def _moment(finished: str) -> str:
    """A time of a cell as a person reads it; cells tell it in UTC."""
    return finished[:16].replace("T", " ") + " UTC"


def first_to_last(seed: int, seeds: int) -> tuple[int, ...]:
    """So many seeds from the first on."""
    if seeds < 1:
        raise RobustBCError(f"--seeds must be at least 1, but it is {seeds}.")
    return tuple(range(seed, seed + seeds))


def known(what: str, given: Sequence[str], choices: Sequence[str]) -> tuple[str, ...]:
    """What was given, if there is any and all of it is known."""
    if not given:
        raise RobustBCError(f"no {what} is named; there are {', '.join(choices)}.")
    for name in given:
        if name not in choices:
            raise RobustBCError(f"there is no {what} '{name}' in this benchmark; it has {', '.join(choices)}.")
    return tuple(given)
