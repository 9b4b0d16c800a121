"""The audit benchmark as it runs: every cell once, what is kept, what an interruption and a failure cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations
from robust_bc.auditing.estimates import Estimate
from robust_bc.benchmark import audit_plan, audit_training, detectors
from robust_bc.benchmark.audit import AuditCells, run_audits
from robust_bc.benchmark.audit_cells import EPISODE_AP, EPISODE_AUROC, ESTIMATED, PAIR_AP, PAIR_AUROC, TRUE, measured
from robust_bc.benchmark.control_cells import Key
from robust_bc.benchmark.detectors import AUDIT, Detection, Detector
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.results import Evaluation
from tests.benchmark_audit.fakes import DETECTORS, FakeMixes, knowing_audit, mix, plan, with_revision
from tests.conftest import QUICK

KEY = Key("halfcheetah", "flip", 0.3, AUDIT, 0)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, Detector]:
    mine = dict(DETECTORS)
    monkeypatch.setattr(detectors, "DETECTORS", mine)
    for module in (audit_plan, audit_training):
        monkeypatch.setattr(module, "TRAINING", QUICK)
    return mine


class Worlds:
    """In place of a simulator: the return is how often the policy does what the teacher of clean pairs would."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []

    def __call__(self, policies: Sequence[Any], task: str, episodes: int, seed: int, **rest: Any) -> list[Evaluation]:
        self.calls.append((task, episodes, len(policies)))
        clean = mix(0.0, seed=99)
        returns = [float(-np.mean((policy.predict(clean.observations)[0] - clean.actions) ** 2)) for policy in policies]
        return [
            Evaluation("", task, "", seed, {}, (), None, [{"return": r, "length": 1, "failure": None}] * episodes)
            for r in returns
        ]


def run(out: Path, mixes: FakeMixes | None = None, **changes: Any) -> tuple[AuditCells, list[str]]:
    said: list[str] = []
    cells = run_audits(plan(**changes), mixes or FakeMixes(), out, device="cpu", say=said.append, evaluate=Worlds())
    return cells, said


def test_numbers_by_hand() -> None:
    corrupt = np.array([1, 1, 0, 1, 0, 0, 0, 0, 0], bool)
    episodes = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    pairs = Demonstrations.from_arrays(np.arange(9.0)[:, None], np.zeros((9, 1)), episodes, corrupt=corrupt)
    suspicion = np.array([0.9, 0.6, 0.5, 0.8, 0.7, 0.7, 0.1, 0.1, 0.1])
    cell = measured(KEY, Detection(suspicion, Estimate(0.4, 0.3, 0.5)), pairs, 1.23456)
    # Of 3 x 6 pairs of corrupt and clean, two are the wrong way round: 0.6 stands below both 0.7.
    assert cell.numbers[PAIR_AUROC] == pytest.approx(16 / 18)
    # Found at the ranks 1, 2 and, behind both 0.7, 5.
    assert cell.numbers[PAIR_AP] == pytest.approx((1 + 1 + 3 / 5) / 3)
    # Only the first episode is corrupt by more than half, and the second, of mean 0.733, stands before its 0.667.
    assert cell.numbers[EPISODE_AUROC] == pytest.approx(0.5)
    assert cell.numbers[EPISODE_AP] == pytest.approx(0.5)
    assert cell.numbers["corrupt_episodes"] == 1
    assert cell.error == pytest.approx(0.4 - 3 / 9)
    assert cell.dropped == "111111000"
    assert cell.seconds == 1.235


def test_what_is_not_defined_is_none() -> None:
    clean = measured(KEY, knowing_audit(_unlabelled(mix(0.0)), 0, "cpu"), mix(0.0), 0)
    names = (PAIR_AUROC, PAIR_AP, EPISODE_AUROC, EPISODE_AP)
    assert [clean.numbers[name] for name in names] == [None] * 4
    assert clean.numbers[ESTIMATED] == clean.numbers[TRUE] == 0
    single = mix(0.3, steps=1)
    alone = measured(KEY, knowing_audit(_unlabelled(single), 0, "cpu"), single, 0)
    assert alone.numbers[PAIR_AUROC] == 1
    assert alone.numbers[EPISODE_AUROC] is None
    assert alone.dropped == "1110000000"
    assert measured(KEY, Detection(np.zeros(120)), mix(0.3), 0).dropped is None


def _unlabelled(pairs: Demonstrations) -> Demonstrations:
    return Demonstrations(pairs.observations, pairs.actions, pairs.episodes)


def test_every_cell_once_and_none_twice(tmp_path: Path, registry: dict[str, Detector]) -> None:
    mixes = FakeMixes()
    cells, said = run(tmp_path, mixes)
    assert said == []
    # Clean data stand once for both ways; two detectors and two seeds.
    assert len(cells.detections) == (1 + 2) * 2 * 2
    assert len(mixes.asked) == len(set(mixes.asked)) == (1 + 2) * 2
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    again, said = run(tmp_path, mixes)
    assert again == cells
    assert said == ["12 of 12 cells are there already."]
    assert len(mixes.asked) == 6
    more, _ = run(tmp_path, mixes, seeds=(0, 1, 2))
    assert mixes.asked[6:] == [
        ("halfcheetah", how, rate, 2) for how, rate in (("clean", 0), ("flip", 0.3), ("uniform", 0.3))
    ]
    assert {key: cell for key, cell in more.detections.items() if key.seed < 2} == cells.detections
    assert {path: path.stat().st_mtime_ns for path in times} == times
    registry["blind"] = with_revision(registry["blind"], 2)
    _, said = run(tmp_path, mixes)
    assert said == [
        f"6 cells in '{tmp_path}' belong to other settings and are computed anew.",
        "6 of 12 cells are there already.",
    ]


def test_other_mixes_are_other_cells() -> None:
    mark = {"teachers": "fake"}
    one = plan().detection_fingerprint(KEY, mark)
    assert one == plan(seeds=(0,), rates=(0.3,), train=(0.3,)).detection_fingerprint(KEY, mark)
    for changes in ({"pairs": 60}, {"episodes": 3}):
        assert plan(**changes).detection_fingerprint(KEY, mark) != one
    assert plan().detection_fingerprint(KEY, {"teachers": "others"}) != one


def test_an_interruption_costs_the_cell_in_work_only(tmp_path: Path, registry: dict[str, Detector]) -> None:
    count = 0

    def interrupted(pairs: Demonstrations, seed: int, device: str) -> Detection:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return knowing_audit(pairs, seed, device)

    registry[AUDIT] = Detector(interrupted, "is stopped")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(kept) == 4  # two audits, two of the blind
    cells, said = run(tmp_path)
    assert said == ["4 of 12 cells are there already."]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    expected, _ = run(tmp_path / "whole")
    assert {k: c.numbers for k, c in cells.detections.items()} == {k: c.numbers for k, c in expected.detections.items()}


def test_a_failure_is_kept_with_its_sentence(tmp_path: Path, registry: dict[str, Detector]) -> None:
    def fails(pairs: Demonstrations, seed: int, device: str) -> Detection:
        if seed == 1:
            raise RobustBCError("it diverged.")
        return knowing_audit(pairs, seed, device)

    registry[AUDIT] = Detector(fails, "fails on one seed")
    cells, _ = run(tmp_path, hows=("flip",), train=(0.3,))
    failed = {key for key, cell in cells.detections.items() if cell.failure}
    assert failed == {key for key in cells.detections if key.method == AUDIT and key.seed == 1}
    sentence = cells.trainings[Key("halfcheetah", "flip", 0.3, "mlp-filtered", 1)].failure
    assert sentence == "there is no audit to filter by: it diverged."
    assert cells.trainings[Key("halfcheetah", "flip", 0.3, "mlp-filtered", 0)].failure is None
    assert run(tmp_path, hows=("flip",), train=(0.3,))[0] == cells


def test_filter_then_train(tmp_path: Path) -> None:
    cells, _ = run(tmp_path, hows=("flip",), train=(0.3,))
    assert {(key.method, key.seed) for key in cells.trainings} == {
        (who, seed) for who in ("mlp-filtered", "mlp", "oracle") for seed in (0, 1)
    }
    for seed in (0, 1):
        filtered, everything, oracle = (
            cells.trainings[Key("halfcheetah", "flip", 0.3, who, seed)] for who in ("mlp-filtered", "mlp", "oracle")
        )
        # An audit that errs nowhere leaves just the pairs of the oracle, and the same seed gives the same policy.
        assert filtered.episodes == oracle.episodes
        assert everything.mean("return") < oracle.mean("return")
        assert len(filtered.episodes["return"]) == 2
    again, said = run(tmp_path, hows=("flip",), train=(0.3,))
    assert again == cells
    assert said == ["14 of 14 cells are there already."]


def test_an_audit_that_suspects_everything_leaves_nothing_to_train_on(
    tmp_path: Path, registry: dict[str, Detector]
) -> None:
    registry[AUDIT] = Detector(lambda pairs, *_: Detection(np.ones(len(pairs)), Estimate(1, 1, 1)), "suspects all")
    cells, _ = run(tmp_path, hows=("flip",), train=(0.3,))
    failed = [cell.failure for key, cell in cells.trainings.items() if key.method == "mlp-filtered"]
    assert failed == ["the audit leaves 0 of 120 pairs, too few to train on."] * 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tasks": ()}, "tasks is empty"),
        ({"rates": (1.0,)}, "at least 0 and below 1, but it is 1.0"),
        ({"detectors": ("nobody",)}, "there is no detector 'nobody'"),
        ({"pairs": 1}, "pairs must be at least 2, but it is 1"),
        ({"episodes": 0}, "episodes must be at least 1, but it is 0"),
        ({"rollouts": 0}, "rollouts must be at least 1"),
        ({"train": (0.2,)}, "trained at rate 0.2, which is not among the rates"),
        ({"train": (0.3,), "detectors": ("blind",)}, "name it among the detectors"),
        ({"seeds": (-1,)}, "seed must be a whole number of at least 0"),
    ],
)
def test_bad_plans(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        plan(**changes)
