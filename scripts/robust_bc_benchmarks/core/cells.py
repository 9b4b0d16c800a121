"""Finished cells on disk, each in a file of its own with a fingerprint of all that it depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from robust_bc.data.json_files import as_typed, read_json, sealed, unsealed
from robust_bc.errors import DamagedFileError, RobustBCError
from robust_bc.system.files import is_aside_of, write_all_whole
from robust_bc.system.interrupts import interrupts_held


@dataclass(frozen=True, order=True)
class Key:
    """Which cell: one policy, or what one detector says of one mix."""

    task: str
    kind: str
    """Of corruption."""
    rate: float | None
    """Share of bad pairs; None in a graded mix."""
    method: str
    seed: int

    @property
    def folder(self) -> Path:
        """Where all seeds are kept, inside of the cache."""
        rate = "any" if self.rate is None else f"{self.rate:.12g}"
        return Path(self.task, self.kind, rate, self.method)

    @property
    def path(self) -> Path:
        return self.folder / f"{self.seed}.json"


@dataclass(frozen=True)
class Cell:
    """What was measured."""

    key: Key
    numbers: dict[str, float] = field(default_factory=dict, repr=False)
    """By metric."""
    failure: str | None = None
    """One sentence if there is nothing to measure; such a cell counts in no mean."""
    dropped: str | None = None
    """Of a detector: a 1 for each episode that it would drop."""
    finished: str = ""
    """When, in UTC."""

    def __post_init__(self) -> None:
        if self.dropped is not None and not set(self.dropped) <= {"0", "1"}:
            raise RobustBCError("dropped is a 0 or a 1 for each episode.")
        if self.failure is not None and self.numbers:
            raise RobustBCError("a cell that failed has no numbers.")


class Cells:
    """A folder of finished cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unreadable: list[Path] = []
        self.outdated: list[Path] = []
        """Files that were there but are of no use: damaged, or of other settings."""

    def read(self, key: Key, fingerprint: Mapping[str, Any]) -> Cell | None:
        """The finished cell, unless there is none or it belongs to other settings."""
        path = self.folder / key.path
        if not path.exists():
            return None
        try:
            content = unsealed(read_json(path), str(path))
            if content.get("fingerprint") != plain(fingerprint):
                self.outdated.append(path)
                return None
            cell = content.get("cell")
            return as_typed(Cell, {**cell, "key": asdict(key)} if isinstance(cell, dict) else cell, str(path))
        except DamagedFileError:
            self.unreadable.append(path)
            return None

    def write(self, cells: Sequence[Cell], fingerprints: Sequence[Mapping[str, Any]]) -> None:
        """Cells that belong together: all are written before the first is put in place."""
        files: dict[Path, bytes | str] = {}
        for cell, fingerprint in zip(cells, fingerprints, strict=True):
            content = asdict(cell)
            del content["key"]
            kept = sealed({"fingerprint": plain(fingerprint), "cell": content})
            files[self.folder / cell.key.path] = json.dumps(kept, allow_nan=False) + "\n"
        with interrupts_held():
            write_all_whole(files)
            for path in files:  # what a process left behind that was killed while it wrote this very cell
                for other in path.parent.glob(f".{path.name}.*"):
                    if is_aside_of(path, other):
                        other.unlink(missing_ok=True)

    def complaints(self) -> list[str]:
        """Sentences about the files that are of no use."""
        said = [f"'{path}' cannot be read; this cell is computed anew." for path in self.unreadable]
        if self.outdated:
            count = len(self.outdated)
            said.append(f"{count} cells in '{self.folder}' belong to other settings and are computed anew.")
        return said


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back: tuples are lists."""
    given: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return given


def now() -> str:
    """When a cell is finished: in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
