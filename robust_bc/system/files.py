"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from robust_bc.errors import RobustBCError

ASIDE_ENDING = ".part"


def make_folder(folder: Path) -> Path:
    """Create a folder and its parents, or say in one sentence why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise RobustBCError(f"cannot create the folder '{folder}': {problem.strerror}.") from problem
    return folder


def write_whole(path: Path, content: bytes | str) -> None:
    """Write aside, then rename: a reader sees the old file or the new one, never half of either."""
    write_all_whole({path: content})


def write_all_whole(contents: dict[Path, bytes | str]) -> None:
    """Files that belong together: none is put in place before all are written."""
    asides = {path: path.with_name(f".{path.name}.{os.getpid()}{ASIDE_ENDING}") for path in contents}
    path = next(iter(contents))
    try:
        for path, content in contents.items():
            make_folder(path.parent)
            with asides[path].open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        for path, aside in asides.items():
            aside.replace(path)
    except OSError as problem:
        raise RobustBCError(f"cannot write '{path}': {problem.strerror}; nothing was changed.") from problem
    finally:
        for aside in asides.values():
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)


def is_aside_of(path: Path, other: Path) -> bool:
    """Whether the other file is what a killed process left behind while it wrote this one."""
    return other.name.startswith(f".{path.name}.") and other.name.endswith(ASIDE_ENDING)


def remove_asides(folder: Path) -> None:
    """Sweep what a process left behind that was killed while it wrote."""
    for aside in folder.rglob(f".*{ASIDE_ENDING}"):
        aside.unlink(missing_ok=True)


def as_json(content: dict[str, Any]) -> str:
    """Readable JSON; NaN and infinity, which are no JSON, are an error."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object as readable JSON."""
    write_whole(path, as_json(content))
