"""The command line as a person meets it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError, fit, load_policy
from robust_bc.cli.main import main
from robust_bc.policies.cleaning import Cleaning
from robust_bc_demos.commands import show
from tests.conftest import make_dataset, make_pairs

FAST = ("--steps", "60", "--batch-size", "32", "--hidden", "16", "--device", "cpu")


def robust_bc(*arguments: str | Path, cwd: Path, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, where torch is loaded already.

    `limit` bounds the size of any file it writes, as a full disk does: that takes a process of its own.
    """
    words = list(map(str, arguments))
    if limit:
        start = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        call = [sys.executable, "-c", f"{start}from robust_bc.cli.main import main; main()", *words]
        return subprocess.run(
            call, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=300
        )
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    code = 0
    with contextlib.chdir(cwd), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    said = [stream.buffer.getvalue().decode() for stream in (output, errors)]
    return subprocess.CompletedProcess(words, code, *said)


def test_help_version_and_methods(tmp_path: Path) -> None:
    assert "robust-bc COMMAND --help" in robust_bc("--help", cwd=tmp_path).stdout
    assert robust_bc("--version", cwd=tmp_path).stdout.startswith("robust-bc ")
    assert "benchmark synthetic" in robust_bc("benchmark", cwd=tmp_path).stdout
    listed = robust_bc("methods", cwd=tmp_path)
    assert [line.split()[0] for line in listed.stdout.splitlines()[:3]] == ["auto", "mlp", "mdn"]
    described = json.loads(robust_bc("methods", "--json", cwd=tmp_path).stdout)
    assert described["methods"][3]["settings"]["mixtures"] == 2
    assert described["methods"][3]["settings"]["steps"] is None


def test_help_of_train_shows_the_settings_of_the_method(tmp_path: Path) -> None:
    auto, choicenet, mlp = (
        robust_bc("train", *named, "--help", cwd=tmp_path).stdout
        for named in ((), ("--method", "choicenet"), ("--method", "mlp"))
    )
    assert "--steps" not in auto
    for told in (auto, mlp):  # what is cleaned unless told otherwise
        assert f"(default: {told is auto})" in told.split("--clean")[1].split("--device")[0]
    assert re.sub(r"[│\s]+", " ", mlp).count("(default: by the number of pairs)") == 3
    assert "--tau-inverse" in choicenet
    assert "--tau-inverse" not in mlp
    assert "--dataset" in mlp
    assert "--steps" in mlp


def test_train_writes_a_run_that_loads(dataset: str, tmp_path: Path) -> None:
    done = robust_bc(
        "train", "--dataset", dataset, "--method", "mlp", "--out", "run", "--members", "2", *FAST, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    # A clean console: no warnings of libraries, no progress without a terminal, only what it will take.
    assert done.stderr == "60 steps of 32, a few seconds\n"
    assert "policy: run/policy" in done.stdout
    assert load_policy(tmp_path / "run").members == 2
    told = robust_bc(
        "train", "--dataset", dataset, "--method", "choicenet", "--out", "two", "--json", *FAST, cwd=tmp_path
    )
    content = json.loads(told.stdout)
    assert content["pairs"] == content["learned_from"] == 200
    assert "fitted mlp to 200 pairs" in done.stdout


def test_train_tells_how_many_pairs_were_left_out(dataset: str, tmp_path: Path) -> None:
    good = Demonstrations.from_minari(dataset)
    mixed = make_dataset(
        replace(good, actions=np.where(good.episodes[:, None] < 3, -good.actions, good.actions)), "test/mixed-v0"
    )
    given = ["train", "--dataset", mixed, "--method", "mlp", "--clean", *FAST]
    done = robust_bc(*given, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sentence = "The audit left out 3 of 10 episodes (0, 1, 2), because of disagreement with the majority."
    assert sentence in done.stdout
    assert "fitted mlp to 140 of 200 pairs" in done.stdout
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["clean"] is True
    assert about["learned_from"] == about["cleaning"]["kept"] == 140
    assert about["cleaning"]["reason"] == sentence
    assert sentence in robust_bc("show", "run", cwd=tmp_path).stdout
    other = robust_bc(*given[: -len(FAST) - 1], *FAST, "--out", "run", "--resume", cwd=tmp_path)
    assert other.returncode == 2
    assert "was started with another choice of clean" in other.stderr


def test_train_chooses_and_says_so(dataset: str, tmp_path: Path) -> None:
    done = robust_bc("train", "--dataset", dataset, "--out", "run", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "auto: nothing is left out: the audit found no bad episode.",
        "auto: gpr, for 200 pairs of whole episodes are few enough for a Gaussian process.",
        "fitted gpr to 200 pairs",
        "policy: run/policy",
    ]
    assert "auto: gpr, for 200 pairs" in robust_bc("show", "run", cwd=tmp_path).stdout
    given = ["train", "--dataset", dataset, "--out", "other", "--no-clean", "--json", "--device", "cpu"]
    told = json.loads(robust_bc(*given, cwd=tmp_path).stdout)
    assert (told["cleaning"], told["choice"]["audited"]) == (None, "no audit was asked for.")


def test_train_tells_why_nothing_was_left_out(dataset: str, tmp_path: Path) -> None:
    given = ["train", "--dataset", dataset, "--method", "mlp", "--clean", "--out", "run", "--json", *FAST]
    told = json.loads(robust_bc(*given, cwd=tmp_path).stdout)
    assert told["cleaning"]["reason"] == "Nothing is left out: the audit found no bad episode."
    assert told["cleaning"]["kept"] == told["learned_from"] == told["pairs"] == 200


def test_show_tells_what_a_policy_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = fit(make_pairs(0), "gpr", device="cpu")
    policy.cleaning = Cleaning(220, 200, 11, (6,), 0.1, "bad", "The audit left out 1 of 11 episodes.")
    policy.save(tmp_path / "run" / "policy")
    for folder in ("run", "run/policy"):
        show.run([str(tmp_path / folder)])
        said = capsys.readouterr().out
        assert said.startswith("gpr: Gaussian-process regression")
        assert "learned from 200 of 220 pairs. The audit left out 1 of 11 episodes." in said
    show.run([str(tmp_path / "run"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["method"], told["cleaning"]["dropped"]) == ("gpr", [6])
    with pytest.raises(RobustBCError, match="is a policy, which has no histogram"):
        show.run([str(tmp_path / "run"), "--plot", "a.png"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["magic"], "there is no command 'magic'; the commands are: audit, methods, train, tasks, "),
        (["benchmark", "magic"], "there is no command 'benchmark magic'"),
        (["train", "--dataset", "DATA", "--out", "run", "--method", "magic"], "there is no method 'magic'"),
        (["train", "--dataset", "none/such-v0", "--out", "run"], "neither a folder nor the id of a local Minari"),
        (
            ["train", "--dataset", "DATA", "--out", "run", "--method", "mlp", "--steps", "0"],
            "setting 'steps' must be at least 1",
        ),
        (["train", "--dataset", "DATA", "--out", "DATAFOLDER"], "has other files in it"),
        (["train", "--dataset", "DATA", "--out", "run", "--device", "cuda"], "device 'cuda' is not available"),
        (["benchmark", "synthetic", "--functions", "sine"], "there is no function 'sine'"),
        (["benchmark", "synthetic", "--methods", "magic"], "there is no method 'magic'"),
        (["benchmark", "synthetic", "--rates", "1.5"], "a rate must be at least 0 and below 1, but it is 1.5"),
        (["benchmark", "synthetic", "--rates", "a,b"], "is not a comma-separated list of numbers"),
        (["benchmark", "synthetic", "--seeds", "0"], "--seeds must be at least 1"),
        (["benchmark", "synthetic", "--seed", "-1"], "seed must be a whole number of at least 0"),
        (["benchmark", "synthetic", "--rates", "0.9995"], "leaves the oracle fewer than 2 of 1000 pairs"),
        (["benchmark", "synthetic", "--device", "gpu"], "invalid choice 'gpu' for argument '--device'"),
        (["train", "--dataset", "DATA", "--out", "run", "--method", "mlp", "--steps", "many"], "Error parsing --steps"),
        (["train", "--dataset", "DATA", "--out", "run", "--method"], "--method needs a value"),
        (["train", "--dataset", "~no-such-user/x", "--out", "run"], "'~no-such-user/x' is neither a folder nor the id"),
        (["train", "--dataset", "DATA", "--out", "x" * 300], "cannot create the folder"),
        (["train", "--dataset", "DATA", "--out", "run", "--steps", "9"], "settings of a method need --method NAME"),
        (["train"], "Missing from robust-bc train: --dataset --out"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    dataset: str, tmp_path: Path, arguments: list[str], message: str
) -> None:
    given = [{"DATA": dataset, "DATAFOLDER": str(tmp_path / "minari")}.get(word, word) for word in arguments]
    before = sorted(tmp_path.rglob("*"))
    done = robust_bc(*given, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith("robust-bc: ")
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_unknown_options_are_explained(dataset: str, tmp_path: Path) -> None:
    done = robust_bc("train", "--dataset", dataset, "--method", "mlp", "--out", "run", "--stepz", "3", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("robust-bc: Unrecognized options: --stepz")
    assert "--steps" in done.stderr  # what was probably meant
    assert done.stderr.count("\n") == 1


def test_a_dataset_with_nan_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: Demonstrations) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    actions = pairs.actions.copy()
    actions[7, 1] = float("nan")
    broken = object.__new__(Demonstrations)  # past the check, as a file of another program would be
    for name, value in (("observations", pairs.observations), ("actions", actions), ("episodes", pairs.episodes)):
        object.__setattr__(broken, name, value)
    done = robust_bc("train", "--dataset", make_dataset(broken), "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "actions must be finite, but row 7, column 1 is nan" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("limit", [100, 3000, 6000])  # bytes; each meets another file first
def test_a_full_disk_is_said_and_leaves_nothing_half_written(dataset: str, tmp_path: Path, limit: int) -> None:
    options = ("--method", "choicenet", "--steps", "2000", "--batch-size", "8", "--hidden", "2", "--device", "cpu")
    done = robust_bc("train", "--dataset", dataset, "--out", "run", *options, cwd=tmp_path, limit=limit)
    assert done.returncode == 2
    assert re.fullmatch(r"(2,000 steps of 8, .*\n)?robust-bc: cannot write '.*': .*\n", done.stderr)
    assert not [path for path in (tmp_path / "run").rglob("*") if path.name.endswith(".part")]
    again = robust_bc("train", "--dataset", dataset, "--out", "run", "--resume", *options, cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_paths_with_brackets_are_shown_as_they_are(dataset: str, tmp_path: Path) -> None:
    done = robust_bc("train", "--dataset", dataset, "--out", "run[fast]", "--method", "mlp", *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "policy: run[fast]/policy" in done.stdout


@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_killed_and_resumed_gives_the_same_bits(dataset: str, tmp_path: Path, how: signal.Signals, code: int) -> None:
    options = (
        "--method",
        "choicenet",
        "--steps",
        "3000",
        "--hidden",
        "16",
        "--batch-size",
        "128",
        "--device",
        "cpu",
        "--checkpoint-seconds",
        "0.1",
    )
    command = ("train", "--dataset", dataset, *options)
    assert robust_bc(*command, "--out", "whole", cwd=tmp_path).returncode == 0
    running = subprocess.Popen(
        [sys.executable, "-m", "robust_bc.cli.main", *command, "--out", "killed"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    checkpoint = tmp_path / "killed" / "checkpoints" / "latest.safetensors"
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)  # somewhere between two checkpoints
    running.send_signal(how)
    _, said = running.communicate(timeout=60)
    assert running.returncode == code
    if how != signal.SIGKILL:
        assert "go on with the same command and --resume" in said
    assert not (tmp_path / "killed" / "policy").exists()
    assert robust_bc(*command, "--out", "killed", "--resume", cwd=tmp_path).returncode == 0
    for name in ("policy/model.safetensors", "history.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()
