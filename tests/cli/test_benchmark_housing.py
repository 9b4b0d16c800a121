"""`robust-bc benchmark housing` and `robust-bc benchmark ablation`, as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.ablation import variants as ablation_variants
from robust_bc_benchmarks.ablation.variants import DEFAULT, Variant
from robust_bc_benchmarks.commands.ablation import run as run_ablation
from robust_bc_benchmarks.commands.housing import run as run_housing
from tests.cli.test_cli import robust_bc
from tests.conftest import QUICK

HOUSING = ("--rates", "0,0.4", "--methods", "mlp,choicenet", "--seeds", "2", "--device", "cpu")


def test_housing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlxtend")
    monkeypatch.setattr("robust_bc_benchmarks.housing.running.SETTINGS", QUICK)
    out = tmp_path / "out"
    run_housing([*HOUSING, "--out", str(out), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((out / "benchmark.json").read_text())
    assert told["command"] == f"robust-bc benchmark housing {' '.join(HOUSING)} --out {out} --json"
    assert {(row["task"], row["rate"], row["method"], row["n"]) for row in told["rows"]} == {
        ("boston", rate, method, 2) for rate in (0.0, 0.4) for method in ("mlp", "choicenet", "oracle")
    }
    assert told["paper"]["ChoiceNet"]["0.4"] == 6.80
    files = {"command.txt", "benchmark.json", "table.csv", "table.md", "errors.png"}
    assert {path.name for path in out.iterdir()} == files
    assert "| paper: L2 | 3.22 | 9.88 |" in (out / "table.md").read_text()
    run_housing([*HOUSING, "--out", str(out)])
    printed = capsys.readouterr().out
    for text in ("choicenet", "oracle", "paper: ChoiceNet", "6.80", str(out / "errors.png")):
        assert text in printed, text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--methods", "magic"], "there is no method 'magic'"),
        (["--rates", "1.5"], "a rate must be at least 0 and below 1, but it is 1.5"),
        (["--rates", ","], "--rates is empty"),
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--seed", "-1"], "seed must be a whole number of at least 0"),
    ],
)
def test_bad_housing_arguments(words: list[str], sentence: str, tmp_path: Path) -> None:
    pytest.importorskip("mlxtend")
    with pytest.raises(RobustBCError, match=sentence):
        run_housing([*words, "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_without_mlxtend_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mlxtend'] = None; from robust_bc.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "benchmark", "housing", "--quick"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert 'pip install "robust-bc[benchmark]"' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ablation(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    few = (Variant(DEFAULT, QUICK), Variant("K = 2", {**QUICK, "mixtures": 2}))
    monkeypatch.setattr(ablation_variants, "VARIANTS", few)
    run_ablation(["--quick", "--device", "cpu", "--out", str(tmp_path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((tmp_path / "benchmark.json").read_text())
    places = {(row["task"], row["how"], row["method"], row["metric"], row["n"]) for row in told["rows"]}
    assert places == {
        (task, how, label, metric, 2)
        for task, how in (("cosexp", "uniform"), ("teacher", "flip"))
        for label in (DEFAULT, "K = 2")
        for metric in ("rmse", "difference")
    }
    figures = {"synthetic-functions.png", "random-teachers.png"}
    files = {"command.txt", "benchmark.json", "table.csv", "table.md"} | figures
    assert {path.name for path in tmp_path.iterdir()} == files
    run_ablation(["--quick", "--device", "cpu", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "K = 2" in printed
    assert str(tmp_path / "random-teachers.png") in printed


def test_both_are_in_the_help(tmp_path: Path) -> None:
    said = robust_bc("benchmark", cwd=tmp_path).stdout
    assert "benchmark housing" in said
    assert "benchmark ablation" in said
