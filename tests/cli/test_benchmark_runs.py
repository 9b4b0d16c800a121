"""What benchmarks of cells have in common: how they start, how they are stopped, and what they tell about a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robust_bc import RobustBCError
from robust_bc_benchmarks.commands.runs import about_run, print_run, running, write_run


def test_a_folder_tells_its_command_while_the_work_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with running("work", "robust-bc benchmark work", out, "cpu") as bar:
        bar(0.5, "half")
        assert (out / "command.txt").read_text() == "robust-bc benchmark work\n"


def test_a_wrong_device_leaves_no_folder_behind(tmp_path: Path) -> None:
    with (
        pytest.raises(RobustBCError, match="device must be auto, cpu, cuda or mps, but it is 'abacus'"),
        running("work", "robust-bc", tmp_path / "out", "abacus"),
    ):
        pytest.fail("no work is done")
    assert not (tmp_path / "out").exists()


def test_who_stops_it_is_told_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), running("work", "robust-bc", tmp_path, "cpu"):
        raise KeyboardInterrupt
    kept = f"stopped; finished cells are kept in '{tmp_path}', and the same command goes on from there.\n"
    assert capsys.readouterr().err == kept


def test_a_run_is_dated_by_its_cells() -> None:
    times = ["2026-03-02T10:11:12+00:00", "", "2026-02-01T09:08:07+00:00"]  # a cell may not know
    content, facts = about_run("robust-bc", times, ["All is well."], ["one seed"])
    assert list(content) == ["command", "date", "machine", "versions", "sentences", "failures"]
    assert (content["date"], content["sentences"], content["failures"]) == (times[0], ["All is well."], ["one seed"])
    assert facts["date"] == "2026-02-01 09:08 UTC to 2026-03-02 10:11 UTC"
    assert facts["machine"] == f"{content['machine']['processor']}, {content['machine']['cores']} cores"
    assert content["command"] == facts["command"] == "robust-bc"
    content, facts = about_run("robust-bc", [], [], [])
    assert content["date"] == facts["date"] == ""


def test_what_is_written_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = {"sentences": ["All is well.", "So it is."]}
    write_run(tmp_path, content, cells="a,b\n", rows="c,d\n", text="| e |")
    assert json.loads((tmp_path / "benchmark.json").read_text()) == content
    files = {name: (tmp_path / name).read_text() for name in ("cells.csv", "table.csv", "table.md")}
    assert files == {"cells.csv": "a,b\n", "table.csv": "c,d\n", "table.md": "| e |"}
    print_run(tmp_path, content, ("table.md", "report.html"))
    lines = ["All is well.", "So it is.", str(tmp_path / "table.md"), str(tmp_path / "report.html")]
    assert capsys.readouterr().out.splitlines() == lines
