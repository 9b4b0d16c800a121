"""The one runner: finished cells are read, missing ones computed, and all that was measured is one long table."""

from __future__ import annotations

import multiprocessing
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.console import say as say_it
from robust_bc.errors import RobustBCError
from robust_bc.system.progress import Progress
from robust_bc_benchmarks.core.cells import Cell, Cells, Key, now
from robust_bc_benchmarks.core.plan import Plan

if TYPE_CHECKING:
    import pandas

CELLS_FOLDER = "cells"
COLUMNS = ("task", "kind", "rate", "method", "seed", "metric", "value")
LOOK = 0.2
"""Seconds between two looks at other processes."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Suite(ABC):
    """A benchmark: which cells there are, what each depends on, and how they are computed."""

    plan: Plan

    @abstractmethod
    def units(self) -> list[list[Key]]:
        """Cells that are computed by the same process, in the order of work."""

    @abstractmethod
    def fingerprint(self, key: Key) -> dict[str, Any]:
        """All that a cell depends on."""

    @abstractmethod
    def compute(
        self, missing: Sequence[Key], known: Sequence[Cell], out: Path, tell: Progress, say: Say
    ) -> Iterator[list[Cell]]:
        """The missing cells of a unit, as they get ready; `known` are those of it that are there already.

        A failure that belongs to the cell is kept in it; of any other it is only said.
        """

    @property
    def variant(self) -> str:
        """Keeps the cells of another measure of the same places apart."""
        return ""

    def finished(self, cell: Cell) -> bool:
        """Whether all that is asked for is in the cell."""
        return True


@dataclass(frozen=True)
class Results:
    """The cells of a plan."""

    plan: Plan
    cells: dict[Key, Cell]

    def table(self) -> pandas.DataFrame:
        """One row for each number of each cell."""
        import pandas

        rows = (
            (cell.key.task, cell.key.kind, cell.key.rate, cell.key.method, cell.key.seed, metric, value)
            for cell in self.cells.values()
            for metric, value in cell.numbers.items()
        )
        return pandas.DataFrame(rows, columns=list(COLUMNS))

    def failures(self) -> list[str]:
        """One line for each cell that failed."""
        return [
            f"{key.task} {key.kind} {key.rate} {key.method}, seed {key.seed}: {cell.failure}"
            for key, cell in self.cells.items()
            if cell.failure is not None
        ]


def run_suite(suite: Suite, out: Path, jobs: int, progress: Progress, say: Say) -> Results:
    """Compute what is missing, in so many processes. Whatever stops it: the same call goes on from there."""
    cells, units = Cells(out / f"{CELLS_FOLDER}{suite.variant}"), suite.units()
    read = {key: cells.read(key, suite.fingerprint(key)) for unit in units for key in unit}
    found = {key: cell for key, cell in read.items() if cell is not None}
    for sentence in cells.complaints():
        say(sentence)
    missing = [[key for key in unit if not (key in found and suite.finished(found[key]))] for unit in units]
    work = [place for place, left in enumerate(missing) if left]
    total = sum(map(len, missing))
    if found:
        say(f"{len(read) - total} of {len(read)} cells are there already.")
    if jobs > 1 and len(work) > 1:
        _in_processes(suite, out, work, min(jobs, len(work)), lambda done: progress(done / total, f"{done} cells"))
    else:
        done = 0
        for place in work:

            def tell(share: float, note: str, before: int = done, count: int = len(missing[place])) -> None:
                progress((before + share * count) / total, note)

            for _ in _computed(suite, out, place, tell, say):
                pass
            done += len(missing[place])
    kept = {key: cells.read(key, suite.fingerprint(key)) for key in read}
    return Results(suite.plan, {key: cell for key, cell in kept.items() if cell is not None})


def _computed(suite: Suite, out: Path, place: int, tell: Progress, say: Say) -> Iterator[int]:
    """How many cells of a unit were computed and kept, again and again."""
    unit, cells = suite.units()[place], Cells(out / f"{CELLS_FOLDER}{suite.variant}")
    known = [cell for key in unit if (cell := cells.read(key, suite.fingerprint(key))) is not None]
    ready = {cell.key for cell in known if suite.finished(cell)}
    left = [key for key in unit if key not in ready]
    if not left:  # another process was faster
        return
    for new in suite.compute(left, known, out, tell, say):
        dated = [replace(cell, finished=now()) for cell in new]
        cells.write(dated, [suite.fingerprint(cell.key) for cell in dated])
        yield len(dated)


def _in_processes(suite: Suite, out: Path, work: Sequence[int], jobs: int, tell: Callable[[int], None]) -> None:
    """Each process gets its share of the units; they end with this one."""
    context = multiprocessing.get_context("spawn")
    done, problems = context.RawArray("i", jobs), context.SimpleQueue()
    processes = [
        context.Process(target=_work, args=(suite, out, work[number::jobs], done, number, problems), daemon=True)
        for number in range(jobs)
    ]
    try:
        for process in processes:
            process.start()
        while any(process.is_alive() for process in processes):
            time.sleep(LOOK)
            tell(sum(done))
            if not problems.empty():
                raise RobustBCError(problems.get())
            if broken := [process.exitcode for process in processes if process.exitcode]:
                raise RobustBCError(f"a process ended with exit code {broken[0]}; the same command goes on from there.")
        if not problems.empty():
            raise RobustBCError(problems.get())
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
                process.join()


def _work(suite: Suite, out: Path, work: Sequence[int], done: Any, number: int, problems: Any) -> None:
    """What one process does; Ctrl-C is met by the one that started it, and so is what goes wrong."""
    import torch
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    parent = multiprocessing.parent_process()
    try:
        with threadpool_limits(1):
            for place in work:
                for count in _computed(suite, out, place, lambda share, note: None, say_it):
                    done[number] += count
                    if parent is not None and not parent.is_alive():
                        return
    except RobustBCError as problem:
        problems.put(str(problem))
