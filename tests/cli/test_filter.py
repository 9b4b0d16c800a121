"""`robust-bc filter`, as a person uses it after an audit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError
from robust_bc_demos.collecting import collect
from robust_bc_demos.commands.filter import run
from robust_bc_demos.mixing.datasets import MixRequest, mix
from robust_bc_envs.tasks import find_task
from tests.cli.test_cli import robust_bc
from tests.robust_bc.auditing.audits import audit_of

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
    run(words(tmp_path))
    printed = capsys.readouterr().out
    total, dropped = len(audited), int((audited.episodes == 1).sum())
    assert f"Left out 1 of 3 episodes, and with them {dropped} of {total} pairs; {total - dropped}" in printed
    (row,) = [line.split() for line in printed.splitlines() if "contradicts the majority" in line]
    assert row[:4] == ["1", "safe", str(dropped), str(dropped)]
    assert "dataset: our/y-v0 (robust-bc train --dataset our/y-v0" in printed
    stays = audited.select(audited.episodes != 1)
    assert np.array_equal(Demonstrations.from_minari("our/y-v0").observations, stays.observations)
    with pytest.raises(RobustBCError, match="is there already"):
        run(words(tmp_path))
    run(words(tmp_path, "--overwrite", "--json"))
    told = json.loads(capsys.readouterr().out)
    assert (told["episodes"], told["dropped_pairs"], told["why_kept"]) == (2, dropped, None)
    assert [(one["episode"], one["why"]) for one in told["left_out"]] == [(1, "contradicts the majority")]
    assert told["sources"][0]["source"] == "safe"


def test_single_bad_pairs_are_cut_out_only_when_asked(
    tmp_path: Path, audited: Demonstrations, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = np.arange(len(audited)) == 5  # in the first episode
    audit_of(audited, bad, "our/x-v0").save(tmp_path / "audit")
    run(words(tmp_path))
    assert f"Nothing was left out, for nothing is bad: all {len(audited)} pairs" in capsys.readouterr().out
    run(words(tmp_path, "--cut", "--overwrite"))
    printed = capsys.readouterr().out
    assert "Left out 0 of 3 episodes, cut 1, and with them 1 of" in printed
    assert "single bad pairs" in printed
    assert len(Demonstrations.from_minari("our/y-v0")) == len(audited) - 1


def test_single_pairs_are_not_called_episodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix(MixRequest(find_task("lane-driving"), "flip", 0.3, pairs=50, episodes=1), "our/single-v0")
    pairs = Demonstrations.from_minari("our/single-v0")
    audit_of(pairs, np.arange(50) < 20, "our/single-v0").save(tmp_path / "single")
    run(["--dataset", "our/single-v0", "--audit", str(tmp_path / "single"), "--out", "our/y-v0"])
    printed = capsys.readouterr().out
    assert "Left out 20 of 50 single pairs; 30 stay." in printed
    assert "and 10 more" in printed


@pytest.mark.parametrize(
    ("bad", "undecided", "sentence"),
    [
        (2, None, "of the pairs would go, and who is left is no majority."),
        (1, "two groups contradict each other.", "Everything is kept: two groups contradict each other."),
    ],
)
def test_why_everything_is_kept_is_said(
    bad: int,
    undecided: str | None,
    sentence: str,
    tmp_path: Path,
    audited: Demonstrations,
    capsys: pytest.CaptureFixture[str],
) -> None:
    audit_of(audited, audited.episodes < bad, "our/x-v0", undecided=undecided).save(tmp_path / "audit")
    run(words(tmp_path))
    assert sentence in capsys.readouterr().out
    assert len(Demonstrations.from_minari("our/y-v0")) == len(audited)


def test_from_the_command_line(tmp_path: Path) -> None:
    done = robust_bc("filter", *words(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "audit" / "pairs.safetensors").write_bytes(b"")
    done = robust_bc("filter", *words(tmp_path, "--overwrite"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not a whole safetensors file" in done.stderr
    assert done.stderr.count("\n") == 1
