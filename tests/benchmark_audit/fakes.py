"""Mixes of a known teacher, an audit that knows it, and cells whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from robust_bc import Demonstrations
from robust_bc.auditing.estimates import Estimate
from robust_bc.benchmark.audit import AuditCells
from robust_bc.benchmark.audit_cells import ESTIMATED, HIGH, LOW, PAIR_AUROC, TRUE, AuditCell
from robust_bc.benchmark.audit_plan import AuditPlan
from robust_bc.benchmark.audit_rows import AuditResults
from robust_bc.benchmark.control_cells import Cell, Key
from robust_bc.benchmark.detectors import AUDIT, Detection, Detector

OBSERVATIONS, ACTIONS = 17, 6
"""As HalfCheetah has them."""


def teacher(observations: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a good pair does."""
    return np.asarray(np.tanh(observations[:, :ACTIONS]))


def mix(rate: float, seed: int = 0, episodes: int = 10, steps: int = 12) -> Demonstrations:
    """The first episodes do the opposite of what the teacher does."""
    pairs = episodes * steps
    observations = np.random.default_rng(seed).normal(size=(pairs, OBSERVATIONS))
    corrupt = np.arange(pairs) < round(rate * episodes) * steps
    actions = np.where(corrupt[:, None], -1, 1) * teacher(observations)
    return Demonstrations.from_arrays(observations, actions, np.arange(pairs) // steps, corrupt=corrupt)


class FakeMixes:
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, float, int]] = []

    def demonstrations(self, task: str, how: str, rate: float, seed: int) -> Demonstrations:
        self.asked.append((task, how, rate, seed))
        return mix(rate, seed)

    def mark(self, task: str) -> dict[str, Any]:
        return {"teachers": "fake"}


def knowing_audit(demonstrations: Demonstrations, seed: int, device: str) -> Detection:
    """Suspects whatever the teacher would not do."""
    assert demonstrations.corrupt is None
    away = np.abs(demonstrations.actions - teacher(demonstrations.observations)).max(1)
    suspicion = np.where(away > 1e-6, 0.9, 0.1)
    rate = float((away > 1e-6).mean())
    return Detection(suspicion, Estimate(rate, max(0.0, rate - 0.02), rate + 0.02))


def blind(demonstrations: Demonstrations, seed: int, device: str) -> Detection:
    """Suspects nobody more than another, and estimates no rate."""
    return Detection(np.zeros(len(demonstrations)))


DETECTORS = {AUDIT: Detector(knowing_audit, "knows the teacher"), "blind": Detector(blind, "sees nothing")}


def plan(**changes: Any) -> AuditPlan:
    """HalfCheetah, two seeds, a clean and a corrupt rate; the detectors must be in the registry."""
    given: dict[str, Any] = {
        "tasks": ("halfcheetah",),
        "hows": ("flip", "uniform"),
        "rates": (0.0, 0.3),
        "detectors": (AUDIT, "blind"),
        "seeds": (0, 1),
        "rollouts": 2,
    }
    return AuditPlan(**given | changes)


def results(numbers: Callable[[Key], dict[str, float | None]], **changes: Any) -> AuditResults:
    """Cells with these numbers; an empty dictionary is a failure."""
    asked = plan(**changes)
    cells = AuditCells()
    for key in asked.detections():
        found = numbers(key)
        cells.detections[key] = AuditCell(
            key, found, failure=None if found else "it gave up.", seconds=2.0, finished="2026-01-01T00:00:00+00:00"
        )
    for key in (key for unit in asked.trainings() for key in unit):
        value = {"oracle": 100.0, "mlp": 40.0, "mlp-filtered": 90.0 + 2 * key.seed}[key.method]
        cells.trainings[key] = Cell(key, {"return": [value, value]}, finished="2026-01-02T00:00:00+00:00")
    return AuditResults(asked, cells, {"halfcheetah": 0.0})


def estimated(rate: float, error: float, auroc: float | None = None) -> dict[str, float | None]:
    """Numbers of an audit whose interval is 2 points to either side."""
    value = rate + error
    return {TRUE: rate, ESTIMATED: value, LOW: value - 0.02, HIGH: value + 0.02, PAIR_AUROC: auroc}


def with_revision(detector: Detector, revision: int) -> Detector:
    """The same, changed by code that no setting tells of."""
    return replace(detector, revision=revision)
