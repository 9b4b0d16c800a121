"""`robust-bc filter`, as a person uses it after an audit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError
from robust_bc.cli.filter import run
from robust_bc_demos.collecting import collect
from robust_bc_demos.mixed_datasets import MixRequest, mix
from robust_bc_envs.tasks import find_task
from tests.auditing.audits import audit_of
from tests.cli.test_cli import robust_bc

SHORT = {"length": 60, "cars": 1}


@pytest.fixture(autouse=True)
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Demonstrations:
    """Three episodes, of which the second is bad."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    collect("lane-driving", "safe", "our/x-v0", episodes=3, settings=SHORT)
    pairs = Demonstrations.from_minari("our/x-v0")
    audit_of(pairs, pairs.episodes == 1, "our/x-v0").save(tmp_path / "audit")
    return pairs


def words(tmp_path: Path, *more: str) -> list[str]:
    return ["--dataset", "our/x-v0", "--audit", str(tmp_path / "audit"), "--out", "our/y-v0", *more]


def test_bad_episodes_are_dropped_and_counted(
    tmp_path: Path, audited: Demonstrations, capsys: pytest.CaptureFixture[str]
) -> None:
    run(words(tmp_path, "--above", "0.5"))
    printed = capsys.readouterr().out
    total, dropped = len(audited), int((audited.episodes == 1).sum())
    assert f"dropped 1 of 3 episodes, and with them {dropped} of {total} pairs; {total - dropped} pairs in 2" in printed
    assert "dataset: our/y-v0 (robust-bc train --dataset our/y-v0" in printed
    stays = audited.select(audited.episodes != 1)
    assert np.array_equal(Demonstrations.from_minari("our/y-v0").observations, stays.observations)
    with pytest.raises(RobustBCError, match="is there already"):
        run(words(tmp_path, "--above", "0.5"))
    run(words(tmp_path, "--above", "0.5", "--overwrite", "--json"))
    told = json.loads(capsys.readouterr().out)
    assert (told["unit"], told["episodes"], told["dropped_pairs"]) == ("episode", 2, dropped)
    assert told["sources"][0]["source"] == "safe"


def test_pairs_are_dropped_one_by_one(
    tmp_path: Path, audited: Demonstrations, capsys: pytest.CaptureFixture[str]
) -> None:
    run(words(tmp_path, "--keep", "0.3", "--unit", "pair", "--json"))
    told = json.loads(capsys.readouterr().out)
    assert told["unit"] == "pair"
    assert told["pairs"] == round(0.3 * len(audited))
    assert len(Demonstrations.from_minari("our/y-v0")) == told["pairs"]
    assert told["dropped_episodes"] == 1
    assert told["cut_episodes"] == 2


def test_single_pairs_are_not_called_episodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix(MixRequest(find_task("lane-driving"), "flip", 0.3, pairs=50, episodes=1), "our/single-v0")
    pairs = Demonstrations.from_minari("our/single-v0")
    audit_of(pairs, np.arange(50) < 20, "our/single-v0").save(tmp_path / "single")
    run(["--dataset", "our/single-v0", "--audit", str(tmp_path / "single"), "--out", "our/y-v0", "--keep", "0.6"])
    assert "dropped 20 of 50 single pairs; 30 stay" in capsys.readouterr().out


def test_nothing_dropped_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(words(tmp_path, "--keep", "1"))
    assert "dropped nothing: all" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "say what to keep by --keep"),
        (["--keep", "0.5", "--above", "0.5"], "one of them"),
        (["--keep", "70"], "--keep is a share above 0 and at most 1, but it is 70"),
        (["--above", "0.96"], "0 would be left, but at least 2 are needed; keep more"),
    ],
)
def test_what_is_wrong_is_said(more: list[str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        run(words(tmp_path, *more))
    assert not (tmp_path / "minari" / "our" / "y-v0").exists()


def test_from_the_command_line(tmp_path: Path) -> None:
    done = robust_bc("filter", *words(tmp_path, "--above", "0.5"), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "audit" / "pairs.safetensors").write_bytes(b"")
    done = robust_bc("filter", *words(tmp_path, "--above", "0.5", "--overwrite"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not a whole safetensors file" in done.stderr
    assert done.stderr.count("\n") == 1
