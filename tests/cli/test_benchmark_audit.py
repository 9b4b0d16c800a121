"""`robust-bc benchmark audit`, as a person runs it, and the page that is made of its table."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from robust_bc.cli.arguments import parse
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.audit import running as benchmark
from robust_bc_benchmarks.audit.detectors import DETECTORS, Detection, detect
from robust_bc_benchmarks.audit.measures import RETURNS, Returns
from robust_bc_benchmarks.audit.running import COLUMNS
from robust_bc_benchmarks.commands.audit import AuditBenchmarkArguments, request, run
from tests.cli.interrupting import interrupted
from tests.cli.test_cli import robust_bc

SMALL = "--tasks pendulum --kinds clean,flip,graded --rates 0.4 --episodes 6 --steps 60 --detectors audit,neighbours"


def asked(words: str = "") -> benchmark.AuditRun:
    return request(parse(AuditBenchmarkArguments, "robust-bc benchmark audit", words.split()))


def times(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two seeds of a small benchmark."""
    out = tmp_path_factory.mktemp("benchmark") / "out"
    run([*SMALL.split(), "--seeds", "2", "--out", str(out)])
    return out


def test_one_long_table(finished: Path) -> None:
    table = pandas.read_csv(finished / "audit.csv")
    assert tuple(table.columns) == COLUMNS
    cells = table.drop_duplicates(["kind", "seed", "detector"])
    assert len(cells) == len(times(finished)) == 3 * 2 * 2
    assert set(zip(table.kind, table.rate.fillna(-1), strict=True)) == {("clean", 0), ("flip", 0.4), ("graded", -1)}
    flipped = table[(table.kind == "flip") & (table.detector == "audit")]
    names = "auroc true_rate estimated_rate dropped_good dropped_bad false_alarm undecided seconds"
    assert set(flipped.metric) == set(names.split())
    assert table[table.metric == "true_rate"].value.between(0, 0.5).all()
    assert set(table[table.kind == "graded"].metric) > {"spearman", "spearman_demonstrators"}
    assert json.loads((finished / "audit.json").read_text())["command"].startswith("robust-bc benchmark audit --tasks")


def test_finished_cells_are_kept_and_missing_ones_computed(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, table = times(finished), (finished / "audit.csv").read_bytes()
    lost = next(path for path in before if path.parent.name == "neighbours")
    lost.write_text(lost.read_text()[:-20])  # as by a full disk
    calls: list[str] = []

    def counted(name: str, *given: Any) -> Detection:
        calls.append(name)
        return detect(name, *given)

    monkeypatch.setattr(benchmark, "detect", counted)
    words = [*SMALL.split(), "--seeds", "2", "--out", str(finished)]
    run([*words, "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert calls == ["neighbours"]
    assert len(rows) == table.count(b"\n") - 1
    assert {path for path, time in times(finished).items() if time != before[path]} == {lost}
    monkeypatch.setattr(benchmark, "REVISION", -1)  # the audit has changed, the simple detector has not
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
    monkeypatch.setattr(benchmark, "detect", None)  # nobody is asked again
    for _ in range(2):
        run([*words, "--returns"])
    clean, flipped = lengths
    assert set(clean.values()) == {360}
    assert (flipped["return_all"], flipped["return_oracle"]) == (360, 240)
    table = pandas.read_csv(out / "audit.csv")
    assert table[table.metric.isin(RETURNS)].groupby("kind").size().to_dict() == {"clean": 3, "flip": 3}


def test_two_processes_give_the_same_numbers(finished: Path, tmp_path: Path) -> None:
    words = f"{SMALL.replace('audit,', '')} --seeds 2 --jobs 2 --out out"
    done = robust_bc("benchmark", "audit", *words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, two = (pandas.read_csv(folder / "audit.csv") for folder in (finished, tmp_path / "out"))
    one, two = (table[(table.detector == "neighbours") & (table.metric != "seconds")] for table in (one, two))
    pandas.testing.assert_frame_equal(one.reset_index(drop=True), two.reset_index(drop=True))


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = (
        "benchmark audit --tasks pendulum --kinds clean --seeds 100 --episodes 4 --steps 20 --detectors neighbours"
        " --jobs 2 --out out"
    )
    told = interrupted(words, tmp_path, "out/cells/found/pendulum/clean/0/neighbours/0.json")
    assert "stopped; finished cells are kept in 'out', and the same command goes on from there." in told


def test_what_is_not_said() -> None:
    plan = asked().plan
    assert len(plan.tasks) == 8
    assert (len(plan.kinds), plan.rates, len(plan.seeds), plan.detectors) == (
        12,
        (0.1, 0.3, 0.45),
        10,
        tuple(DETECTORS),
    )
    assert asked("--tasks development").plan.tasks == ("halfcheetah", "hopper", "lane-driving")
    assert len(asked("--tasks test,hopper").plan.tasks) == 6
    assert len(list(plan.keys("hopper", 0))) == (10 * 3 + 2) * len(DETECTORS)
    episodes = [asked().mixes.mark(task)["episodes"] for task in ("pendulum", "lane-driving")]
    assert episodes == [20, 40]


def test_single_pairs(tmp_path: Path) -> None:
    words = "--tasks pendulum --kinds flip --rates 0.4 --seeds 1 --detectors audit --pairs 120"
    mix, _ = asked(words).mixes.mix("pendulum", "flip", 0.4, 0)
    assert len(mix) == len(np.unique(mix.episodes)) == 120
    assert asked(words).mixes.mark("pendulum") != asked().mixes.mark("pendulum")
    run([*words.split(), "--out", str(tmp_path / "out")])
    table = pandas.read_csv(tmp_path / "out" / "audit.csv")
    assert table[table.metric == "true_rate"].value.tolist() == [0.4]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--tasks cheetah", "there is no task 'cheetah' in this benchmark; it has halfcheetah, hopper"),
        ("--kinds flop", "there is no kind of corruption 'flop' in this benchmark; it has clean, rollout"),
        ("--detectors eyes", "there is no detector 'eyes'; there are audit, agreement"),
        ("--rates 0,0.1", "a rate must be above 0 and below 1, but it is 0"),
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


def page_script() -> Any:
    spec = importlib.util.spec_from_file_location("audit_page", Path(__file__).parents[2] / "scripts" / "audit_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_detectors_are_compared_on_the_mixes_that_all_have_seen() -> None:
    cells = [("audit", 0.1), ("audit", 0.3), ("loss", 0.3)]
    table = pandas.DataFrame([("pendulum", "flip", rate, 0, name) for name, rate in cells], columns=list(COLUMNS[:5]))
    assert page_script().compared(table).rate.tolist() == [0.3, 0.3]


def test_the_page_by_hand(tmp_path: Path) -> None:
    def rows(kind: str, rate: float | None, seed: int, **numbers: float) -> list[tuple[Any, ...]]:
        return [("pendulum", kind, rate, seed, "audit", metric, value) for metric, value in numbers.items()]

    random = -1000.0
    script = page_script()
    script.CARDS = {"pendulum": _Card(random)}
    numbers = [
        *rows("clean", 0, 0, true_rate=0, estimated_rate=0.0, false_alarm=0, undecided=0),
        *rows("clean", 0, 1, true_rate=0, estimated_rate=0.2, false_alarm=1, undecided=0),
        *rows("graded", None, 0, spearman=0.9, undecided=0),
        *(
            row
            for seed in range(3)
            for row in rows(
                "flip",
                0.3,
                seed,
                auroc=[1, 1, 0.7][seed],
                true_rate=0.3,
                estimated_rate=0.3,
                undecided=0,
                return_all=-200.0,
                return_cleaned=-300.0 + seed,
                return_oracle=-200.0,
            )
        ),
    ]
    pandas.DataFrame(numbers, columns=list(COLUMNS)).to_csv(tmp_path / "audit.csv", index=False)
    (tmp_path / "audit.json").write_text(json.dumps({"command": "robust-bc benchmark audit", "revision": 7}))
    other = ("pendulum", "flip", 0.3, 0, "loss", "auroc", 0.1)  # the tables are of the audit
    single = pandas.DataFrame([*rows("flip", 0.3, 0, auroc=0.6, dropped_bad=0.25), other], columns=list(COLUMNS))
    single.to_csv(tmp_path / "audit-pairs.csv", index=False)
    command = "robust-bc benchmark audit --pairs 500"
    (tmp_path / "audit-pairs.json").write_text(json.dumps({"command": command, "revision": 7}))
    script.main(tmp_path)
    page, pairs = (tmp_path / "audit.md").read_text().split("## Single pairs, as in the paper")
    assert "| pendulum | flip | 0.6 (0.6) |" in pairs
    assert "| pendulum | flip | 0.25 |" in pairs
    assert "| pendulum | 0.9 (0.7) |" in page
    for measure, number in (
        ("places with a mean AUROC of 0.98 or more", "0 of 1"),
        ("mixes with a rate within 5 points", "3 of 3"),
        ("clean sets with a false alarm", "1 of 2"),
        ("tasks with a graded Spearman of 0.95 or more", "0 of 1"),
        ("places that keep the oracle's return with cleaning", "0 of 1"),
        ("places that keep the oracle's return without cleaning", "1 of 1"),
        ("places where cleaning does harm", "1"),
    ):
        assert f"| {measure} | {number} |" in page
    assert "| task | clean | flip |\n| --- | --- | --- |\n| pendulum | 0.5 | 1 |" in page
    assert "| task | false_alarm |\n| --- | --- |\n| pendulum | 0.5 |" in page
    assert "| pendulum | 0.9 (0.9) |" in page
    share = (-299 - random) / (-200 - random)
    assert "| task | kind | all 0.3 | cleaned 0.3 |" in page
    assert f"| pendulum | flip | 1 | {share:.3f} |" in page
    half = 4.302653 / np.sqrt(3)  # of Student's t with two degrees of freedom; the deviation is 1
    assert f"| pendulum | flip | 0.3 | -99 | {-99 - half:.3f} | {-99 + half:.3f} |" in page
    assert page.count("    robust-bc benchmark audit\n") == page.count("### ")
    assert pairs.count(f"    {command}\n") == 2
    assert (tmp_path / "audit.png").stat().st_size > 1000


class _Card:
    development = False

    def __init__(self, random: float) -> None:
        self.reference = type("Reference", (), {"random": random})


def test_it_is_in_the_help(tmp_path: Path) -> None:
    assert "benchmark audit" in robust_bc("benchmark", cwd=tmp_path).stdout
