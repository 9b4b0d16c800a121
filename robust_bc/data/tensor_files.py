"""Reading safetensors from anybody: every tensor has the name, shape and type that are expected, or it is refused."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from robust_bc.data.json_files import read_bytes
from robust_bc.errors import DamagedFileError

LARGEST_TENSORS = 1 << 30
"""Bytes of a file. A policy has some kilobytes to megabytes, an audit of ten million pairs 400 MB."""
TYPES = {
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "I64": np.int64,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
"""All that this toolkit writes."""
SEAL = "sha256"
MOST_AXES = 8

Array = NDArray[Any]


@dataclass(frozen=True)
class Expected:
    """What a tensor must be; -1 in the shape is any length."""

    shape: tuple[int, ...]
    type: type[np.generic] = np.float32
    finite: bool = True


@dataclass(frozen=True)
class Tensors:
    """What a file holds."""

    arrays: dict[str, Array]
    sha256: str
    path: Path

    def take(self, expected: Mapping[str, Expected], *, others: bool = False) -> dict[str, Array]:
        """The expected ones, each checked; others are refused, unless `others`."""
        unknown = sorted(self.arrays.keys() - expected.keys())
        if unknown and not others:
            raise DamagedFileError(f"'{self.path}' has an unknown tensor '{unknown[0][:60]}'.")
        return {name: self._checked(name, wanted) for name, wanted in expected.items()}

    def _checked(self, name: str, wanted: Expected) -> Array:
        found = self.arrays.get(name)
        if found is None:
            raise DamagedFileError(f"'{self.path}' has no tensor '{name}'.")
        same = len(found.shape) == len(wanted.shape) and all(
            length in (-1, size) for length, size in zip(wanted.shape, found.shape, strict=True)
        )
        if not same or found.dtype != wanted.type:
            shape = str(wanted.shape).replace("-1", "any")
            raise DamagedFileError(
                f"in '{self.path}' the tensor '{name}' must be {np.dtype(wanted.type)} of shape {shape}, but it is"
                f" {found.dtype} of shape {found.shape}."
            )
        if wanted.finite and found.dtype.kind == "f" and not np.isfinite(found).all():
            raise DamagedFileError(f"in '{self.path}' the tensor '{name}' has numbers that are not finite.")
        return found


def read_tensors(path: Path) -> Tensors:
    """All tensors of a file; the library checks what the header declares against the bytes that are there."""
    content = read_bytes(path, LARGEST_TENSORS)
    try:
        found: list[tuple[str, dict[str, Any]]] = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as problem:
        reason = (str(problem).splitlines() or [""])[0]
        raise DamagedFileError(f"'{path}' is not a whole safetensors file: {reason}.") from problem
    arrays: dict[str, Array] = {}
    for name, told in found:
        if told["dtype"] not in TYPES:
            raise DamagedFileError(f"in '{path}' the tensor '{name[:60]}' has the unknown type {told['dtype']}.")
        kind = np.uint8 if told["dtype"] == "BOOL" else TYPES[told["dtype"]]
        shape = told["shape"]
        if len(shape) > MOST_AXES or math.prod(max(1, size) for size in shape) > LARGEST_TENSORS:
            raise DamagedFileError(f"in '{path}' the tensor '{name[:60]}' has a shape that no array has.")
        little = np.dtype(kind).newbyteorder("<")
        array: Array = np.frombuffer(told["data"], little).reshape(shape).astype(kind)  # can be written to
        arrays[name] = array != 0 if told["dtype"] == "BOOL" else array
    return Tensors(arrays, hashlib.sha256(content).hexdigest(), path)


def sealed_tensors(arrays: Mapping[str, Array]) -> bytes:
    """A file with its own checksum as one more tensor: for state that has no description beside it."""
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return save({**whole, SEAL: _seal(whole)})


def read_sealed_tensors(path: Path) -> Tensors:
    """Tensors without their checksum, which must be right."""
    found = read_tensors(path)
    seal = found.arrays.pop(SEAL, None)
    if seal is None or not np.array_equal(seal, _seal(found.arrays)):
        raise DamagedFileError(f"'{path}' was damaged: its checksum is not that of its content.")
    return found


def _seal(arrays: Mapping[str, Array]) -> NDArray[np.uint8]:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name!r} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)
