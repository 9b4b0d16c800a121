"""Cells are computed once: what they depend on, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc.auditing import REVISION
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.control.cells import Cache, Cell, Key
from robust_bc_benchmarks.control.plan import EVALUATION_SEED, ControlPlan
from robust_bc_benchmarks.control.running import run_control
from tests.robust_bc_benchmarks.control.small import TINY, FakeSource, plan


def times(out: Path) -> dict[str, int]:
    return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}


def run(out: Path, **changes: Any) -> tuple[dict[Key, Cell], list[str]]:
    said: list[str] = []
    return run_control(plan(**changes), FakeSource(), out, device="cpu", say=said.append), said


def test_every_cell_once() -> None:
    units = list(plan(hows=("flip", "uniform"), methods=("mdn", "mlp"), rates=(0.0, 0.1, 0.4)).units())
    keys = [key for unit in units for key in unit]
    assert len(set(keys)) == len(keys)
    # The expert; at rate 0 both methods, whose mlp is the oracle; then two ways with two methods, and one oracle.
    assert len(keys) == 1 + 2 * 2 + 2 * 2 * (2 * 2 + 1)
    assert [(unit[0].how, unit[0].rate, unit[0].method) for unit in units[:6]] == [
        ("clean", 0.0, "expert"),
        ("clean", 0.0, "mdn"),
        ("clean", 0.0, "mlp"),
        ("flip", 0.1, "mdn"),
        ("flip", 0.1, "mlp"),
        ("clean", 0.1, "oracle"),
    ]
    without = [key.method for unit in plan(methods=("mdn",), rates=(0.0,)).units() for key in unit]
    assert without == ["expert", "mdn", "mdn", "mlp", "mlp"]


def test_the_fingerprint_knows_what_a_cell_depends_on() -> None:
    key, mark = Key("halfcheetah", "flip", 0.3, "choicenet", 0), {"teachers": "fake"}
    before = plan().fingerprint(key, mark)
    for changes in (
        {"episodes": 3},
        {"pairs": 61},
        {"settings": {"max_episode_steps": 31}},
        {"method_settings": {"choicenet": {**TINY, "steps": 31}}},
    ):
        assert plan(**changes).fingerprint(key, mark) != before, changes
    assert plan().fingerprint(key, {"teachers": "others"}) != before
    for other in (
        Key("walker2d", "flip", 0.3, "choicenet", 0),
        Key("halfcheetah", "uniform", 0.3, "choicenet", 0),
        Key("halfcheetah", "flip", 0.4, "choicenet", 0),
        Key("halfcheetah", "flip", 0.3, "mlp", 0),
        Key("halfcheetah", "flip", 0.3, "choicenet", 1),
    ):
        assert plan().fingerprint(other, mark) != before, other
    # It does not know what a cell has no part in.
    for others in ({"rates": (0.3, 0.4)}, {"seeds": (0, 7)}, {"methods": ("choicenet",)}, {"hows": ("flip",)}):
        assert plan(**others).fingerprint(key, mark) == before


def test_only_what_is_new_is_computed(tmp_path: Path) -> None:
    first, _ = run(tmp_path)
    before = times(tmp_path)
    assert len(before) == len(first) == 1 + 2 * 2 + 2 * 2 * 2 + 2
    again, said = run(tmp_path)
    assert again == first
    assert times(tmp_path) == before
    assert said == [f"{len(first)} of {len(first)} cells are there already."]
    run(tmp_path, methods=("choicenet", "mdn", "mlp"))
    added = times(tmp_path)
    assert {path: added[path] for path in before} == before
    assert {path.split("/")[4] for path in added.keys() - before.keys()} == {"mdn"}
    run(tmp_path, seeds=(0, 1, 2))
    more = times(tmp_path)
    assert {path: more[path] for path in added} == added
    assert {Path(path).stem for path in more.keys() - added.keys()} == {"2"}


def test_a_cell_does_not_depend_on_which_seeds_were_missing(tmp_path: Path) -> None:
    together, _ = run(tmp_path / "together", seeds=(0, 1, 2))
    for seed in (2, 0, 1):
        run(tmp_path / "alone", seeds=(seed,))
    alone, _ = run(tmp_path / "alone", seeds=(0, 1, 2))
    for key, cell in together.items():
        assert (alone[key].episodes, alone[key].history) == (cell.episodes, cell.history), key


def test_seeds_are_paired(tmp_path: Path) -> None:
    """All methods of a cell learn from the same pairs and meet the same episodes."""
    source, seen = FakeSource(), []

    def evaluate(policies: Any, task: str, episodes: int, seed: int, **rest: Any) -> Any:
        seen.append((episodes, seed))
        from robust_bc.evaluation.evaluating import evaluate_fleet

        return evaluate_fleet(policies, task, episodes, seed, **rest)

    run_control(plan(), source, tmp_path, device="cpu", evaluate=evaluate)
    assert set(seen) == {(2, EVALUATION_SEED)}
    # Once for all methods and the oracle; the clean way for rate 0.
    places = [("clean", 0.0), ("flip", 0.3), ("uniform", 0.3)]
    assert source.asked == [("halfcheetah", how, rate, seed) for how, rate in places for seed in (0, 1)]


def test_other_settings_and_damage_are_said(tmp_path: Path) -> None:
    cells, _ = run(tmp_path, hows=("flip",))
    key = Key("halfcheetah", "flip", 0.3, "choicenet", 1)
    path = tmp_path / "cells" / key.path
    path.write_text(path.read_text()[:200])
    again, said = run(tmp_path, hows=("flip",))
    assert again[key].episodes == cells[key].episodes
    assert said[0] == f"'{path}' cannot be read; this cell is computed anew."
    _, said = run(tmp_path, hows=("flip",), episodes=3)
    assert said == [f"{len(cells)} cells in '{tmp_path}' belong to other settings and are computed anew."]


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"fingerprint": {}, "cell": {}}', '{"fingerprint": {}, "cell": 3}']
)
def test_no_file_is_trusted(tmp_path: Path, content: str) -> None:
    key = Key("halfcheetah", "flip", 0.3, "mlp", 0)
    (tmp_path / key.folder).mkdir(parents=True)
    (tmp_path / key.path).write_text(content)
    cache = Cache(tmp_path)
    assert cache.read(key, {}) is None
    assert cache.unreadable == [tmp_path / key.path]


def test_a_cell_has_what_tables_and_figures_need(tmp_path: Path) -> None:
    cells, _ = run(tmp_path)
    cell = cells[Key("halfcheetah", "flip", 0.3, "choicenet", 0)]
    assert set(cell.episodes) == {"return", "length", "x_velocity"}
    assert cell.episodes["length"] == [30, 30]
    assert cell.history is not None
    assert cell.history.names[0] == "total"
    assert cell.history.steps[-1] == 30
    assert cell.correlation is not None
    assert cell.correlation.corrupt.count("1") == 18
    assert all(rho is not None and -1 <= rho <= 1 for rho in cell.correlation.rho)
    assert len(cell.correlation.rho) == len(cell.correlation.distance) == 60
    assert cells[Key("halfcheetah", "flip", 0.3, "mlp", 0)].correlation is None
    kept = json.loads((tmp_path / "cells" / cell.key.path).read_text())
    assert kept["fingerprint"]["method_settings"]["steps"] == TINY["steps"]
    from robust_bc import evaluate, load_policy

    policy = load_policy(tmp_path / "policies" / cell.key.folder)
    found = evaluate(policy, "halfcheetah", 2, EVALUATION_SEED, settings={"max_episode_steps": 30})
    np.testing.assert_array_equal([row["return"] for row in found.rows], cell.episodes["return"])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tasks": ()}, "tasks is empty; name at least one."),
        ({"methods": ("mpl",)}, "there is no method 'mpl' (did you mean 'mlp'?)"),
        ({"rates": (0.1, 1.0)}, "a rate must be at least 0 and below 1, but it is 1.0."),
        ({"rates": (-0.1,)}, "a rate must be at least 0 and below 1, but it is -0.1."),
        ({"rates": (float("nan"),)}, "a rate must be at least 0 and below 1, but it is nan."),
        ({"pairs": 3, "rates": (0.5,)}, "a rate of 0.5 leaves the oracle fewer than 2 of 3 pairs."),
        ({"episodes": 0}, "episodes must be at least 1, but it is 0."),
        ({"seeds": (EVALUATION_SEED,)}, "is that of the evaluation's episodes; take another."),
    ],
)
def test_bad_plans_get_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RobustBCError) as problem:
        plan(**changes)
    assert sentence in str(problem.value)


def test_the_device_is_checked_before_any_cell_could_fail(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError):
        run_control(plan(), FakeSource(), tmp_path, device="nonsense")
    assert not (tmp_path / "cells").exists()


def test_a_plan_is_what_it_says() -> None:
    assert isinstance(plan(), ControlPlan)
    assert plan().key("halfcheetah", "flip", 0.0, "oracle", 1) == Key("halfcheetah", "clean", 0.0, "mlp", 1)
    assert plan().key("halfcheetah", "flip", 0.3, "oracle", 1) == Key("halfcheetah", "clean", 0.3, "oracle", 1)
    assert plan().key("halfcheetah", "flip", 0.3, "expert", 1) == Key("halfcheetah", "clean", 0.0, "expert", 0)


def test_a_new_revision_of_the_audit_is_computed_anew() -> None:
    """No setting tells of a change in what the audit says, but the fingerprint does; others keep theirs."""
    asked = plan(methods=("mlp", "mlp+clean"))
    mine, other = (asked.key("halfcheetah", "flip", 0.3, name, 0) for name in ("mlp+clean", "mlp"))
    assert asked.fingerprint(mine, {})["audit_revision"] == REVISION
    assert "audit_revision" not in asked.fingerprint(other, {})


def test_who_is_cleaned_learns_from_what_the_audit_keeps(tmp_path: Path) -> None:
    asked = plan(methods=("mlp", "mlp+clean"), hows=("flip",), rates=(0.3,), seeds=(0,))
    cells = run_control(asked, FakeSource(), tmp_path, device="cpu")
    assert {key.method for key in cells} == {"mlp", "mlp+clean", "oracle", "expert"}
    assert not any(cell.failure for cell in cells.values())
    from robust_bc import load_policy

    found = {}
    for method in ("mlp", "mlp+clean"):
        key = asked.key("halfcheetah", "flip", 0.3, method, asked.seeds[0])
        found[method] = load_policy(tmp_path / "policies" / key.folder).cleaning
    assert found["mlp"] is None
    assert found["mlp+clean"] is not None
