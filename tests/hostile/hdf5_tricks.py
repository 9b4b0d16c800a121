"""What HDF5 can do, and a recording does not need."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np


def _put(group: h5py.Group, part: str, *arguments: Any, **more: Any) -> None:
    del group[part]
    group.create_dataset(part, *arguments, **more)


def _group(file: Any, group: Any, part: str, path: Path) -> None:
    del group[part]
    group.create_group(part)


def _soft(file: Any, group: Any, part: str, path: Path) -> None:
    del group[part]
    group[part] = h5py.SoftLink(f"{group.name}/{part}")


def _external(file: Any, group: Any, part: str, path: Path) -> None:
    del group[part]
    group[part] = h5py.ExternalLink("/etc/passwd", "/")


def _virtual(file: Any, group: Any, part: str, path: Path) -> None:
    shape = group[part].shape
    del group[part]
    layout = h5py.VirtualLayout(shape, "f4")
    layout[...] = h5py.VirtualSource("/etc/passwd", "x", shape)
    group.create_virtual_dataset(part, layout)


def _many_links(file: Any, group: Any, part: str, path: Path) -> None:
    """Ten thousand episodes, all of them the same one."""
    for number in range(len(file), 10_000):
        file[f"episode_{number}"] = group
    metadata = path.parent / "metadata.json"
    with contextlib.suppress(ValueError, OSError):
        metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "total_episodes": 10_000}))


def _attribute(file: Any, group: Any, part: str, path: Path) -> None:
    group.attrs["seed"] = -1
    group.attrs["source"] = np.array([1, 2])
    group.attrs["teacher"] = np.zeros(2, [("a", "i4")])


def _reference(file: Any, group: Any, part: str, path: Path) -> None:
    kind = h5py.ref_dtype
    _put(group, part, data=np.array([group.ref] * 3, kind), dtype=kind)


HDF5: dict[str, Callable[[Any, Any, str, Path], None]] = {
    "a group": _group,
    "missing": lambda file, group, part, path: group.__delitem__(part),
    "no episode": lambda file, group, part, path: file.__delitem__(group.name),
    "episode is an array": lambda file, group, part, path: _put(file, group.name, data=np.zeros(3)),
    "scalar": lambda file, group, part, path: _put(group, part, data=1.0),
    "nothing": lambda file, group, part, path: _put(group, part, data=h5py.Empty("f4")),
    "no rows": lambda file, group, part, path: _put(group, part, data=np.zeros((0, 4))),
    "bytes": lambda file, group, part, path: _put(group, part, data=np.array([b"abc"] * 3)),
    "words": lambda file, group, part, path: _put(group, part, data=["a", "b"], dtype=h5py.string_dtype()),
    "compound": lambda file, group, part, path: _put(group, part, data=np.zeros(3, [("a", "f4"), ("b", "i4")])),
    "complex": lambda file, group, part, path: _put(group, part, data=np.zeros((3, 4), complex)),
    "lists": lambda file, group, part, path: _put(group, part, (3,), dtype=h5py.vlen_dtype(np.float32)),
    "reference": _reference,
    "wide": lambda file, group, part, path: _put(group, part, data=np.zeros((len(group[part]), 5000))),
    "flat": lambda file, group, part, path: _put(group, part, data=np.zeros(len(group[part]))),
    "cube": lambda file, group, part, path: _put(group, part, data=np.zeros((len(group[part]), 2, 2))),
    "longer": lambda file, group, part, path: _put(group, part, data=np.zeros((len(group[part]) + 1, 4))),
    "not a number": lambda file, group, part, path: _put(group, part, data=np.full(group[part].shape, np.nan)),
    "huge numbers": lambda file, group, part, path: _put(group, part, data=np.full(group[part].shape, 1e308)),
    "10^14 rows": lambda file, group, part, path: _put(group, part, (10**14, 4), "f4", chunks=(1024, 4)),
    "10^10 rows": lambda file, group, part, path: _put(
        group, part, (10**10,), "f4", chunks=(1024,), compression="gzip"
    ),
    "bomb": lambda file, group, part, path: _put(group, part, data=np.zeros(10**7), compression="gzip"),
    "elsewhere": lambda file, group, part, path: _put(group, part, (8,), "u1", external=[("/etc/passwd", 0, 8)]),
    "soft link": _soft,
    "external link": _external,
    "virtual": _virtual,
    "many links": _many_links,
    "attributes": _attribute,
}
