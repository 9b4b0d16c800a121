"""Folders with two files, a description in JSON and tensors in safetensors: policies, audits and teachers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from robust_bc.data.json_files import as_typed, read_json, sealed, unsealed
from robust_bc.data.tensor_files import Tensors, read_tensors
from robust_bc.errors import DamagedFileError
from robust_bc.system.files import as_json, write_all_whole

Made = TypeVar("Made")


@dataclass(frozen=True)
class DescribedTensors:
    """One kind of such folders. The description tells kind and version, and has a checksum of each file."""

    kind: str
    version: int
    description_file: str
    tensors_file: str

    def write(
        self, folder: Path, description: dict[str, Any], tensors: bytes, beside: Mapping[str, str] | None = None
    ) -> Path:
        """Both files, or neither; and so with the texts beside them, by their names."""
        content = {
            "format": f"robust-bc {self.kind}",
            "format_version": self.version,
            **description,
            "tensors_sha256": hashlib.sha256(tensors).hexdigest(),
        }
        texts = {folder / name: text for name, text in (beside or {}).items()}
        write_all_whole(
            {**texts, folder / self.tensors_file: tensors, folder / self.description_file: as_json(sealed(content))}
        )
        return folder

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has both files, whatever is in them."""
        return all((folder / name).is_file() for name in (self.description_file, self.tensors_file))

    def read(self, folder: Path, kind: type[Made]) -> tuple[Made, Tensors]:
        """The description as a dataclass, and the tensors that belong to it."""
        content = self.description(folder)
        tensors = read_tensors(folder / self.tensors_file)
        if content.pop("tensors_sha256", None) != tensors.sha256:
            raise DamagedFileError(
                f"'{tensors.path}' was damaged, or belongs to another {self.kind}: its checksum is not the one in"
                f" {self.description_file}."
            )
        return as_typed(kind, content, str(folder / self.description_file)), tensors

    def description(self, folder: Path) -> dict[str, Any]:
        """The description alone, of the right kind and version and undamaged."""
        path = folder / self.description_file
        content = read_json(path)
        if content.get("format") != f"robust-bc {self.kind}":
            raise DamagedFileError(f"'{path}' is no {self.kind} of robust-bc: its \"format\" says otherwise.")
        if content.get("format_version") != self.version:
            told = str(content.get("format_version"))[:20]
            raise DamagedFileError(f"'{path}' has format version {told}, but this robust-bc reads {self.version}.")
        bare = unsealed(content, str(path))
        return {name: value for name, value in bare.items() if name not in ("format", "format_version")}
