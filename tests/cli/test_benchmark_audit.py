"""`robust-bc benchmark audit`, as a person runs it, and the page that is made of its table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from robust_bc.cli.arguments import parse
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.commands.audit import AuditBenchmarkArguments, request, run
from robust_bc_benchmarks.core.running import COLUMNS
from robust_bc_benchmarks.suites import auditing
from robust_bc_benchmarks.suites.audit_measures import RETURNS, Returns
from robust_bc_benchmarks.suites.auditing import AuditSuite
from robust_bc_benchmarks.suites.detectors import DETECTORS, Detection, detect
from tests.cli.interrupting import interrupted
from tests.cli.test_cli import robust_bc

SMALL = "--tasks pendulum --kinds clean,flip,graded --rates 0.4 --episodes 6 --steps 60 --detectors audit,neighbours"


def asked(words: str = "") -> AuditSuite:
    suite = request(parse(AuditBenchmarkArguments, "robust-bc benchmark audit", words.split()), "x").suite
    assert isinstance(suite, AuditSuite)
    return suite


def times(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two seeds of a small benchmark."""
    out = tmp_path_factory.mktemp("benchmark") / "out"
    run([*SMALL.split(), "--seeds", "2", "--out", str(out)])
    return out


def test_one_long_table(finished: Path) -> None:
    table = pandas.read_csv(finished / "results.csv")
    assert tuple(table.columns) == COLUMNS
    cells = table.drop_duplicates(["kind", "seed", "method"])
    assert len(cells) == len(times(finished)) == 3 * 2 * 2
    assert set(zip(table.kind, table.rate.fillna(-1), strict=True)) == {("clean", 0), ("flip", 0.4), ("graded", -1)}
    flipped = table[(table.kind == "flip") & (table.method == "audit")]
    names = "auroc true_rate estimated_rate dropped_good dropped_bad false_alarm undecided seconds"
    assert set(flipped.metric) == set(names.split())
    assert table[table.metric == "true_rate"].value.between(0, 0.5).all()
    assert set(table[table.kind == "graded"].metric) > {"spearman", "spearman_demonstrators"}
    assert json.loads((finished / "results.json").read_text())["command"].startswith(
        "robust-bc benchmark audit --tasks"
    )


def test_finished_cells_are_kept_and_missing_ones_computed(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, table = times(finished), (finished / "results.csv").read_bytes()
    lost = next(path for path in before if path.parent.name == "neighbours")
    lost.write_text(lost.read_text()[:-20])  # as by a full disk
    calls: list[str] = []

    def counted(name: str, *given: Any) -> Detection:
        calls.append(name)
        return detect(name, *given)

    monkeypatch.setattr(auditing, "detect", counted)
    words = [*SMALL.split(), "--seeds", "2", "--out", str(finished)]
    run([*words, "--json"])
    rows = json.loads(capsys.readouterr().out)["results"]
    assert calls == ["neighbours"]
    assert len(rows) == table.count(b"\n") - 1
    assert {path for path, time in times(finished).items() if time != before[path]} == {lost}
    monkeypatch.setattr(auditing, "REVISION", -1)  # the audit has changed, the simple detector has not
    calls.clear()
    run(words)
    assert calls == ["audit"] * 6


def test_returns_come_to_cells_that_are_there(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    words = [*SMALL.replace(",graded", "").split(), "--seeds", "1", "--out", str(out)]
    run(words)
    lengths: list[dict[str, int]] = []

    def of(self: Any, task: str, sets: dict[str, Any], seed: int) -> dict[str, float]:
        lengths.append({name: len(pairs) for name, pairs in sets.items()})
        return dict.fromkeys(sets, 1.0)

    monkeypatch.setattr(Returns, "of", of)
    monkeypatch.setattr(auditing, "detect", None)  # nobody is asked again
    for _ in range(2):
        run([*words, "--returns"])
    clean, flipped = lengths
    assert set(clean.values()) == {360}
    assert (flipped["return_all"], flipped["return_oracle"]) == (360, 240)
    table = pandas.read_csv(out / "results.csv")
    assert table[table.metric.isin(RETURNS)].groupby("kind").size().to_dict() == {"clean": 3, "flip": 3}


def test_two_processes_give_the_same_numbers(finished: Path, tmp_path: Path) -> None:
    words = f"{SMALL.replace('audit,', '')} --seeds 2 --jobs 2 --out out"
    done = robust_bc("benchmark", "audit", *words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, two = (pandas.read_csv(folder / "results.csv") for folder in (finished, tmp_path / "out"))
    one, two = (table[(table.method == "neighbours") & (table.metric != "seconds")] for table in (one, two))
    pandas.testing.assert_frame_equal(one.reset_index(drop=True), two.reset_index(drop=True))


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = (
        "benchmark audit --tasks pendulum --kinds clean --seeds 100 --episodes 4 --steps 20 --detectors neighbours"
        " --jobs 2 --out out"
    )
    told = interrupted(words, tmp_path, "out/cells/pendulum/clean/0/neighbours/0.json")
    assert "stopped; finished cells are kept in 'out', and the same command goes on from there." in told


def test_what_is_not_said() -> None:
    plan = asked().plan
    assert len(plan.tasks) == 8
    assert (len(plan.kinds), plan.rates, len(plan.seeds), plan.methods) == (
        12,
        (0.1, 0.3, 0.45),
        10,
        tuple(DETECTORS),
    )
    assert asked("--tasks development").plan.tasks == ("halfcheetah", "hopper", "lane-driving")
    assert len(asked("--tasks test,hopper").plan.tasks) == 6
    assert {len(unit) for unit in asked().units()} == {(10 * 3 + 2) * len(DETECTORS)}
    episodes = [asked().mixes.mark(task)["episodes"] for task in ("pendulum", "lane-driving")]
    assert episodes == [20, 40]


def test_single_pairs(tmp_path: Path) -> None:
    words = "--tasks pendulum --kinds flip --rates 0.4 --seeds 1 --detectors audit --pairs 120"
    mix, _ = asked(words).mixes.mix("pendulum", "flip", 0.4, 0)
    assert len(mix) == len(np.unique(mix.episodes)) == 120
    assert asked(words).mixes.mark("pendulum") != asked().mixes.mark("pendulum")
    run([*words.split(), "--out", str(tmp_path / "out")])
    table = pandas.read_csv(tmp_path / "out" / "results.csv")
    assert table[table.metric == "true_rate"].value.tolist() == [0.4]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--tasks cheetah", "there is no task 'cheetah' in this benchmark; it has halfcheetah, hopper"),
        ("--kinds flop", "there is no kind of corruption 'flop' in this benchmark; it has clean, rollout"),
        ("--detectors eyes", "there is no detector 'eyes'; there are audit, agreement"),
        ("--rates 0,0.1", "a rate must be above 0; clean sets are of the kind 'clean'"),
        ("--seeds 0", "--seeds must be at least 1, but it is 0"),
        ("--pairs 0", "--pairs must be at least 1, but it is 0"),
        ("--jobs 0", "--jobs must be at least 1, but it is 0"),
        ("--returns --detectors loss", "what 'audit' keeps; name it among the detectors"),
    ],
)
def test_bad_arguments_get_one_sentence(tmp_path: Path, words: str, sentence: str) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        run([*words.split(), "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_it_is_in_the_help(tmp_path: Path) -> None:
    assert "benchmark audit" in robust_bc("benchmark", cwd=tmp_path).stdout
