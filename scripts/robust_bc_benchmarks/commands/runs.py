"""What all benchmarks of cells have in common: how they start and are stopped, and what they tell about a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robust_bc.cli.console import progress_bar, say, show


@contextmanager
def running(title: str, command: str, out: Path, device: str) -> Iterator[Callable[[float, str], None]]:
    """A progress bar for the work, in a folder that tells its command; who stops it is told how to go on."""
    import torch

    from robust_bc.system.devices import resolve_device
    from robust_bc.system.files import write_whole

    # Products of this size gain little from a second thread, and beside other work threads wait for each other.
    torch.set_num_threads(1)
    resolve_device(device)  # or a wrong one would leave a folder behind
    write_whole(out / "command.txt", command + "\n")  # before the work: a folder that cannot be written is said
    with progress_bar(title) as bar:
        try:
            yield bar
        except KeyboardInterrupt:
            say(f"stopped; finished cells are kept in '{out}', and the same command goes on from there.")
            raise


def about_run(
    command: str, finished: Iterable[str], sentences: Sequence[str], failures: Sequence[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """How its JSON begins, and the facts of its page; `finished` tells when each cell was, or is empty for one."""
    from robust_bc.system.machine import machine, versions

    computed, times = machine(), sorted(time for time in finished if time)
    content = {
        "command": command,
        "date": times[-1] if times else "",
        "machine": computed,
        "versions": versions(),
        "sentences": sentences,
        "failures": failures,
    }
    facts = {
        "command": command,
        "machine": f"{computed['processor']}, {computed['cores']} cores",
        "date": f"{_moment(times[0])} to {_moment(times[-1])}" if times else "",
    }
    return content, facts


def _moment(finished: str) -> str:
    """A time of a cell as a person reads it; cells tell it in UTC."""
    return finished[:16].replace("T", " ") + " UTC"


def write_run(out: Path, content: dict[str, Any], cells: str, rows: str, text: str) -> None:
    """The numbers: all as JSON, cells and rows as CSV, and the tables of a text for people."""
    from robust_bc.system.files import write_json, write_whole

    write_json(out / "benchmark.json", content)
    write_whole(out / "cells.csv", cells)
    write_whole(out / "table.csv", rows)
    write_whole(out / "table.md", text)


def print_run(out: Path, content: Mapping[str, Any], files: Sequence[str]) -> None:
    """What it comes to, and where to read on."""
    for sentence in content["sentences"]:
        show(sentence)
    for name in files:
        show(str(out / name))
