"""Running a control benchmark: finished cells are read from the cache, missing ones are computed unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.evaluation.evaluating import evaluate_fleet
from robust_bc.policies.policy import Policy
from robust_bc.system.devices import resolve_device
from robust_bc_benchmarks.contenders import ORACLE
from robust_bc_benchmarks.control.cells import CLEAN, EXPERT, Cache, Cell, Key
from robust_bc_benchmarks.control.plan import ControlPlan, Source
from robust_bc_benchmarks.control.units import Evaluate, Progress, compute_expert, compute_unit

CELLS_FOLDER, POLICIES_FOLDER = "cells", "policies"


def run_control(
    plan: ControlPlan,
    source: Source,
    out: Path,
    *,
    device: str = "auto",
    variant: str = "",
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
    evaluate: Evaluate = evaluate_fleet,
) -> dict[Key, Cell]:
    """All cells of the plan. Whatever stops it costs the unit in work only: the same call goes on from there.

    `variant` keeps the cells of another world of the same tasks apart. The policies of the first seed are saved too.
    """
    resolve_device(device)  # before the work: what is no fault of a cell must not be kept as its failure
    tell = say or (lambda sentence: None)
    run = _Run(plan, source, Cache(out / CELLS_FOLDER / variant), out / POLICIES_FOLDER / variant, device, evaluate)
    missing = run.missing()
    for sentence in run.cache.complaints(out):
        tell(sentence)
    total, done = sum(len(unit) for unit in missing), 0
    if run.cells:
        tell(f"{len(run.cells)} of {len(run.cells) + total} cells are there already.")
    for unit in missing:

        def report(share: float, note: str, done: int = done, unit: list[Key] = unit) -> None:
            if progress is not None:
                progress((done + share * len(unit)) / total, f"{_place(unit[0])}: {note}")

        run.compute(unit, report)
        done += len(unit)
    return run.cells


class _Run:
    """The cells so far, and the mixes that the unit in work and its neighbours share."""

    def __init__(
        self, plan: ControlPlan, source: Source, cache: Cache, policies: Path, device: str, evaluate: Evaluate
    ) -> None:
        self.plan, self.source, self.cache, self.policies = plan, source, cache, policies
        self.device, self.evaluate = device, evaluate
        self.marks = {task: source.mark(task) for task in plan.tasks}
        self.cells: dict[Key, Cell] = {}
        self.mixes: dict[tuple[str, str, float, int], Demonstrations] = {}

    def missing(self) -> list[list[Key]]:
        """Units without their finished cells, which are read."""
        units = []
        for unit in self.plan.units():
            found = {key: self.cache.read(key, self.plan.fingerprint(key, self.marks[key.task])) for key in unit}
            self.cells |= {key: cell for key, cell in found.items() if cell is not None}
            if left := [key for key, cell in found.items() if cell is None]:
                units.append(left)
        return units

    def compute(self, unit: list[Key], progress: Progress) -> None:
        """Fit, measure, keep."""
        plan, first = self.plan, unit[0]
        if first.method == EXPERT:
            cells = [compute_expert(plan, first, self.source.expert(first.task), progress, self.evaluate)]
        else:
            mixes = self._mixes(unit, progress)
            cells, fitted = compute_unit(plan, unit, mixes, self.device, progress, self.evaluate)
            self._save(fitted)
        self.cache.write([(cell, plan.fingerprint(cell.key, self.marks[cell.key.task])) for cell in cells])
        self.cells |= {cell.key: cell for cell in cells}

    def _mixes(self, unit: Sequence[Key], progress: Progress) -> list[Demonstrations]:
        """Demonstrations of these cells; those of other places are dropped."""
        wanted = {}
        for key in unit:
            # The clean pairs of a rate are the same whatever the way, so any way serves the oracle.
            how = self.plan.hows[0] if key.how == CLEAN and key.method == ORACLE else key.how
            wanted[key] = (key.task, how, key.rate, key.seed)
        here = {place[:3] for place in wanted.values()}
        self.mixes = {place: mix for place, mix in self.mixes.items() if place[:3] in here}
        for number, place in enumerate(wanted.values()):
            if place not in self.mixes:
                progress(0.0, f"demonstrations {number + 1} of {len(wanted)}")
                self.mixes[place] = self.source.demonstrations(*place)
        return [self.mixes[wanted[key]] for key in unit]

    def _save(self, fitted: dict[Key, Policy]) -> None:
        """The first seed's policy, to look at; before its cell, so that a finished cell has one."""
        for key, policy in fitted.items():
            if key.seed == self.plan.seeds[0]:
                policy.save(self.policies / key.folder)


def _place(key: Key) -> str:
    return f"{key.task} {key.how} {key.rate:.0%} {key.method}"
