"""What the person sees: progress on standard error, results on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

STATUS = Console(stderr=True)
OUTPUT = Console()


def say(sentence: str) -> None:
    """A note to the person, kept apart from results."""
    STATUS.print(sentence, highlight=False)


def print_json(content: dict[str, Any]) -> None:
    """One object on standard output and nothing else."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar with an estimate; call it with (done, total, note). Silent when nobody watches."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=STATUS, disable=not STATUS.is_terminal, transient=True) as bar:
        task = bar.add_task(description, total=None, note="")
        yield lambda done, total, note: bar.update(task, completed=done, total=total, note=note)
