"""What the person sees: progress on standard error, results on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

STATUS = Console(stderr=True)
OUTPUT = Console()


def say(sentence: str) -> None:
    """A note to the person, kept apart from results."""
    STATUS.print(sentence, highlight=False, markup=False, soft_wrap=True)


def show(line: str) -> None:
    """A line of results as it is: paths may have brackets and may be long."""
    OUTPUT.print(line, highlight=False, markup=False, soft_wrap=True)


def print_json(content: dict[str, Any]) -> None:
    """One object on standard output and nothing else."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[float, str], None]]:
    """A bar with an estimate; call it with the share done and a note. Silent when nobody watches."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=STATUS, disable=not STATUS.is_terminal, transient=True) as bar:
        task = bar.add_task(description, total=1.0, note="")
        yield lambda share, note: bar.update(task, completed=share, note=note)
