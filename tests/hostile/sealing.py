"""Makes checksums right after a change, as somebody would who means harm."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from robust_bc import RobustBCError
from robust_bc.data.json_files import sealed
from robust_bc.data.tensor_files import read_tensors, sealed_tensors


def reseal_json(path: Path) -> None:
    with contextlib.suppress(ValueError, OSError, AttributeError, RecursionError, TypeError):
        content = json.loads(path.read_text())
        content.pop("sha256", None)
        path.write_text(json.dumps(sealed(content)))


def reseal_pair(description: str, tensors: str) -> Callable[[Path], None]:
    def reseal(folder: Path) -> None:
        for path in folder.rglob(description):
            with contextlib.suppress(ValueError, OSError, AttributeError, RecursionError, TypeError):
                content = json.loads(path.read_text())
                content["tensors_sha256"] = hashlib.sha256((path.parent / tensors).read_bytes()).hexdigest()
                path.write_text(json.dumps(content))
            reseal_json(path)

    return reseal


def reseal_all_json(folder: Path) -> None:
    for path in folder.rglob("*.json"):
        reseal_json(path)


def reseal_tensors(folder: Path) -> None:
    for path in folder.rglob("*.safetensors"):
        with contextlib.suppress(RobustBCError):
            arrays = read_tensors(path).arrays
            arrays.pop("sha256", None)
            path.write_bytes(sealed_tensors(arrays))


def reseal_unfinished(folder: Path) -> None:
    reseal_all_json(folder)
    reseal_tensors(folder)
