"""Ctrl-C and SIGTERM at any time of a command: one sentence, exit code 130, and nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import minari
import pytest

SIGNALS = [signal.SIGINT, signal.SIGTERM]
INTERRUPTED = (130, "", "robust-bc: interrupted.\n")
START = (
    "import sys; from robust_bc.cli.main import main; from robust_bc.cli.commands import COMMANDS; {};"
    " print('ready', flush=True); main()"
)
PATIENCE = 30

MODULES = {
    "in a module in C that is made ready": """
        try:
            signal.raise_signal(NUMBER)
            time.sleep(0.1)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None
        def run(args):
            time.sleep(10)
        """,
    "in a module that takes what it can get": """
        try:
            signal.raise_signal(NUMBER)
            time.sleep(0.1)
        except BaseException:
            pass
        def run(args):
            time.sleep(10)
        """,
    "where Python can only print it": """
        class Gone:
            def __del__(self):
                signal.raise_signal(NUMBER)
        def run(args):
            Gone()
            time.sleep(10)
        """,
    "in code in C that tells of something else": """
        def run(args):
            try:
                signal.raise_signal(NUMBER)
                time.sleep(10)
            except KeyboardInterrupt:
                raise ValueError("not a path") from None
        """,
    "again in all that is done to note it": """
        import sys, traceback
        def again(frame, event, argument):
            callers = [name.f_code.co_name for name, _ in traceback.walk_stack(frame.f_back)]
            if event == "return" and "stop" in callers:
                signal.raise_signal(NUMBER)
        sys.setprofile(again)
        signal.raise_signal(NUMBER)
        sys.setprofile(None)
        def run(args):
            time.sleep(10)
        """,
    "twice, as make passes it on": """
        def run(args):
            try:
                signal.raise_signal(NUMBER)
                time.sleep(10)
            finally:
                signal.raise_signal(NUMBER)
                Path("tidied").touch()
        """,
}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("where", MODULES)
def test_a_command_stops_wherever_it_is(where: str, number: signal.Signals, tmp_path: Path) -> None:
    assert ends(MODULES[where], number, tmp_path) == INTERRUPTED
    assert (tmp_path / "tidied").exists() == ("Path" in MODULES[where])


@pytest.mark.parametrize("number", SIGNALS)
def test_what_is_done_is_done(number: signal.Signals, tmp_path: Path) -> None:
    """After the work there is nothing to stop, and Python would only print the interrupt."""
    module = """
        def run(args):
            import atexit
            atexit.register(lambda: signal.raise_signal(NUMBER))
        """
    assert ends(module, number, tmp_path) == (0, "", "")


def ends(module: str, number: signal.Signals, folder: Path) -> tuple[int, str, str]:
    """Exit code and both outputs of a command that is this module."""
    head = f"import signal, time\nfrom pathlib import Path\nNUMBER = {int(number)}\n"
    lines = [line.removeprefix(" " * 8) for line in module.strip("\n").splitlines()]
    (folder / "odd_command.py").write_text(head + "\n".join(lines))
    process = started(folder, "odd", "COMMANDS['odd'] = ('odd_command', '')")
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, out, err


def started(folder: Path, words: str, before: str = "pass") -> subprocess.Popen[str]:
    """`robust-bc WORDS`, which has just begun: what comes earlier is Python's own start."""
    process = subprocess.Popen(
        [sys.executable, "-c", START.format(before), *words.split()],
        cwd=folder,
        env={**os.environ, "MINARI_DATASETS_PATH": str(folder / "minari"), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_collect_stops_at_any_time_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays = (0.02, 0.5, 1.0, 1.6)
    name = "mine/stopped-v0"
    for turn, delay in enumerate(delays):
        folder = tmp_path / f"{delay}"
        folder.mkdir()
        process = started(folder, f"collect --task lane-driving --teacher safe --episodes 1 --dataset {name}")
        time.sleep(delay)
        process.send_signal(SIGNALS[turn % 2])
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) in ((130, INTERRUPTED[2]), (0, "")), f"after {delay} s: {out}{err}"
        monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder / "minari"))
        there = (folder / "minari" / name).exists()
        assert there or process.returncode == 130
        assert not there or minari.load_dataset(name).total_episodes == 1
        assert not [path for path in (folder / "minari").glob(".*") if path.name.endswith((".part", ".replaced"))]
