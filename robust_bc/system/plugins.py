"""What other installed packages bring: entry points by their group."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any


def plugins(group: str, order: Callable[[EntryPoint], Any] = lambda entry: entry.name) -> list[EntryPoint]:
    """Of that group, each name once; `load()` gives what it stands for."""
    return sorted({entry.name: entry for entry in entry_points(group=group)}.values(), key=order)
