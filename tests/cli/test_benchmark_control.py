"""`robust-bc benchmark mujoco` and `robust-bc benchmark driving`, as a person runs them."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from robust_bc.cli.arguments import parse
from robust_bc.report import Replay
from robust_bc_benchmarks.commands.control import ControlRequest, execute
from robust_bc_benchmarks.commands.control_source import TeacherSource
from robust_bc_benchmarks.commands.driving import DrivingArguments
from robust_bc_benchmarks.commands.driving import request as driving_request
from robust_bc_benchmarks.commands.mujoco import MujocoArguments
from robust_bc_benchmarks.commands.mujoco import request as mujoco_request
from robust_bc_benchmarks.control.rows import Results
from robust_bc_benchmarks.control.running import run_control
from tests.cli.interrupting import interrupted
from tests.cli.test_cli import robust_bc
from tests.robust_bc_benchmarks.control.small import TINY

FILES = {"command.txt", "benchmark.json", "cells.csv", "table.csv", "table.md", "report.html", "cells", "policies"}


def asked(words: str) -> ControlRequest:
    """The request of a command line, with fits that take a moment."""
    which, *args = words.split()
    if which == "mujoco":
        request = mujoco_request(parse(MujocoArguments, "robust-bc benchmark mujoco", args), f"robust-bc {words}")
    else:
        request = driving_request(parse(DrivingArguments, "robust-bc benchmark driving", args), f"robust-bc {words}")
    plan = dataclasses.replace(request.plan, method_settings=dict.fromkeys(("choicenet", "mdn", "mlp"), TINY))
    return dataclasses.replace(request, plan=plan)


def test_mujoco(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = f"mujoco --tasks halfcheetah --hows rollout,flip --rates 0,0.3 --seeds 1 --episodes 1 --out {out}"
    execute(asked(words))
    printed = capsys.readouterr().out
    for text in (
        "halfcheetah, rollout: return, mean",
        "paper's ChoiceNet",
        "oracle",
        "expert",
        str(out / "report.html"),
    ):
        assert text in printed, text
    assert {path.name for path in out.iterdir()} == FILES
    assert (out / "command.txt").read_text() == f"robust-bc {words}\n"
    content = json.loads((out / "benchmark.json").read_text())
    assert content["machine"]["processor"]
    assert content["versions"]["torch"]
    methods = {(row["how"], row["rate"], row["method"]) for row in content["rows"] if row["metric"] == "return"}
    assert len(methods) == 2 * 2 * 5
    assert any(row["metric"] == "share_of_oracle" for row in content["rows"])
    # The expert, at rate 0 three methods, at 30 % two ways with three methods, and the oracle.
    cells = list(csv.DictReader((out / "cells.csv").read_text().splitlines()))
    assert len(cells) == 1 + 3 + 2 * 3 + 1
    page = (out / "report.html").read_text()
    assert "<html" in page
    assert "Gaussian noise of 0.3 (halfcheetah) of half the action space" in page
    tables = (out / "table.md").read_text()
    assert tables.startswith(f"`robust-bc {words}`")
    before = {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}
    execute(asked(f"{words} --json"))
    assert json.loads(capsys.readouterr().out)["rows"] == content["rows"]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "table.md").read_text().partition("\n")[2] == tables.partition("\n")[2]


def test_driving_and_its_transfer_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = f"driving --rates 0.3 --methods choicenet,mlp --seeds 2 --episodes 4 --pairs 100 --out {out}"
    execute(asked(words))
    printed = capsys.readouterr().out
    assert "lane-driving, rollout: episodes with a collision, mean, and the worst of 2 seeds" in printed
    assert "RMS deviation" in printed
    assert "of 8" in (out / "table.md").read_text()
    assert {path.name for path in out.iterdir()} == FILES
    before = {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}
    execute(asked(f"{words} --road curved"))
    assert {path: path.stat().st_mtime_ns for path in before} == before
    curved = list((out / "cells" / "curved").rglob("*.json"))
    assert len(curved) == len(before) == 1 + 2 * 2 + 2
    straight, other = (
        json.loads((out / "cells" / variant / "lane-driving/rollout/0.3/mlp/0.json").read_text())["cell"]
        for variant in ("", "curved")
    )
    assert straight["history"] == other["history"]  # the same fit
    assert straight["episodes"] != other["episodes"]  # on another road
    assert "curved" in (out / "report.html").read_text()


def test_replays_are_the_episodes_that_were_measured(tmp_path: Path) -> None:
    request = asked(f"driving --rates 0.2 --methods mlp --seeds 1 --episodes 30 --pairs 100 --out {tmp_path}")
    execute(request)
    results = Results(request.plan, run_control(request.plan, TeacherSource(100), tmp_path), {})
    (replay,) = request.extra(results)["rollout"]
    assert isinstance(replay, Replay)
    assert {episode.policy for episode in replay.episodes} == {"mlp", "oracle", "expert"}
    chosen = {episode.episode for episode in replay.episodes}
    assert {"0", "1", "2"} <= chosen
    for episode in replay.episodes:
        cell = results.cell("lane-driving", "rollout", 0.2, episode.policy, 0)
        assert cell is not None
        number = int(episode.episode)
        assert len(episode.poses) == (cell.episodes["length"][number] or 0) + 1
        assert (episode.outcome == "collision") == (cell.episodes["collision"][number] == 1)
        assert max(pose[0] for pose in episode.poses) == pytest.approx(cell.episodes["progress_m"][number], abs=1)
    anyone = [cell.values("collision") > 0 for cell in results.cells.values() if cell.key.rate == 0.2]
    (collisions,) = np.nonzero(np.any(anyone, axis=0))
    assert not len(collisions) or str(collisions[0]) in chosen


def test_a_policy_of_another_seed_is_not_replayed(tmp_path: Path) -> None:
    words = f"driving --rates 0.2 --methods mlp --episodes 3 --pairs 100 --out {tmp_path}"
    execute(asked(f"{words} --seeds 2"))
    later = asked(f"{words} --seed 1 --seeds 1")  # its cells are there, its policies are not
    results = Results(later.plan, run_control(later.plan, TeacherSource(100), tmp_path), {})
    (replay,) = later.extra(results)["rollout"]
    assert isinstance(replay, Replay)
    assert {episode.policy for episode in replay.episodes} == {"expert"}
    for model in (tmp_path / "policies").rglob("model.safetensors"):
        model.write_bytes(b"")
    execute(asked(f"{words} --seeds 2"))  # a damaged policy costs its replay and no table


def test_only_the_papers_setting_is_compared_with_it() -> None:
    compared = {
        words: any(shown.paper for shown in asked(words).shown)
        for words in ("mujoco", "mujoco --pairs 501", "driving", "driving --road curved")
    }
    assert list(compared.values()) == [True, False, True, False]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = "benchmark mujoco --tasks halfcheetah --hows flip --rates 0 --seeds 1 --episodes 1 --out out"
    told = interrupted(words, tmp_path, "out/cells/halfcheetah/clean/0/expert/0.json")
    assert "stopped; finished cells are kept in 'out', and the same command goes on from there." in told


def test_quick_gives_way_to_what_is_said() -> None:
    plan = asked("mujoco --quick").plan
    assert (plan.rates, plan.seeds, plan.episodes) == ((0.0, 0.3), (0, 1), 10)
    assert asked("mujoco --quick").out == Path("runs/benchmark-mujoco-quick")  # or it would replace cells of a full run
    plan = asked("mujoco --quick --rates 0.1 --seeds 3 --seed 5 --episodes 7").plan
    assert (plan.rates, plan.seeds, plan.episodes) == ((0.1,), (5, 6, 7), 7)
    plan = asked("driving").plan
    assert (plan.rates, len(plan.seeds), plan.episodes, plan.hows) == ((0, 0.1, 0.2, 0.3, 0.4), 10, 1000, ("rollout",))
    assert asked("driving --quick").plan.episodes == 100
    assert asked("mujoco").plan.episodes == 100


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("mujoco --tasks cheetah", "there is no task 'cheetah' in this benchmark; it has halfcheetah, walker2d."),
        ("mujoco --hows flop", "there is no way to corrupt 'flop' in this benchmark; it has rollout, relabel,"),
        ("mujoco --methods mpl", "there is no method 'mpl' (did you mean 'mlp'?)"),
        ("mujoco --rates 0.1,1.2", "a rate must be at least 0 and below 1, but it is 1.2."),
        ("mujoco --rates 1", "a rate must be at least 0 and below 1, but it is 1.0."),
        ("mujoco --rates many", "'many' is not a comma-separated list of numbers"),
        ("mujoco --seeds 0", "--seeds must be at least 1, but it is 0."),
        ("mujoco --seed -1", "seed must be a whole number of at least 0, but it is -1."),
        ("mujoco --episodes 0", "episodes must be at least 1, but it is 0."),
        ("mujoco --hidden 0", "setting 'hidden' must be widths of at least 1, but it is (0,)."),
        ("mujoco --tasks ,", "tasks is empty; name at least one."),
        ("driving --pairs 1", "leaves the oracle fewer than 2 of 1 pairs."),
        ("driving --road bent", "bent"),
    ],
)
def test_bad_arguments_get_one_sentence(tmp_path: Path, words: str, sentence: str) -> None:
    done = robust_bc("benchmark", *words.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())
