"""The audit benchmark: its cells, how they are computed and kept, and one long table of all that was measured."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from robust_bc.auditing import REVISION
from robust_bc.auditing.settings import AuditSettings
from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import check_seed
from robust_bc_benchmarks.audit.detectors import DETECTORS, PARTS, detect
from robust_bc_benchmarks.audit.measures import LEARNT_BY, RETURNS, Returns, measures
from robust_bc_benchmarks.cell_cache import CellCache

if TYPE_CHECKING:
    import pandas

    from robust_bc.auditing.judging.scaled import Floats
    from robust_bc.data.demonstrations import Demonstrations

FORMAT = 1
"""Of a cell. Whoever changes what its numbers mean, or a simple detector, counts it up."""
CLEAN, GRADED = "clean", "graded"
COLUMNS = ("task", "kind", "rate", "seed", "detector", "metric", "value")
RETURNS_OF = "audit"
"""The detector after whose cleaning policies are fitted."""
LOOK = 0.2
"""Seconds between two looks at other processes."""


class Mixes(Protocol):
    """Where mixes come from; other processes get a copy of it."""

    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> tuple[Demonstrations, Floats | None]:
        """Pairs with their hidden labels, and for a graded mix the noise (N,) of each pair's demonstrator."""

    def mark(self, task: str) -> dict[str, Any]:
        """All that the mixes of a task depend on."""


@dataclass(frozen=True)
class Key:
    """Which cell."""

    task: str
    kind: str
    rate: float | None
    """Share of bad pairs; None in a graded mix."""
    seed: int
    detector: str

    @property
    def path(self) -> Path:
        rate = "any" if self.rate is None else f"{self.rate:.12g}"
        return Path(self.task, self.kind, rate, self.detector, f"{self.seed}.json")


@dataclass(frozen=True)
class AuditCell:
    """What was measured of one detector on one mix."""

    key: Key
    numbers: dict[str, float]
    dropped: str | None
    """A 1 for each episode that it would drop; None if it only ranks them."""

    def __post_init__(self) -> None:
        if self.dropped is not None and not set(self.dropped) <= {"0", "1"}:
            raise RobustBCError("dropped is a 0 or a 1 for each episode.")


@dataclass(frozen=True)
class AuditPlan:
    """Everything that was asked for, checked."""

    tasks: tuple[str, ...]
    kinds: tuple[str, ...]
    """Kinds of corruption, and `clean`."""
    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    detectors: tuple[str, ...]
    returns: bool = False
    """Whether policies are fitted to everything, to what the audit keeps, and to the good pairs."""

    def __post_init__(self) -> None:
        for name in ("tasks", "kinds", "rates", "seeds", "detectors"):
            if not getattr(self, name):
                raise RobustBCError(f"{name} is empty; name at least one.")
        for rate in self.rates:
            if not 0 < rate < 1:
                raise RobustBCError(f"a rate must be above 0 and below 1, but it is {rate}.")
        for name in self.detectors:
            if name not in DETECTORS:
                raise RobustBCError(f"there is no detector '{name}'; there are {', '.join(DETECTORS)}.")
        for seed in self.seeds:
            check_seed(seed)
        if self.returns and RETURNS_OF not in self.detectors:
            raise RobustBCError(f"--returns fits policies to what '{RETURNS_OF}' keeps; name it among the detectors.")

    def units(self) -> list[tuple[str, int]]:
        """Task and seed: their mixes have episodes in common, so that one process makes all of them.

        Seed by seed, so that a run that was stopped has some seeds of every task.
        """
        return [(task, seed) for seed in self.seeds for task in self.tasks]

    def keys(self, task: str, seed: int) -> Iterator[Key]:
        """The cells of a unit, those of a mix side by side."""
        for kind in self.kinds:
            for rate in {CLEAN: (0.0,), GRADED: (None,)}.get(kind, self.rates):
                for detector in self.detectors:
                    yield Key(task, kind, rate, seed, detector)


@dataclass(frozen=True)
class AuditRun:
    """A plan, where its mixes come from and where its cells are."""

    plan: AuditPlan
    mixes: Mixes
    out: Path

    def known(self, unit: tuple[str, int]) -> dict[Key, AuditCell | None]:
        """The cells of a unit as far as they are finished."""
        mark, cache = self.mixes.mark(unit[0]), self._cache()
        return {key: cache.read(key, _fingerprint(key, mark)) for key in self.plan.keys(*unit)}

    def finished(self, cell: AuditCell | None) -> bool:
        """Whether all that is asked for is there."""
        if cell is None:
            return False
        return not self._learns(cell.key) or all(name in cell.numbers for name in RETURNS)

    def compute(self, unit: tuple[str, int], say: Callable[[str], None]) -> Iterator[Key]:
        """Compute what is missing of a unit; each cell is kept at once, and one that fails is left out."""
        mark, cache = self.mixes.mark(unit[0]), self._cache()
        returns = Returns(self.out / "cells" / "returns")
        place, mix, noise = None, None, None
        for key, cell in self.known(unit).items():
            if self.finished(cell):
                continue
            try:
                if mix is None or place != (key.kind, key.rate):
                    mix = None  # or a mix that cannot be made would be judged by the one before
                    mix, noise = self.mixes.mix(key.task, key.kind, key.rate, key.seed)
                    place = key.kind, key.rate
                new = _detected(key, mix, noise) if cell is None else cell
                if self._learns(key):
                    new = replace(new, numbers=new.numbers | returns.of(key.task, _sets(mix, new), key.seed))
            except RobustBCError as problem:
                say(f"failed: {key.task} {key.kind} {key.rate} {key.detector}, seed {key.seed}: {problem}")
                continue
            cache.write([(new, _fingerprint(key, mark))])
            yield key

    def table(self) -> pandas.DataFrame:
        """One row for each number of each finished cell."""
        import pandas

        cells = (cell for unit in self.plan.units() for cell in self.known(unit).values() if cell is not None)
        rows = (
            (cell.key.task, cell.key.kind, cell.key.rate, cell.key.seed, cell.key.detector, metric, value)
            for cell in cells
            for metric, value in cell.numbers.items()
        )
        return pandas.DataFrame(rows, columns=list(COLUMNS))

    def _cache(self) -> CellCache[Key, AuditCell]:
        return CellCache(self.out / "cells" / "found", AuditCell)

    def _learns(self, key: Key) -> bool:
        return self.plan.returns and key.detector == RETURNS_OF and key.kind != GRADED


def run_audits(
    run: AuditRun, jobs: int, progress: Callable[[float, str], None], say: Callable[[str], None]
) -> pandas.DataFrame:
    """Compute what is missing, in so many processes. Whatever stops it: the same call goes on from there."""
    known = {unit: run.known(unit).values() for unit in run.plan.units()}
    missing = {unit: sum(not run.finished(cell) for cell in cells) for unit, cells in known.items()}
    units, total = [unit for unit, count in missing.items() if count], sum(missing.values())
    if jobs > 1 and len(units) > 1:
        _in_processes(run, units, min(jobs, len(units)), say, lambda done: progress(done / total, ""))
    else:
        done = 0
        for unit in units:
            for key in run.compute(unit, say):
                done += 1
                progress(done / total, f"{key.task} {key.kind}, seed {key.seed}")
    return run.table()


def _in_processes(
    run: AuditRun, units: Sequence[tuple[str, int]], jobs: int, say: Callable[[str], None], tell: Callable[[int], None]
) -> None:
    """Each process gets its share of the units; they end with this one."""
    context = multiprocessing.get_context("spawn")
    done = context.RawArray("i", jobs)
    processes = [
        context.Process(target=_work, args=(run, units[number::jobs], done, number, say), daemon=True)
        for number in range(jobs)
    ]
    try:
        for process in processes:
            process.start()
        while any(process.is_alive() for process in processes):
            time.sleep(LOOK)
            tell(sum(done))
            if broken := [process.exitcode for process in processes if process.exitcode]:
                raise RobustBCError(f"a process ended with exit code {broken[0]}; the same command goes on from there.")
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
                process.join()


def _work(run: AuditRun, units: Sequence[tuple[str, int]], done: Any, number: int, say: Callable[[str], None]) -> None:
    """What one process does; Ctrl-C is met by the one that started it."""
    import torch
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    parent = multiprocessing.parent_process()
    with threadpool_limits(1):
        for unit in units:
            for _ in run.compute(unit, say):
                done[number] += 1
                if parent is not None and not parent.is_alive():
                    return


def _detected(key: Key, mix: Demonstrations, noise: Floats | None) -> AuditCell:
    started = time.monotonic()
    found = detect(key.detector, mix, key.seed)
    seconds = round(time.monotonic() - started, 3)
    dropped = None if found.dropped is None else "".join("1" if flag else "0" for flag in found.dropped)
    return AuditCell(key, measures(found, mix, noise) | {"seconds": seconds}, dropped)


def _sets(mix: Demonstrations, cell: AuditCell) -> dict[str, Demonstrations]:
    """What policies are fitted to."""
    import numpy as np

    dropped = np.array([flag == "1" for flag in cell.dropped or ""])
    places = np.unique(mix.episodes, return_inverse=True)[1]
    return dict(zip(RETURNS, (mix, mix.select(~dropped[places]), mix.clean()), strict=True))


def _fingerprint(key: Key, mark: dict[str, Any]) -> dict[str, Any]:
    """All that a cell depends on."""
    about: dict[str, Any] = {"format": FORMAT, "mixes": mark}
    if key.detector in PARTS:
        about |= {"revision": REVISION, "settings": asdict(AuditSettings())}
    return about | ({"learner": LEARNT_BY} if key.detector == RETURNS_OF else {})
