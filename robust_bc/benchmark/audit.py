"""Running the audit benchmark: finished cells are read from the cache, missing ones are computed one by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from robust_bc.benchmark.audit_cells import AuditCell, measured
from robust_bc.benchmark.audit_plan import AuditPlan, Mixes
from robust_bc.benchmark.audit_training import compute_training
from robust_bc.benchmark.cell_cache import CellCache, now
from robust_bc.benchmark.control_cells import Cell, Key
from robust_bc.benchmark.control_units import Evaluate, Progress
from robust_bc.benchmark.detectors import find_detector
from robust_bc.demonstrations import Demonstrations
from robust_bc.devices import resolve_device
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.evaluating import evaluate_fleet

DETECTIONS_FOLDER, TRAININGS_FOLDER = "cells/detections", "cells/trainings"
POLICY_COST = 0.2
"""Of a policy, in detections; only for the progress bar."""


@dataclass(frozen=True)
class AuditCells:
    """All finished cells."""

    detections: dict[Key, AuditCell] = field(default_factory=dict)
    trainings: dict[Key, Cell] = field(default_factory=dict)


def run_audits(
    plan: AuditPlan,
    mixes: Mixes,
    out: Path,
    *,
    device: str = "auto",
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
    evaluate: Evaluate = evaluate_fleet,
) -> AuditCells:
    """All cells of the plan. Whatever stops it costs the cell in work only: the same call goes on from there.

    Policies are trained after all mixes were looked at, all seeds of a place at once; they are lost together.
    """
    resolve_device(device)  # before the work: what is no fault of a cell must not be kept as its failure
    run = _Run(plan, mixes, out, device, evaluate)
    tell, show = say or (lambda sentence: None), progress or (lambda share, note: None)
    keys, units = run.missing()
    for sentence in (*run.detections.complaints(out), *run.trainings.complaints(out)):
        tell(sentence)
    there = len(run.cells.detections) + len(run.cells.trainings)
    missing = len(keys) + sum(len(unit) for unit in units)
    if there:
        tell(f"{there} of {there + missing} cells are there already.")
    total, done = len(keys) + POLICY_COST * sum(len(unit) for unit in units), 0.0
    for key in keys:
        show(done / total, _place(key))
        run.detect(key)
        done += 1
    for unit in units:

        def report(share: float, note: str, done: float = done, unit: list[Key] = unit) -> None:
            show((done + share * POLICY_COST * len(unit)) / total, f"{_place(unit[0])}: {note}")

        run.train(unit, report)
        done += POLICY_COST * len(unit)
    return run.cells


class _Run:
    """The cells so far, and the mix that the cells in work share."""

    def __init__(self, plan: AuditPlan, mixes: Mixes, out: Path, device: str, evaluate: Evaluate) -> None:
        self.plan, self.mixes, self.device, self.evaluate = plan, mixes, device, evaluate
        self.detections: CellCache[Key, AuditCell] = CellCache(out / DETECTIONS_FOLDER, AuditCell)
        self.trainings: CellCache[Key, Cell] = CellCache(out / TRAININGS_FOLDER, Cell)
        self.marks = {task: mixes.mark(task) for task in plan.tasks}
        self.cells = AuditCells()
        self.place: tuple[str, str, float] | None = None
        self.known: dict[int, Demonstrations] = {}
        """Mixes of this place, by seed."""

    def missing(self) -> tuple[list[Key], list[list[Key]]]:
        """Cells, and units of policies, that are yet to be computed; finished ones are read."""
        keys, units = [], []
        for key in self.plan.detections():
            cell = self.detections.read(key, self.plan.detection_fingerprint(key, self.marks[key.task]))
            if cell is None:
                keys.append(key)
            else:
                self.cells.detections[key] = cell
        for unit in self.plan.trainings():
            found = {
                key: self.trainings.read(key, self.plan.training_fingerprint(key, self.marks[key.task])) for key in unit
            }
            self.cells.trainings.update({key: cell for key, cell in found.items() if cell is not None})
            if left := [key for key, cell in found.items() if cell is None]:
                units.append(left)
        return keys, units

    def detect(self, key: Key) -> None:
        """Ask one detector about one mix, measure, keep."""
        mix = self.mix(key)
        started = time.monotonic()
        try:
            detection = find_detector(key.method)(mix, key.seed, self.device)
            cell = measured(key, detection, mix, time.monotonic() - started)
        except RobustBCError as problem:
            cell = AuditCell(key, failure=str(problem), finished=now())
        self.detections.write([(cell, self.plan.detection_fingerprint(key, self.marks[key.task]))])
        self.cells.detections[key] = cell

    def train(self, unit: list[Key], progress: Progress) -> None:
        """Fit, measure, keep."""
        cells = compute_training(self.plan, unit, self.mix, self.cells.detections, self.device, progress, self.evaluate)
        marks = [self.plan.training_fingerprint(cell.key, self.marks[cell.key.task]) for cell in cells]
        self.trainings.write(list(zip(cells, marks, strict=True)))
        self.cells.trainings.update({cell.key: cell for cell in cells})

    def mix(self, key: Key) -> Demonstrations:
        """The demonstrations of this cell; those of other places are dropped."""
        place = (key.task, key.how, key.rate)
        if place != self.place:
            self.place, self.known = place, {}
        if key.seed not in self.known:
            self.known[key.seed] = self.mixes.demonstrations(*place, key.seed)
        return self.known[key.seed]


def _place(key: Key) -> str:
    return f"{key.task} {key.how} {key.rate:.0%} {key.method}, seed {key.seed}"
