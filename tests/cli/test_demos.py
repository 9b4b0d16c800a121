"""Collecting, mixing and looking, as a person does it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from robust_bc import Demonstrations
from tests.cli.test_cli import robust_bc


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path


def test_the_walkthrough(tmp_path: Path) -> None:
    steps = (
        "collect --task halfcheetah --teacher expert --episodes 2 --dataset mine/expert-v0",
        "mix --task halfcheetah --rate 0.3 --kind relabel --pairs 200 --episodes 1 --dataset mine/mixed-v0",
        "show mine/mixed-v0 --plot actions.png",
        "train --dataset mine/mixed-v0 --out run --method choicenet --steps 40",
        "collect --task halfcheetah --teacher run/policy --episodes 1 --dataset mine/mine-v0",
        "datasets",
    )
    outputs = []
    for step in steps:
        done = robust_bc(*step.split(), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr == "" or step.startswith("train"), done.stderr  # a clean console
        outputs.append(done.stdout)
    assert "2000 pairs of expert: return 5" in outputs[0]
    assert "60 of them corrupt by relabel" in outputs[1]
    assert "corrupt pairs: 60 (30.0%); which ones is hidden from learners" in outputs[2]
    assert outputs[2].count("action ") == 6
    assert "mine/mixed-v0" in outputs[5]
    # No stray file of MuJoCo, Minari or ours.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["actions.png", "minari", "run"]


def test_lists_are_told_in_json(tmp_path: Path) -> None:
    tasks = json.loads(robust_bc("tasks", "--json", cwd=tmp_path).stdout)["tasks"]
    assert [task["name"] for task in tasks] == [
        *("halfcheetah", "hopper", "walker2d", "reacher", "pendulum", "double-pendulum", "lunar-lander", "lane-driving")
    ]
    assert all(task["teachers"][:3] == ["expert", "adversary", "medium"] for task in tasks)
    assert tasks[-1]["teachers"][3:] == ["safe", "careless", "random"]
    teachers = json.loads(robust_bc("teachers", "--json", cwd=tmp_path).stdout)["teachers"]
    measured = {teacher["name"]: teacher["measured"] for teacher in teachers}
    assert measured["halfcheetah-expert"]["return"]["mean"] > 5000
    assert measured["safe"]["collision"]["mean"] == 0
    assert "there are no datasets yet" in robust_bc("datasets", cwd=tmp_path).stdout
    text = (
        robust_bc("tasks", cwd=tmp_path).stdout + robust_bc("teachers", "--task", "lane-driving", cwd=tmp_path).stdout
    )
    assert "reversed" not in text
    assert "collision 0.0%" in text


def test_teachers_can_be_measured_anew(tmp_path: Path) -> None:
    words = ("teachers", "--task", "lane-driving", "--measure", "--episodes", "20", "--json")
    rows = json.loads(robust_bc(*words, cwd=tmp_path).stdout)["teachers"]
    assert {row["measured"]["episodes"] for row in rows} == {20}
    assert {row["name"]: row["measured"]["collision"]["mean"] for row in rows if row["role"] in ("expert", "safe")} == {
        "lane-driving-expert": 0.0,
        "safe": 0.0,
    }


def test_a_task_of_ones_own_from_teaching_to_mixing(tmp_path: Path) -> None:
    words = "--task MountainCarContinuous-v0 --steps 100 --episodes 2"
    for role in ("expert", "adversary"):
        done = robust_bc("teach", *words.split(), "--role", role, "--out", role, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["role"] == role
    mixed = (
        "mix --task MountainCarContinuous-v0 --good expert --bad adversary --rate 0.5 --pairs 50 --dataset mine/p-v0"
    )
    assert "has no policy 'expert'" not in robust_bc(*mixed.split(), cwd=tmp_path).stderr  # a folder of that name
    content = json.loads(robust_bc(*mixed.split(), "--overwrite", "--json", cwd=tmp_path).stdout)
    assert (content["pairs"], content["corrupt"], content["rate"]) == (50, 25, 0.5)


def test_settings_of_the_environment(tmp_path: Path) -> None:
    command = "collect --task lane-driving --teacher safe --episodes 2 --dataset mine/x-v0 --env"
    words = command.split()
    told = json.loads(robust_bc(*words, "length=60,shape=curved,cars=0", "--json", cwd=tmp_path).stdout)
    assert told["length_mean"] < 140
    for wrong, sentence in (
        ("wind=3", "lane driving has no setting 'wind'; its settings are lanes, lane_width"),
        ("shape=round", "there is no road shape 'round'; the shapes are straight, curved"),
        ("cars", "is not a setting; write NAME=VALUE"),
    ):
        done = robust_bc(*words, wrong, "--overwrite", cwd=tmp_path)
        assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "collect --task CartPole-v1 --teacher random --dataset mine/x-v0",
            "has the action space Discrete(2), but a Box",
        ),
        ("collect --task Nonsense-v0 --dataset mine/x-v0", "there is no task 'Nonsense-v0'; the cards are halfcheetah"),
        ("collect --task halfcheetah --dataset x", "'x' is not the id of a dataset"),
        ("mix --task halfcheetah --pairs many --dataset mine/x-v0", "--pairs must be a whole number or 'all'"),
        ("mix --task halfcheetah --rate 1.5 --dataset mine/x-v0", "rate must be between 0 and 1, but it is 1.5"),
        ("mix --task halfcheetah --kind magic --dataset mine/x-v0", "--kind"),
        (
            "mix --task halfcheetah --clean no/such-v0 --dataset mine/x-v0",
            "neither a folder nor the id of a local Minari",
        ),
        ("show no/such-v0", "neither a folder nor the id of a local Minari"),
        ("teach --task halfcheetah --out x --steps -1", "steps must be at least 1"),
        ("teachers --task nowhere", "there is no task 'nowhere'"),
        (
            "teachers --task MountainCarContinuous-v0",
            "no teachers ship for 'MountainCarContinuous-v0'; robust-bc teach trains some",
        ),
        ("teachers --task lane-driving --measure --episodes 0", "episodes must be at least 1, but it is 0"),
        ("collect --task lane-driving --teacher safe --env length=abc --dataset mine/x-v0", "length must be a number"),
        (
            "collect --task lane-driving --teacher safe --env lanes=200000 --dataset mine/x-v0",
            "at most 100000 m and 100",
        ),
        ("collect --task halfcheetah --env frame_skip=abc --dataset mine/x-v0", "'HalfCheetah-v5' cannot be made"),
        ("collect --task lane-driving --teacher ~nobody/x --dataset mine/x-v0", "has no policy '~nobody/x'"),
        ("show mine/x-v0 --plot a.foo", "'a.foo' must end in .png, .svg, .pdf"),
        (
            "collect --task MountainCarContinuous-v0 --teacher random --env wind=1 --dataset mine/x-v0",
            "'MountainCarContinuous-v0' cannot be made",
        ),
        ("collect --task lane-driving --teacher safe --seed -1 --dataset mine/x-v0", "seed must be a whole number"),
    ],
)
def test_what_goes_wrong_is_said_in_one_sentence(words: str, sentence: str, tmp_path: Path) -> None:
    done = robust_bc(*words.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_seeds_reach_the_mix(tmp_path: Path) -> None:
    command = "mix --task lane-driving --rate 0.5 --kind flip --pairs 20 --episodes 1"
    words = command.split()
    pairs = []
    for name, seed in (("mine/a-v0", "0"), ("mine/b-v0", "0"), ("mine/c-v0", "1")):
        assert robust_bc(*words, "--dataset", name, "--seed", seed, cwd=tmp_path).returncode == 0
        pairs.append(Demonstrations.from_minari(name).observations)
    assert (pairs[0] == pairs[1]).all()
    assert (pairs[0] != pairs[2]).any()


def test_a_closed_pipe_and_an_old_terminal_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [sys.executable, "-m", "robust_bc.cli.main", "teachers", "--json"]
    for command in (words, words[:-1]):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = subprocess.run(words[:-1], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5900 ? 45" in done.stdout


def test_a_table_in_a_pipe_is_never_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    name = f"mine/{'long-' * 15}name-v0"
    words = f"mix --task lane-driving --rate 0.5 --kind flip --pairs 500 --dataset {name}"
    assert robust_bc(*words.split(), cwd=tmp_path).returncode == 0
    (line,) = (line for line in robust_bc("datasets", cwd=tmp_path).stdout.splitlines() if name in line)
    assert line.split()[-2:] == ["500", "500"]


def test_train_reads_a_dataset_of_whole_episodes(tmp_path: Path) -> None:
    mixed = "mix --task lane-driving --rate 0.2 --kind rollout --pairs all --episodes 3 --dataset mine/all-v0"
    assert robust_bc(*mixed.split(), cwd=tmp_path).returncode == 0
    done = robust_bc(
        "train", "--dataset", "mine/all-v0", "--out", "run", "--method", "mlp", "--steps", "20", "--json", cwd=tmp_path
    )
    assert json.loads(done.stdout)["pairs"] == len(Demonstrations.from_minari("mine/all-v0"))
