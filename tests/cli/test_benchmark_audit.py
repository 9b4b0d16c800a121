"""`robust-bc benchmark audit`, as a person runs it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from robust_bc import Demonstrations
from robust_bc.auditing.estimates import Estimate
from robust_bc.benchmark import audit_plan, audit_training
from robust_bc.benchmark.detectors import AUDIT, DETECTORS, Detection, Detector
from robust_bc.cli.arguments import parse
from robust_bc.cli.benchmark_audit import AuditBenchmarkArguments, AuditRequest, request, run
from robust_bc.errors import RobustBCError
from tests.cli.interrupting import interrupted
from tests.cli.test_cli import robust_bc
from tests.conftest import QUICK

FILES = {"command.txt", "benchmark.json", "cells.csv", "table.csv", "table.md", "report.html", "audit.png", "cells"}


def asked(words: str = "") -> AuditRequest:
    return request(parse(AuditBenchmarkArguments, "robust-bc benchmark audit", words.split()), "robust-bc")


def steep(pairs: Demonstrations, seed: int, device: str) -> Detection:
    """An audit in a moment: it distrusts the tenth of the pairs that steer the most."""
    size = np.abs(pairs.actions).max(1)
    return Detection(np.where(size > np.quantile(size, 0.9), 0.9, 0.1), Estimate(0.1, 0.05, 0.2))


def test_a_small_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DETECTORS, AUDIT, Detector(steep, "distrusts steep actions"))
    for module in (audit_plan, audit_training):
        monkeypatch.setattr(module, "TRAINING", QUICK)
    out = tmp_path / "out"
    words = "--tasks lane-driving --hows rollout,uniform --rates 0,0.3 --seeds 2 --episodes 5 --train 0.3 --rollouts 2"
    words += f" --detectors audit,knn --device cpu --out {out}"
    run(words.split())
    printed = capsys.readouterr().out
    for text in (
        "lane-driving: AUROC of corrupt pairs, mean, and the worst of 2 seeds",
        "lane-driving: AUROC of corrupt episodes",
        "lane-driving: Estimated against true rate",
        "Filter, then train",
        "uniform 30 %",
        "within 5 points",
        str(out / "report.html"),
    ):
        assert text in printed, text
    assert {path.name for path in out.iterdir()} == FILES
    content = json.loads((out / "benchmark.json").read_text())
    assert content["command"] == f"robust-bc benchmark audit {words}"
    assert (out / "command.txt").read_text() == content["command"] + "\n"
    assert content["versions"]["scikit-learn"]
    assert {(row["how"], row["rate"]) for row in content["rates"]} == {
        ("clean", 0.0),
        ("rollout", 0.3),
        ("uniform", 0.3),
    }
    assert {row["method"] for row in content["rows"] if row["metric"] == "return"} == {"mlp", "mlp-filtered", "oracle"}
    # Clean data and two ways; two detectors and two seeds.
    cells = list(csv.DictReader((out / "cells.csv").read_text().splitlines()))
    assert len(cells) == 3 * 2 * 2
    uniform = [cell for cell in cells if cell["how"] == "uniform"]
    assert all(float(cell["true_rate"]) == pytest.approx(0.3, abs=0.01) for cell in uniform)
    assert {cell["episodes"] for cell in uniform} == {"5.0"}
    assert "distrusts steep actions" in (out / "report.html").read_text()
    before = {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}
    run([*words.split(), "--json"])
    again = json.loads(capsys.readouterr().out)
    assert again["rows"] == content["rows"]
    assert again["headlines"] == content["headlines"]
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")} == before


def test_what_is_not_said() -> None:
    plan = asked().plan
    assert plan.tasks == ("halfcheetah", "walker2d", "lane-driving")
    assert (plan.rates, len(plan.seeds), plan.detectors) == ((0.0, 0.1, 0.3, 0.45), 10, tuple(DETECTORS))
    assert (plan.pairs, plan.episodes, plan.train, plan.rollouts) == (None, None, (), 20)
    assert asked().out == Path("runs/benchmark-audit")
    assert asked("--pairs 500").out == Path("runs/benchmark-audit-500")  # or it would replace cells of whole episodes
    quick = asked("--quick --seeds 3")
    assert (quick.plan.rates, quick.plan.seeds) == ((0.0, 0.3), (0, 1, 2))
    assert quick.out == Path("runs/benchmark-audit-quick")


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = (
        "benchmark audit --tasks lane-driving --hows flip --rates 0 --seeds 50 --episodes 3 --detectors knn --out out"
    )
    told = interrupted(words, tmp_path, "out/cells/detections/lane-driving/clean/0/knn/0.json")
    assert "stopped; finished cells are kept in 'out', and the same command goes on from there." in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--tasks cheetah", "there is no task 'cheetah' in this benchmark; it has halfcheetah, walker2d, lane-driving"),
        ("--hows flop", "there is no way to corrupt 'flop' in this benchmark"),
        ("--detectors eyes", "there is no detector 'eyes'; there are audit, mlp-residual, knn, isolation-forest"),
        ("--rates 0.1,1.2", "a rate must be at least 0 and below 1, but it is 1.2"),
        ("--seeds 0", "--seeds must be at least 1, but it is 0"),
        ("--pairs some", "--pairs must be a whole number or 'all', but it is 'some'"),
        ("--pairs 1", "pairs must be at least 2, but it is 1"),
        ("--episodes 0", "episodes must be at least 1, but it is 0"),
        ("--train 0.2", "trained at rate 0.2, which is not among the rates"),
        ("--train 0.3 --detectors knn", "policies are trained on what 'audit' keeps; name it among the detectors"),
    ],
)
def test_bad_arguments_get_one_sentence(tmp_path: Path, words: str, sentence: str) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        run([*words.split(), "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_it_is_in_the_help(tmp_path: Path) -> None:
    assert "benchmark audit" in robust_bc("benchmark", cwd=tmp_path).stdout
