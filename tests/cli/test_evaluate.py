"""`robust-bc evaluate`: what it prints, what it writes, and what it says when something is wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from robust_bc import Evaluation, RobustBCError
from robust_bc_demos.commands.evaluate import run
from tests.robust_bc.evaluation.policies import quick_policy


def evaluated(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    run([*args, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_policies_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick_policy("lane-driving").save(tmp_path / "run" / "policy")
    given = ["--task", "lane-driving", "--policy", f"safe,{tmp_path / 'run'}", "--policy", "careless"]
    run([*given, "--episodes", "12", "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    for word in ("safe", "careless", "share of expert", "collision", "lane_deviation_rms", "failures", "report.html"):
        assert word in printed
    content = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    names = ["safe", str(tmp_path / "run"), "careless"]
    assert [one["policy"] for one in content["evaluations"]] == names
    safe = Evaluation.from_json(content["evaluations"][0])
    assert safe.summary["success"].mean == 1
    assert safe.share is not None
    assert safe.share.mean == pytest.approx(1, abs=0.02)
    with (tmp_path / "out" / "episodes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == [name for name in names for _ in range(12)]
    assert float(rows[0]["return"]) == safe.rows[0]["return"]
    assert "| safe |" in (tmp_path / "out" / "table.md").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Evaluation on lane-driving" in page
    assert "reached the end" in page  # the replay
    assert content["command"].startswith("robust-bc evaluate --task lane-driving")


def test_settings_references_and_films(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film = tmp_path / "film.gif"
    args = ["--task", "lane-driving", "--policy", "safe", "--episodes", "2", "--out", str(tmp_path / "out")]
    short = ["--env", "length=60,cars=1", "--video", str(film), "--video-episode", "1"]
    found = evaluated(capsys, *args, *short, "--expert-return", "50", "--random-return", "-10")
    (one,) = found["evaluations"]
    assert one["settings"] == {"length": 60, "cars": 1}
    assert one["reference"] == {"random": -10, "expert": 50}
    assert 100 < one["summary"]["length"]["mean"] < 140
    assert film.read_bytes().startswith(b"GIF8")
    assert str(film) in found["files"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--policy", "nobody"], "has no policy 'nobody'"),
        ([], "--policy is empty"),
        (["--policy", "safe", "--episodes", "0"], "episodes must be at least 1"),
        (["--policy", "safe", "--seed", "-1"], "seed must be a whole number of at least 0"),
        (["--policy", "safe", "--expert-return", "3"], "belong together"),
        (["--policy", "safe", "--expert-return", "3", "--random-return", "3"], "they must differ"),
        (["--policy", "safe", "--expert-return", "inf", "--random-return", "3"], "--expert-return must be a finite"),
        (["--policy", "safe", "--video", "film.avi"], r"the endings are \.gif and \.mp4"),
        (["--policy", "safe", "--video", "film.gif", "--video-episode", "100"], "the episodes are 0 to 99"),
        (["--policy", "safe", "--env", "wheels=3"], "has no setting 'wheels'"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(args: list[str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        run(["--task", "lane-driving", "--out", str(tmp_path / "out"), *args])
    assert not list(tmp_path.iterdir())


def test_a_policy_that_is_named_twice_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--policy", "safe,safe", "--policy", "safe", "--episodes", "1", "--env", "length=60,cars=1"]
    found = evaluated(capsys, "--task", "lane-driving", *given, "--out", str(tmp_path / "out"))
    assert [one["policy"] for one in found["evaluations"]] == ["safe"]
    assert (tmp_path / "out" / "report.html").exists()


def test_a_policy_of_another_task_is_refused(tmp_path: Path) -> None:
    quick_policy("lane-driving").save(tmp_path / "mine")
    with pytest.raises(RobustBCError, match="takes observations of 4 numbers, but the task has 17"):
        run(["--task", "halfcheetah", "--policy", str(tmp_path / "mine"), "--out", str(tmp_path / "out")])


def test_nothing_is_overwritten_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--task", "lane-driving", "--policy", "safe", "--episodes", "1"]
    for folder in ("evaluation-lane-driving", "evaluation-lane-driving-2"):
        assert f"runs/{folder}/evaluation.json" in evaluated(capsys, *words)["files"]
    chosen = [*words, "--out", "runs/evaluation-lane-driving"]
    with pytest.raises(RobustBCError, match="has results already; take another folder, or --overwrite"):
        run(chosen)
    evaluated(capsys, *chosen, "--overwrite")
