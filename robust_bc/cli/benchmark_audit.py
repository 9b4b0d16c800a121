"""`robust-bc benchmark audit`: how well the audit finds corrupt pairs and episodes, beside simple detectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.arguments import Device, Names, PairCount, Rates, command_line, parse
from robust_bc.cli.benchmark_runs import about_run, print_run, running, write_run
from robust_bc.cli.console import print_json, say, show
from robust_bc.cli.control_arguments import HOWS, first_to_last, known
from robust_bc.cli.tables import print_table

if TYPE_CHECKING:
    from robust_bc.benchmark.audit_plan import AuditPlan
    from robust_bc.benchmark.audit_rows import AuditResults, RateRow
    from robust_bc.benchmark.control_rows import ControlRow
    from robust_bc.report import Page

COMMAND = "benchmark audit"
TITLE = "audit benchmark"
TASKS = ("halfcheetah", "walker2d", "lane-driving")
QUICK_RATES, RATES = (0.0, 0.3), (0.0, 0.1, 0.3, 0.45)
QUICK_SEEDS, SEEDS = 2, 10


@dataclass(frozen=True)
class AuditBenchmarkArguments:
    """Ask the audit and simple detectors which pairs of a mix are corrupt, and compare with the truth.

    Tables show AUROC and average precision of finding corrupt pairs and corrupt episodes, and the estimated against
    the true share of corrupt pairs. With --train, a plain MLP also learns from what the audit keeps, and its return is
    compared with that of an MLP on the clean pairs. Every finished cell is kept: an interrupted benchmark goes on where
    it stopped, and a new detector, rate or seed computes only its own cells.

    Example: robust-bc benchmark audit --tasks halfcheetah --hows flip --rates 0,0.3 --seeds 2 --train 0.3
    """

    tasks: Names = TASKS
    """Tasks, of halfcheetah, walker2d and lane-driving."""
    hows: Names = HOWS
    """Ways to corrupt, of rollout, relabel, flip and uniform (`robust-bc mix --help` tells what they are)."""
    rates: Rates | None = None
    """Shares of bad pairs, at least 0 and below 1; without, 0,0.1,0.3,0.45."""
    detectors: Names | None = None
    """Detectors, of audit, mlp-residual, knn and isolation-forest; without, all."""
    seeds: int | None = None
    """Number of seeds per cell; the mix and every random choice of a detector come from its seed. Without, 10."""
    seed: int = 0
    """The first seed."""
    episodes: int | None = None
    """Episodes of the good teacher in a mix; without, what the task's card says: 10, and 100 of lane-driving."""
    pairs: PairCount = None
    """`all` keeps whole episodes; a number takes so many single pairs, which have no episodes to be found."""
    train: Rates = ()
    """Rates, of those above, at which policies are trained on what the audit keeps, and measured."""
    rollouts: int = 20
    """Episodes in which each of these policies is measured."""
    device: Device = "auto"
    """Where to fit; auto takes CUDA, then MPS, then the CPU."""
    out: Path | None = None
    """Folder for cells, tables, figure and report; without, runs/benchmark-audit (with a number of pairs: -N)."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""
    quick: bool = False
    """2 seeds and the rates 0 and 0.3, unless said otherwise."""


@dataclass(frozen=True)
class AuditRequest:
    """A benchmark as the command line asks for it."""

    command: str
    plan: AuditPlan
    out: Path
    device: str = "auto"
    json: bool = False


@dataclass(frozen=True)
class Finished:
    """A benchmark that was computed and written."""

    results: AuditResults
    rows: list[ControlRow]
    rates: list[RateRow]
    content: dict[str, Any]
    """What is in its JSON."""
    page: Page


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(request(parse(AuditBenchmarkArguments, f"robust-bc {COMMAND}", args), command_line(COMMAND, args)))


def request(given: AuditBenchmarkArguments, command: str) -> AuditRequest:
    """The benchmark that these arguments mean, checked."""
    from robust_bc.benchmark.audit_plan import AuditPlan
    from robust_bc.benchmark.detectors import DETECTORS

    rates, seeds = (QUICK_RATES, QUICK_SEEDS) if given.quick else (RATES, SEEDS)
    name = "runs/benchmark-audit" + ("" if given.pairs is None else f"-{given.pairs}") + "-quick" * given.quick
    return AuditRequest(
        command=command,
        plan=AuditPlan(
            tasks=known("task", given.tasks, TASKS),
            hows=known("way to corrupt", given.hows, HOWS),
            rates=rates if given.rates is None else given.rates,
            detectors=tuple(DETECTORS if given.detectors is None else given.detectors),
            seeds=first_to_last(given.seed, seeds if given.seeds is None else given.seeds),
            pairs=given.pairs,
            episodes=given.episodes,
            train=given.train,
            rollouts=given.rollouts,
        ),
        out=given.out or Path(name),
        device=given.device,
        json=given.json,
    )


def execute(asked: AuditRequest) -> None:
    """Compute what is missing, then write and print everything."""
    finished = complete(asked)
    if asked.json:
        print_json(finished.content)
        return
    for task in asked.plan.tasks:
        _print(finished, task)
    print_run(asked.out, finished.content, ("table.md", "benchmark.json", "audit.png", "report.html"))


def complete(asked: AuditRequest) -> Finished:
    """Compute what is missing and write everything."""
    from robust_bc.benchmark.audit import run_audits
    from robust_bc.benchmark.audit_rows import AuditResults, make_rows, rate_rows
    from robust_bc.cli.control_source import TeacherSource
    from robust_bc.worlds import find_world

    plan, out = asked.plan, asked.out
    mixes = TeacherSource(plan.pairs, episodes=plan.episodes)
    with running(TITLE, asked.command, out, asked.device) as bar:
        cells = run_audits(plan, mixes, out, device=asked.device, progress=bar, say=say)
    references = {task: find_world(task).reference for task in plan.tasks}
    random = {task: None if reference is None else reference.random for task, reference in references.items()}
    results = AuditResults(plan, cells, random)
    rows, rates = make_rows(results), rate_rows(results)
    content, page = _write(asked, results, rows, rates)
    for failure in results.failures():
        say(f"failed: {failure}")
    return Finished(results, rows, rates, content, page)


def _write(
    asked: AuditRequest, results: AuditResults, rows: list[ControlRow], rates: list[RateRow]
) -> tuple[dict[str, Any], Page]:
    """All files; gives what is in the JSON, and the page."""
    from robust_bc.benchmark.audit_figure import audit_figure
    from robust_bc.benchmark.audit_headlines import headlines
    from robust_bc.benchmark.audit_page import make_page
    from robust_bc.benchmark.audit_rows import cells_as_csv
    from robust_bc.benchmark.audit_tables import all_tables, tables_as_markdown
    from robust_bc.benchmark.control_rows import rows_as_csv
    from robust_bc.benchmark.figures import save_figure
    from robust_bc.report import code_as_markdown, text_as_markdown, write_page

    plan, out = asked.plan, asked.out
    sentences = headlines(results, rows)
    finished = [cell.finished for cell in results.all_cells]
    content, facts = about_run(asked.command, finished, sentences, results.failures())
    content |= {
        "rows": [dataclasses.asdict(row) for row in rows],
        "rates": [dataclasses.asdict(row) for row in rates],
    }
    facts |= {
        "seeds": f"{len(plan.seeds)}, from {plan.seeds[0]} on, the same for every detector",
        "mixes": "whole episodes" if plan.pairs is None else f"{plan.pairs} single pairs",
        "episodes": "of the good teacher, " + (str(plan.episodes) if plan.episodes else "as many as the cards say"),
    }
    page = make_page(TITLE, asked.command, results, rows, rates, sentences, facts)
    parts = [code_as_markdown(asked.command), *map(text_as_markdown, sentences)]
    for task in plan.tasks:
        parts += [f"## {text_as_markdown(task)}", tables_as_markdown(all_tables(rows, rates, task, plan.detectors))]
    text = "\n\n".join(parts)
    write_run(out, content, cells_as_csv(results), rows_as_csv(rows), text)
    save_figure(audit_figure(results, rows), out / "audit.png")
    write_page(out / "report.html", page)
    return content, page


def _print(finished: Finished, task: str) -> None:
    """Tables of means and worst seeds, and of rates."""
    from robust_bc.benchmark.audit_tables import detection_tables, rate_table, table_as_lines, training_table

    trained = training_table(finished.rows, task)
    tables = detection_tables(finished.rows, task, finished.results.plan.detectors)
    for table in [*tables, *([] if trained is None else [trained])]:
        worst = f", mean, and the worst of {table.asked} seeds" if table.asked > 1 else ""
        heads = [heading.title for heading in table.columns]
        show(f"{task}: {table.title}{worst}")
        print_table(["mix", *heads], table.as_lines(), heads)
    if (rates := rate_table(finished.rates, task)) is not None:
        heads = [column.name for column in rates.columns]
        show(f"{task}: {rates.title}")
        print_table(heads, table_as_lines(rates), heads[1:])
