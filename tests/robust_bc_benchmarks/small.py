"""Benchmarks that take seconds: few pairs, short episodes, small networks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from robust_bc import Demonstrations
from robust_bc_benchmarks.core.plan import Plan
from robust_bc_benchmarks.core.running import Results, Suite, run_suite
from robust_bc_benchmarks.suites.control import ControlSuite
from robust_bc_benchmarks.suites.mixes import Mixes
from tests.conftest import QUICK

SETTINGS = {"max_episode_steps": 30}
TINY: dict[str, Any] = {**QUICK, "steps": 30}


def plan(**changes: Any) -> Plan:
    """HalfCheetah, two seeds, a clean and a corrupt rate."""
    given: dict[str, Any] = {
        "tasks": ("halfcheetah",),
        "kinds": ("flip", "uniform"),
        "rates": (0.0, 0.3),
        "methods": ("choicenet", "mlp"),
        "seeds": (0, 1),
        "common": TINY,
    }
    return Plan(**given | changes)


class FakeMixes(Mixes):
    """Random pairs of the right size; counts what it is asked for."""

    def __init__(self, pairs: int | None = 60) -> None:
        super().__init__(pairs)
        self.asked: list[tuple[str, str, float | None, int]] = []

    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> tuple[Demonstrations, None]:
        self.asked.append((task, kind, rate, seed))
        generator = np.random.default_rng(seed)
        observations = generator.normal(size=(60, 17))
        actions = np.tanh(observations[:, :6])
        corrupt = np.arange(60) < round(60 * (rate or 0.0))
        actions[corrupt] *= -1
        return Demonstrations.from_arrays(observations, actions, corrupt=corrupt), None

    def mark(self, task: str) -> dict[str, Any]:
        return {"teachers": "fake"}


def suite(mixes: Mixes | None = None, episodes: int = 2, **changes: Any) -> ControlSuite:
    """Two short episodes."""
    return ControlSuite(plan(**changes), "cpu", episodes, SETTINGS, mixes or FakeMixes())


def run(asked: Suite, out: Path, jobs: int = 1) -> tuple[Results, list[str]]:
    """Results, and what was said."""
    said: list[str] = []
    return run_suite(asked, out, jobs, lambda share, note: None, said.append), said


if __name__ == "__main__":  # the benchmark that a test kills: real teachers, as the command line has them
    run(suite(Mixes(60, episodes=2, steps=40)), Path(sys.argv[1]))
