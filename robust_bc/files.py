"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from robust_bc.errors import RobustBCError


def make_folder(folder: Path) -> Path:
    """Create a folder and its parents, or say in one sentence why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise RobustBCError(f"cannot create the folder '{folder}': {problem.strerror}.") from problem
    return folder


def write_whole(path: Path, content: bytes | str) -> None:
    """Write aside, then rename: a reader sees the old file or the new one, never half of either."""
    make_folder(path.parent)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = content.encode() if isinstance(content, str) else content
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as problem:
        raise RobustBCError(f"cannot write '{path}': {problem.strerror}; nothing was changed.") from problem
    finally:
        aside.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Readable JSON; NaN and infinity, which are no JSON, are an error."""
    write_whole(path, json.dumps(content, indent=2, allow_nan=False) + "\n")
