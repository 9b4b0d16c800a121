"""A benchmark that takes seconds: few pairs, short episodes, small networks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from robust_bc import Demonstrations
from robust_bc.evaluation.metrics import Metric
from robust_bc_benchmarks.control.plan import ControlPlan
from robust_bc_benchmarks.control.running import run_control
from tests.conftest import QUICK

SETTINGS = {"max_episode_steps": 30}
FORWARD = Metric("x_velocity", "x_velocity", "mean")
TINY: dict[str, Any] = {**QUICK, "steps": 30}


def plan(**changes: Any) -> ControlPlan:
    """HalfCheetah, two seeds, a clean and a corrupt rate."""
    given: dict[str, Any] = {
        "tasks": ("halfcheetah",),
        "hows": ("flip", "uniform"),
        "rates": (0.0, 0.3),
        "methods": ("choicenet", "mlp"),
        "seeds": (0, 1),
        "pairs": 60,
        "episodes": 2,
        "settings": SETTINGS,
        "method_settings": dict.fromkeys(("choicenet", "mdn", "mlp"), TINY),
    }
    return ControlPlan(**given | changes)


class FakeSource:
    """Random pairs of the right size, and zeros for an expert; counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, float, int]] = []

    def demonstrations(self, task: str, how: str, rate: float, seed: int) -> Demonstrations:
        self.asked.append((task, how, rate, seed))
        generator = np.random.default_rng(seed)
        observations = generator.normal(size=(60, 17))
        actions = np.tanh(observations[:, :6])
        corrupt = np.arange(60) < round(60 * rate)
        actions[corrupt] *= -1
        return Demonstrations.from_arrays(observations, actions, corrupt=corrupt)

    def expert(self, task: str) -> Any:
        return lambda observations: np.zeros((len(observations), 6))

    def mark(self, task: str) -> dict[str, Any]:
        return {"teachers": "fake"}


def main(out: str) -> None:
    """The benchmark that a test kills: real teachers, as the command line has them."""
    from robust_bc_benchmarks.commands.control_source import TeacherSource

    run_control(plan(), TeacherSource(60, SETTINGS), Path(out), device="cpu")


if __name__ == "__main__":
    main(sys.argv[1])
