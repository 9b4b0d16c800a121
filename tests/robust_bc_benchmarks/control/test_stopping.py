"""A benchmark that is killed, and one in which something fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import robust_bc_benchmarks.control.units as control_units
from robust_bc import Demonstrations, Policy, fit_fleet
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.evaluating import evaluate_fleet
from robust_bc_benchmarks.commands.control_source import TeacherSource
from robust_bc_benchmarks.control.cells import Cell, Key
from robust_bc_benchmarks.control.running import run_control
from tests.robust_bc_benchmarks.control.small import SETTINGS, FakeSource, plan

ROOT = Path(__file__).parents[3]


def start(out: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(str(ROOT / part) for part in (".", "envs", "demos"))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.robust_bc_benchmarks.control.small", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )


def content(cells: dict[Key, Cell]) -> dict[Key, tuple[object, ...]]:
    return {key: (cell.episodes, cell.failure, cell.history, cell.correlation) for key, cell in cells.items()}


def test_a_killed_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = start(killed)
    try:
        deadline = time.monotonic() + 120
        while len(list(killed.glob("cells/**/[0-9]*.json"))) < 6:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = {path: path.stat().st_mtime_ns for path in killed.glob("cells/**/[0-9]*.json")}
    assert 6 <= len(before) < 15
    assert start(killed).wait() == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert not list(killed.rglob("*.part"))
    assert start(whole).wait() == 0
    # Nothing is computed here: both are read back.
    never: Any = None
    one, other = (
        run_control(plan(), TeacherSource(60, SETTINGS), out, device="cpu", evaluate=never) for out in (killed, whole)
    )
    assert len(one) == 15
    assert content(one) == content(other)


def test_a_fit_that_diverges_costs_its_own_cell_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_fit = fit_fleet

    def fit(pairs: Sequence[Demonstrations], method: str, seeds: Sequence[int], **rest: Any) -> list[Policy]:
        if method == "choicenet" and 1 in seeds:
            raise RobustBCError("training of 'choicenet' with seed 1 diverged; lower learning_rate (it is 0.001).")
        return true_fit(pairs, method=method, seeds=seeds, **rest)

    expected = run_control(plan(), FakeSource(), tmp_path / "well", device="cpu")
    monkeypatch.setattr(control_units, "fit_fleet", fit)
    cells = run_control(plan(), FakeSource(), tmp_path / "failed", device="cpu")
    assert cells.keys() == expected.keys()
    for key, cell in cells.items():
        if key.method == "choicenet" and key.seed == 1:
            assert cell.failure is not None
            assert "seed 1 diverged" in cell.failure
            assert cell.episodes == {}
        else:
            assert cell.failure is None
            assert cell.episodes == expected[key].episodes
    # It is kept as it is: the same fit would diverge again.
    assert content(run_control(plan(), FakeSource(), tmp_path / "failed", device="cpu")) == content(cells)


def test_an_evaluation_that_fails_costs_its_own_cell_only(tmp_path: Path) -> None:
    def evaluate(policies: Sequence[Any], *given: Any, names: Sequence[str], **rest: Any) -> Any:
        if "mlp 1" in names:
            raise RobustBCError("the world came to its end.")
        return evaluate_fleet(policies, *given, names=names, **rest)

    cells = run_control(plan(), FakeSource(), tmp_path, device="cpu", evaluate=evaluate)
    failed = {key for key, cell in cells.items() if cell.failure}
    assert failed == {key for key in cells if key.method == "mlp" and key.seed == 1}
    assert {cells[key].failure for key in failed} == {"the world came to its end."}


def test_an_episode_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluate(policies: Sequence[Any], *given: Any, **rest: Any) -> Any:
        evaluations = evaluate_fleet(policies, *given, **rest)
        evaluations[0].rows[1] |= {"return": None, "length": None, "x_velocity": None, "failure": "NaN."}
        return evaluations

    cells = run_control(plan(), FakeSource(), tmp_path, device="cpu", evaluate=evaluate)
    cell = cells[Key("halfcheetah", "flip", 0.3, "mlp", 0)]
    assert cell.failure == "1 of 2 episodes failed: NaN."
    assert cell.episodes["return"][1] is None
    assert cells[Key("halfcheetah", "flip", 0.3, "mlp", 1)].failure is None
