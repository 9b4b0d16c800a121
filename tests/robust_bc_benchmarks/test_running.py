"""The one runner: cells are computed once, and whatever stops or fails costs nothing else."""

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

from robust_bc import Demonstrations, evaluate, load_policy
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.evaluating import evaluate_fleet
from robust_bc.policies.policy import Policy
from robust_bc.training.fitting import fit_fleet
from robust_bc_benchmarks.core import contenders
from robust_bc_benchmarks.core.cells import Cell, Cells, Key
from robust_bc_benchmarks.suites import control
from robust_bc_benchmarks.suites.control import EVALUATION_SEED
from robust_bc_benchmarks.suites.mixes import Mixes
from tests.robust_bc_benchmarks.small import SETTINGS, FakeMixes, run, suite

CELLS = "cells-30"
"""Cells of another world of the same task have a folder of their own."""
ROOT = Path(__file__).parent.parent.parent


def times(out: Path) -> dict[str, int]:
    return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in (out / CELLS).rglob("*.json")}


def numbers(cells: dict[Key, Cell]) -> dict[Key, tuple[object, ...]]:
    return {key: (cell.numbers, cell.failure) for key, cell in cells.items()}


def test_only_what_is_new_is_computed(tmp_path: Path) -> None:
    first, _ = run(suite(), tmp_path)
    before = times(tmp_path)
    assert len(before) == len(first.cells) == 1 + 2 * 2 + 2 * 2 * 2 + 2 * 2
    again, said = run(suite(), tmp_path)
    assert again.cells == first.cells
    assert times(tmp_path) == before
    assert said == [f"{len(before)} of {len(before)} cells are there already."]
    run(suite(methods=("choicenet", "mdn", "mlp")), tmp_path)
    added = times(tmp_path)
    assert {path: added[path] for path in before} == before
    assert {path.split("/")[4] for path in added.keys() - before.keys()} == {"mdn", "mdn+oracle"}
    run(suite(seeds=(0, 1, 2)), tmp_path)
    more = times(tmp_path)
    assert {path: more[path] for path in added} == added
    assert {Path(path).stem for path in more.keys() - added.keys()} == {"2"}


def test_a_cell_does_not_depend_on_which_seeds_were_missing_or_on_the_processes(tmp_path: Path) -> None:
    together, _ = run(suite(seeds=(0, 1, 2)), tmp_path / "together")
    for seed in (2, 0, 1):
        run(suite(seeds=(seed,)), tmp_path / "alone")
    alone, _ = run(suite(seeds=(0, 1, 2)), tmp_path / "alone")
    assert numbers(alone.cells) == numbers(together.cells)
    many, _ = run(suite(seeds=(0, 1, 2)), tmp_path / "many", jobs=2)
    assert numbers(many.cells) == numbers(together.cells)


def test_seeds_are_paired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All methods of a cell learn from the same pairs and meet the same episodes."""
    mixes, seen = FakeMixes(), []

    def watched(policies: Any, task: str, episodes: int, seed: int, **rest: Any) -> Any:
        seen.append((episodes, seed))
        return evaluate_fleet(policies, task, episodes, seed, **rest)

    monkeypatch.setattr(control, "evaluate_fleet", watched)
    run(suite(mixes), tmp_path)
    assert set(seen) == {(2, EVALUATION_SEED)}
    # Once for all methods; of 30 % the oracles have a mix of their own.
    places = [(kind, rate) for _, kind, rate, seed in mixes.asked if seed == 0]
    assert places == [("clean", 0.0), ("flip", 0.3), ("flip", 0.3), ("uniform", 0.3)]


def test_what_is_kept_is_what_was_measured(tmp_path: Path) -> None:
    asked = suite()
    results, _ = run(asked, tmp_path)
    key = Key("halfcheetah", "flip", 0.3, "choicenet", 0)
    cell = results.cells[key]
    assert set(cell.numbers) == {"return", "length", "x_velocity", "episodes"}
    policy = load_policy(asked.policy_folder(key, tmp_path))
    found = evaluate(policy, "halfcheetah", 2, EVALUATION_SEED, settings=SETTINGS)
    assert cell.numbers["return"] == found.summary["return"].mean
    table = results.table()
    assert len(table) == sum(len(cell.numbers) for cell in results.cells.values())
    assert set(table.method) == {"choicenet", "mlp", "choicenet+oracle", "mlp+oracle", "expert"}


def test_who_is_cleaned_learns_from_what_the_audit_keeps(tmp_path: Path) -> None:
    asked = suite(methods=("mlp", "mlp+clean"), kinds=("flip",), rates=(0.3,), seeds=(0,))
    results, _ = run(asked, tmp_path)
    assert not results.failures()
    keys = [asked.plan.key("halfcheetah", "flip", 0.3, method, 0) for method in ("mlp", "mlp+clean")]
    cleanings = [load_policy(asked.policy_folder(key, tmp_path)).cleaning for key in keys]
    assert [cleaning is None for cleaning in cleanings] == [True, False]


def test_other_settings_and_damage_are_said(tmp_path: Path) -> None:
    results, _ = run(suite(kinds=("flip",)), tmp_path)
    key = Key("halfcheetah", "flip", 0.3, "choicenet", 1)
    path = tmp_path / CELLS / key.path
    path.write_text(path.read_text()[:200])
    again, said = run(suite(kinds=("flip",)), tmp_path)
    assert numbers(again.cells) == numbers(results.cells)
    assert said[0] == f"'{path}' cannot be read; this cell is computed anew."
    _, said = run(suite(kinds=("flip",), episodes=3), tmp_path)
    count, folder = len(results.cells), tmp_path / CELLS
    assert said[0] == f"{count} cells in '{folder}' belong to other settings and are computed anew."


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"fingerprint": {}, "cell": {}}', '{"fingerprint": {}, "cell": 3}']
)
def test_no_file_is_trusted(tmp_path: Path, content: str) -> None:
    key = Key("halfcheetah", "flip", 0.3, "mlp", 0)
    (tmp_path / key.folder).mkdir(parents=True)
    (tmp_path / key.path).write_text(content)
    cells = Cells(tmp_path)
    assert cells.read(key, {}) is None
    assert cells.unreadable == [tmp_path / key.path]


def test_a_fit_that_diverges_costs_its_own_cell_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(pairs: Sequence[Demonstrations], method: str, seeds: Sequence[int], **rest: Any) -> list[Policy]:
        if method == "choicenet" and 1 in seeds:
            raise RobustBCError("training of 'choicenet' with seed 1 diverged; lower learning_rate (it is 0.001).")
        return fit_fleet(pairs, method=method, seeds=seeds, **rest)

    expected, _ = run(suite(), tmp_path / "well")
    monkeypatch.setattr(contenders, "fit_fleet", fit)
    results, _ = run(suite(), tmp_path / "failed")
    assert results.cells.keys() == expected.cells.keys()
    for key, cell in results.cells.items():
        if key.method.startswith("choicenet") and key.seed == 1:
            assert "seed 1 diverged" in (cell.failure or "")
        else:
            assert (cell.numbers, cell.failure) == (expected.cells[key].numbers, None)
    # It is kept as it is: the same fit would diverge again.
    assert numbers(run(suite(), tmp_path / "failed")[0].cells) == numbers(results.cells)
    assert len(results.failures()) == 4


def test_an_evaluation_that_fails_costs_its_own_cell_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(policies: Sequence[Any], *given: Any, names: Sequence[str], **rest: Any) -> Any:
        if "mlp 1" in names:
            raise RobustBCError("the world came to its end.")
        evaluations = evaluate_fleet(policies, *given, names=names, **rest)
        if names[0] == "choicenet 0":
            evaluations[0].rows[1] |= {"return": None, "length": None, "x_velocity": None, "failure": "NaN."}
        return evaluations

    monkeypatch.setattr(control, "evaluate_fleet", broken)
    results, _ = run(suite(rates=(0.3,), kinds=("flip",)), tmp_path)
    failed = {(key.method, key.seed): cell.failure for key, cell in results.cells.items() if cell.failure}
    assert failed == {("mlp", 1): "the world came to its end.", ("choicenet", 0): "1 of 2 episodes failed: NaN."}


class Unmade(FakeMixes):
    """Cannot be made."""

    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> Any:
        raise RobustBCError("the teachers are asleep.")


def test_what_goes_wrong_in_a_process_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=r"^the teachers are asleep\.$"):
        run(suite(Unmade()), tmp_path, jobs=2)


def start(out: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(str(ROOT / folder) for folder in (".", "envs", "demos", "scripts"))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.robust_bc_benchmarks.small", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )


def test_a_killed_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    process = start(killed)
    try:
        deadline = time.monotonic() + 120
        while len(times(killed)) < 6:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = times(killed)
    assert 6 <= len(before) < 15
    asked = suite(Mixes(60, episodes=2, steps=40))
    results, _ = run(asked, killed)
    assert {path: times(killed)[path] for path in before} == before
    assert not list(killed.rglob("*.part"))
    whole, _ = run(asked, tmp_path / "whole")
    assert numbers(results.cells) == numbers(whole.cells)


def test_of_whole_episodes_every_oracle_has_the_good_pairs_of_its_own_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned_from: list[bytes] = []

    def fit(pairs: Sequence[Demonstrations], method: str, seeds: Sequence[int], **rest: Any) -> list[Policy]:
        learned_from.extend(each.observations.tobytes() for each in pairs)
        assert rest["clean"] is False
        return fit_fleet(pairs, method=method, seeds=seeds, **rest)

    monkeypatch.setattr(contenders, "fit_fleet", fit)
    kinds = ("noisy", "flip", "uniform", "graded")
    mixes = Mixes(None, episodes=5, steps=20)
    asked = suite(mixes, kinds=kinds, methods=("mlp", "mdn@steps=20"), tasks=("pendulum",))
    assert asked.uneven == ("noisy", "graded")
    results, _ = run(asked, tmp_path)
    assert not results.failures()
    places = {(key.kind, key.rate) for key in results.cells if key.method == "mlp+oracle"}
    assert places == {("noisy", 0.3), ("clean", 0.3), ("graded", None)}  # the same episodes are flipped and random
    assert len(results.cells) == 1 + 2 * 2 + 2 * (4 * 2) + 2 * (3 * 2)
    for kind in kinds:
        good = asked.mix("pendulum", kind, None if kind == "graded" else 0.3, 1).clean()
        assert learned_from.count(good.observations.tobytes()) >= 2, kind  # by the oracles of both methods
