"""Text from files never steers the terminal: every way in which a command speaks shows it as text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from robust_bc.cli import console, tables
from robust_bc.cli.main import main
from robust_bc.evaluation.page import episodes_as_csv
from robust_bc.evaluation.results import Evaluation
from robust_bc.system.files import write_whole

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\n\u202e\x00\ud800 [red]:warning:[/nothing]"
SHOWN = r"\u001b]0;owned\u0007\u001b[2J\u009b31m\u000d\u000a\u202e\u0000\ud800 [red]:warning:[/nothing]"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal without colours, so that every escape sequence on it would be one of the text's."""
    shown = Screen()
    terminal = console.Output(file=shown, force_terminal=True, color_system=None, width=200)
    monkeypatch.setattr(console, "STATUS", Console(file=shown, force_terminal=True, color_system=None, width=200))
    monkeypatch.setattr(console, "OUTPUT", terminal)
    monkeypatch.setattr(tables, "OUTPUT", terminal)
    return shown


def test_sentences_and_tables_show_it(screen: Screen) -> None:
    console.say(HOSTILE)
    console.show(HOSTILE)
    assert screen.getvalue() == f"{SHOWN}\n{SHOWN}\n"
    tables.print_table([HOSTILE, "n"], [[HOSTILE, "1"]], numbers=["n"])
    said = screen.getvalue()
    assert said.count(SHOWN) == 4
    assert not set(said) & set("\x1b\x9b\r\x00\u202e\ud800")


def test_a_progress_bar_shows_it(screen: Screen) -> None:
    with console.progress_bar(HOSTILE) as bar:
        bar(0.5, HOSTILE)
    said = screen.getvalue()
    assert SHOWN in said
    assert "owned\x07" not in said
    assert "\u202e" not in said


def test_a_name_from_right_to_left_keeps_its_column(screen: Screen) -> None:
    tables.print_table(["source", "n", "m"], [["مريم", "1", "2"]], numbers=["n", "m"])
    assert "\u2068مريم\u2069" in screen.getvalue()


def test_an_error_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([HOSTILE])
    said = capsys.readouterr().err
    assert said.startswith(f"robust-bc: there is no command '{SHOWN}';")
    assert said.count("\n") == 1


def test_a_name_that_is_no_text_can_be_written(tmp_path: Path) -> None:
    """Names of files are bytes; what is not UTF-8 reaches a command as halves of pairs."""
    from robust_bc.cli.arguments import command_line

    row: dict[str, float | int | str | None] = {"episode": 0, "return": 1.0, "length": 1, "failure": None}
    text = episodes_as_csv([Evaluation("a\udcff", "t", "e", 0, {}, (), None, [row])])
    write_whole(tmp_path / "table.csv", text)
    write_whole(tmp_path / "command.txt", command_line("evaluate", ["--policy", "a\udcff"]))
    assert b"a\\udcff" in (tmp_path / "table.csv").read_bytes()
    assert b"a\\udcff" in (tmp_path / "command.txt").read_bytes()


def test_numbers_without_room_come_in_a_second_table(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Screen()
    narrow = console.Output(file=shown, force_terminal=True, color_system=None, width=80)
    monkeypatch.setattr(tables, "OUTPUT", narrow)
    names = [f"policy-{number}" for number in range(5)]
    rows = [["lane_deviation_rms", *(f"0.296 [0.257, {number}.336]" for number in range(5))], ["share of", *"12345"]]
    tables.print_table(["policy", *names], rows, numbers=names)
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("lane_deviation_rms" in line for line in lines) == 3  # two columns of numbers, two, and one
    assert all(any(cell in line for line in lines) for cell in (*names, *rows[0], "share of"))
    shown.seek(shown.truncate(0))
    tables.print_table(["dataset", "what"], [["mine/" + "x" * 70, "a " + "y" * 70]], numbers=[])
    assert max(map(len, shown.getvalue().splitlines())) <= 80
