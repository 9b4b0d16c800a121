"""Finished cells of a benchmark on disk, each in a file of its own with a fingerprint of all that it depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from robust_bc.data.json_files import as_typed, read_json, sealed, unsealed
from robust_bc.errors import DamagedFileError
from robust_bc.system.files import is_aside_of, write_all_whole
from robust_bc.system.interrupts import interrupts_held


class Placed(Protocol):
    """Names a cell, and says where in the cache its file is."""

    @property
    def path(self) -> Path: ...


class Kept(Protocol):
    """A dataclass of plain values with a key."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> Any: ...


AnyKey = TypeVar("AnyKey", bound=Placed)
AnyCell = TypeVar("AnyCell", bound=Kept)


class CellCache(Generic[AnyKey, AnyCell]):
    """Cells of one kind in a folder."""

    def __init__(self, folder: Path, kind: type[AnyCell]) -> None:
        self.folder, self.kind = folder, kind
        self.unreadable: list[Path] = []
        self.outdated: list[Path] = []
        """Files that were there but are of no use: damaged, or of other settings."""

    def read(self, key: AnyKey, fingerprint: Mapping[str, Any]) -> AnyCell | None:
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
            given = {**cell, "key": asdict(key)} if isinstance(cell, dict) else cell  # type: ignore[call-overload]
            return as_typed(self.kind, given, str(path))
        except DamagedFileError:
            self.unreadable.append(path)
            return None

    def write(self, cells: Sequence[tuple[AnyCell, Mapping[str, Any]]]) -> None:
        """Cells of one unit with their fingerprints: all are written before the first is put in place."""
        files: dict[Path, bytes | str] = {}
        for cell, fingerprint in cells:
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

    def complaints(self, out: Path) -> list[str]:
        """Sentences about the files that are of no use, of a benchmark in that folder."""
        said = [f"'{path}' cannot be read; this cell is computed anew." for path in self.unreadable]
        if self.outdated:
            said.append(f"{len(self.outdated)} cells in '{out}' belong to other settings and are computed anew.")
        return said


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back: tuples are lists."""
    given: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return given


def now() -> str:
    """When a cell is finished: in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
