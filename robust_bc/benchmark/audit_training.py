"""Filter, then train: plain MLPs on what the audit keeps, on everything and on the clean pairs, and their returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from robust_bc.benchmark.audit_cells import AuditCell
from robust_bc.benchmark.audit_plan import FILTERED, MLP, TRAINING, AuditPlan
from robust_bc.benchmark.cell_cache import now
from robust_bc.benchmark.control_cells import Cell, Key
from robust_bc.benchmark.control_plan import ControlPlan
from robust_bc.benchmark.control_units import Evaluate, Progress, compute_unit
from robust_bc.benchmark.detectors import AUDIT
from robust_bc.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError


def compute_training(
    plan: AuditPlan,
    unit: Sequence[Key],
    mix_of: Callable[[Key], Demonstrations],
    audits: Mapping[Key, AuditCell],
    device: str,
    progress: Progress,
    evaluate: Evaluate,
) -> list[Cell]:
    """One policy per key, all fitted as one fleet and measured in the same episodes."""
    pairs: dict[Key, Demonstrations] = {}
    cells: list[Cell] = []
    for key in unit:
        try:
            audit = audits[plan.key(key.task, key.how, key.rate, AUDIT, key.seed)]
            pairs[key] = kept(mix_of(key), audit) if key.method == FILTERED else mix_of(key)
        except RobustBCError as problem:
            cells.append(Cell(key, {}, str(problem), finished=now()))
    if not pairs:
        return cells
    # To the control benchmark the filtered pairs are a mix like any other.
    as_control = {replace(key, method=MLP) if key.method == FILTERED else key: key for key in pairs}
    first = unit[0]
    control = ControlPlan(
        tasks=(first.task,),
        hows=(first.how,),
        rates=(first.rate,),
        methods=(MLP,),
        seeds=plan.seeds,
        pairs=min(len(mix) for mix in pairs.values()),
        episodes=plan.rollouts,
        method_settings={MLP: TRAINING},
    )
    computed, _ = compute_unit(control, list(as_control), list(pairs.values()), device, progress, evaluate)
    return cells + [replace(cell, key=as_control[cell.key]) for cell in computed]


def kept(mix: Demonstrations, audit: AuditCell) -> Demonstrations:
    """What is left of a mix without the audit's suspects."""
    if audit.failure is not None or audit.dropped is None:
        raise RobustBCError(f"there is no audit to filter by: {audit.failure or 'it gave no probabilities.'}")
    keep = np.array([mark == "0" for mark in audit.dropped])
    if len(keep) != len(mix):
        raise RobustBCError(f"the audit is of {len(keep)} pairs, but there are {len(mix)}.")
    if keep.sum() < MINIMUM_PAIRS:
        raise RobustBCError(f"the audit leaves {keep.sum()} of {len(keep)} pairs, too few to train on.")
    return mix.select(keep)
