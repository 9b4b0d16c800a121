"""The benchmarks of policies, as a person runs them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.commands import control, regression
from robust_bc_benchmarks.commands.running import Request, complete, running
from robust_bc_benchmarks.suites.control import ControlSuite
from robust_bc_benchmarks.suites.mixes import Mixes
from tests.cli.interrupting import interrupted
from tests.cli.test_cli import robust_bc
from tests.robust_bc_benchmarks.small import TINY

FILES = {"command.txt", "results.csv", "results.json", "table.md", "report.html", "cells"}
SMALL = "hidden=8x8,steps=30,batch_size=16"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control benchmarks with fits and episodes that take a moment."""
    for name in ("mujoco", "driving"):
        whole: Callable[..., Request] = getattr(control, name)

        def cut(given: Any, command: str, whole: Callable[..., Request] = whole) -> Request:
            request = whole(given, command)
            suite = request.suite
            assert isinstance(suite, ControlSuite)
            plan = dataclasses.replace(suite.plan, common=TINY)
            mixes = Mixes(50, episodes=3) if suite.mixes.pairs else Mixes(None, episodes=4, steps=40)
            quick = dataclasses.replace(suite, plan=plan, episodes=3, mixes=mixes)
            return dataclasses.replace(request, suite=quick)

        monkeypatch.setattr(control, name, cut)


def test_walkers(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = f"--tasks halfcheetah --kinds rollout,flip --rates 0,0.3 --seeds 2 --out {out}".split()
    control.run_mujoco(words)
    printed = capsys.readouterr().out
    for text in ("halfcheetah, rollout: return, mean", "paper: ChoiceNet", "expert", str(out / "report.html")):
        assert text in printed, text
    assert {path.name for path in out.iterdir()} == {*FILES, "policies"}
    about = json.loads((out / "results.json").read_text())
    assert about["command"] == f"robust-bc benchmark mujoco {' '.join(words)}"
    assert about["machine"]["processor"]
    table = pandas.read_csv(out / "results.csv")
    # The expert, at rate 0 three methods and the oracle of auto, at 30 % two kinds with three methods, and oracles.
    assert len(table.drop_duplicates(["kind", "rate", "method", "seed"])) == 1 + 2 * (3 + 1 + 2 * 3 + 3)
    assert "Gaussian noise of 0.3 (halfcheetah) of half the action space" in (out / "report.html").read_text()
    tables = (out / "table.md").read_text()
    assert "| choicenet |" in tables
    before = {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}
    control.run_mujoco([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert len(told["results"]) == len(table)
    assert {row["metric"] for row in told["rows"]} >= {"return", "share_of_oracle"}
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_driving_its_replay_and_its_transfer_test(small: None, tmp_path: Path) -> None:
    words = f"--rates 0.3 --methods mlp --seeds 1 --out {tmp_path}".split()
    control.run_driving(words)
    page = (tmp_path / "report.html").read_text()
    assert 'class="wide replay"' in page
    for model in (tmp_path / "policies").rglob("model.safetensors"):
        model.write_bytes(b"")
    control.run_driving(words)  # a damaged policy costs its replay and no table
    straight = pandas.read_csv(tmp_path / "results.csv")
    control.run_driving([*words, "--road", "curved"])
    curved = pandas.read_csv(tmp_path / "results.csv")
    assert (tmp_path / "cells").exists()
    assert (tmp_path / "cells-curved").exists()
    assert len(curved) == len(straight)
    assert not curved.value.equals(straight.value)
    assert {path.name for path in tmp_path.glob("policies*")} == {"policies", "policies-curved"}


def test_whole_episodes_tell_who_reaches_the_bar(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--pairs all --tasks pendulum --kinds noisy,graded --rates 0,0.3 --methods mlp,mdn@steps=20 --seeds 2"
    control.run_mujoco([*words.split(), "--out", str(tmp_path)])
    printed, page = capsys.readouterr().out, (tmp_path / "table.md").read_text()
    for text in ("Who reaches the bar", "oracle of mdn@steps=20", "graded", "expert"):
        assert text in printed, text
        assert text in page, text
    assert "whole episodes, 10 of each teacher (15 of pendulum), at most 300 steps of each" in page
    table = pandas.read_csv(tmp_path / "results.csv")
    assert set(table[table.kind == "graded"].method) == {"mlp", "mdn@steps=20", "mlp+oracle", "mdn@steps=20+oracle"}


def test_driving_in_whole_episodes(small: None, tmp_path: Path) -> None:
    words = f"--pairs all --rates 0.3 --methods mlp --seeds 1 --out {tmp_path}"
    control.run_driving(words.split())
    assert "share of the oracle's return" in (tmp_path / "table.md").read_text()
    assert "Who reaches the bar" in (tmp_path / "report.html").read_text()


def test_all_tasks_and_more_episodes() -> None:
    suites = [
        control.mujoco(control.MujocoArguments(tasks=("all",), pairs=None, kinds=("graded",)), "x").suite,
        control.driving(control.DrivingArguments(pairs=None, good_episodes=7), "x").suite,
    ]
    assert len(suites[0].plan.tasks) == 7
    assert isinstance(suites[1], ControlSuite)
    assert suites[1].mixes == Mixes(None, 7, steps=300)


def test_only_the_papers_setting_is_compared_with_it() -> None:
    compared = [
        control.mujoco(control.MujocoArguments(), "x").paper,
        control.mujoco(control.MujocoArguments(pairs=501), "x").paper,
        control.driving(control.DrivingArguments(), "x").paper,
        control.driving(control.DrivingArguments(road="curved"), "x").paper,
    ]
    assert compared == [True, False, True, False]
    assert not control.driving(control.DrivingArguments(pairs=None), "x").paper


def test_functions_prices_and_ablation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = f"--seeds 2 --device cpu --common {SMALL}"
    regression.run_synthetic(f"--functions cosexp --rates 0,0.4 {shared} --out {tmp_path}/s".split())
    assert {path.name for path in (tmp_path / "s").iterdir()} == FILES
    assert "paper: RGPR" in capsys.readouterr().out
    pytest.importorskip("mlxtend")
    regression.run_housing(f"--rates 0.4 --methods mlp,gpr {shared} --out {tmp_path}/h".split())
    assert "6.800" in capsys.readouterr().out
    methods = "choicenet,choicenet@mixtures=2"
    regression.run_ablation(f"--tasks teacher --rates 0.4 --methods {methods} {shared} --out {tmp_path}/a".split())
    assert "less that of choicenet" in (tmp_path / "a" / "table.md").read_text()


def test_page_by_page_the_same_results(small: None, tmp_path: Path) -> None:
    given = control.DrivingArguments(rates=(0.3,), methods=("mlp",), seeds=2, out=tmp_path)
    one, other = (complete(control.driving(given, "x")) for _ in range(2))
    pandas.testing.assert_frame_equal(one.summary, other.summary)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("housing --methods magic", "there is no method 'magic'"),
        ("housing --rates 1.5", "a rate must be at least 0 and below 1, but it is 1.5"),
        ("housing --rates ,", "--rates is empty"),
        ("housing --seeds 0", "--seeds must be at least 1"),
        ("housing --jobs 0", "--jobs must be at least 1, but it is 0."),
        ("synthetic --functions ,", "no function is named; there are cosexp, linear, step."),
        ("mujoco --kinds duplicated", "single pairs cannot show the kind 'duplicated'"),
        ("housing --seed -1", "seed must be a whole number of at least 0"),
        ("synthetic --functions sine", "there is no function 'sine' in this benchmark; it has cosexp, linear, step."),
        ("mujoco --tasks cheetah", "there is no task 'cheetah' in this benchmark"),
        ("mujoco --pairs some", "--pairs must be a whole number or 'all', but it is 'some'."),
        ("mujoco --pairs all --good-episodes 0", "--good-episodes must be at least 1, but it is 0."),
        ("mujoco --kinds flop", "there is no kind of corruption 'flop' in this benchmark"),
        ("mujoco --device abacus", "abacus"),
        ("ablation --tasks boston", "there is no task 'boston' in this benchmark"),
    ],
)
def test_bad_arguments_get_one_sentence(tmp_path: Path, words: str, sentence: str) -> None:
    name, *rest = words.split()
    run = {"mujoco": control.run_mujoco}.get(name) or getattr(regression, f"run_{name}")
    with pytest.raises(RobustBCError) as problem:
        run([*rest, "--out", str(tmp_path / "out")])
    assert sentence in str(problem.value)
    assert not (tmp_path / "out").exists()


def test_without_mlxtend_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mlxtend'] = None; from robust_bc.cli.main import main; main()"
    call = [sys.executable, "-c", code, "benchmark", "housing", "--quick"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert 'pip install "robust-bc[benchmark]"' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_tells_its_command_while_the_work_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with running("work", "robust-bc benchmark work", out) as bar:
        bar(0.5, "half")
        assert (out / "command.txt").read_text() == "robust-bc benchmark work\n"


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = "benchmark synthetic --functions cosexp --rates 0,0.2,0.4 --methods gpr,mlp --seeds 8 --out out"
    words += " --common hidden=64x64,batch_size=128,steps=2000"
    told = interrupted(words, tmp_path, "out/cells/cosexp/clean/0/gpr/0.json")
    assert "stopped; finished cells are kept in 'out', and the same command goes on from there." in told


def test_they_are_in_the_help(tmp_path: Path) -> None:
    said = robust_bc("benchmark", cwd=tmp_path).stdout
    for name in ("synthetic", "mujoco", "driving", "housing", "audit", "ablation"):
        assert f"benchmark {name}" in said
