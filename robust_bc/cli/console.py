"""What the person sees: progress on standard error, results on standard output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from robust_bc.system.plain_text import visible


class Output(Console):
    """Leaves a closed pipe (`robust-bc show ... | head`) to `main`, which knows that it is no error."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


STATUS = Console(stderr=True)
OUTPUT = Output()


def plain(line: str) -> Text:
    """A line of text that steers no terminal and is read as no markup, wherever it comes from."""
    return Text(visible(line))


def say(sentence: str) -> None:
    """A note to the person, kept apart from results."""
    STATUS.print(plain(sentence), soft_wrap=True)


def show(line: str) -> None:
    """A line of results as it is: paths may have brackets and may be long."""
    OUTPUT.print(plain(line), soft_wrap=True)


def print_json(content: dict[str, Any]) -> None:
    """One object on standard output and nothing else; NaN and infinity, which are no JSON, are null."""
    sys.stdout.write(json.dumps(_finite(content), indent=2, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[float, str], None]]:
    """A bar with an estimate; call it with the share done and a note. Silent when nobody watches."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=STATUS, disable=not STATUS.is_terminal, transient=True) as bar:
        task = bar.add_task(visible(description), total=1.0, note="")
        yield lambda share, note: bar.update(task, completed=share, note=visible(note))
