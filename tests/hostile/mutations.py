"""Ways to damage a file, by chance and on purpose."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Path_ = tuple[str | int, ...]
FIRST = 3
"""Entries of a list that are looked at: the others are alike."""

DEEP = "DEEP"
"""Replaced by 10,000 nested lists in the text: no library writes them."""
HUGE = "HUGE"
"""Replaced by 10 to the 400."""
BEYOND = "BEYOND"
"""Replaced by 1e999."""
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 3, 2**31, 2**63, 10**14, -(10**14), 0.5, -0.5, 1e-320, 1e308, -1e308),
    *("", "x", "os:system", "../../../etc/passwd", "a" * 100_000, "\ud800", "\x00", "\u202e", "null", "nan"),
    *([], {}, [[]], [None], [1, 2, 3], ["x"], {"x": 1}, [0.1] * 10_000),
    *(DEEP, HUGE, BEYOND, float("nan"), float("inf")),
)


def places(content: Any, here: Path_ = ()) -> Iterator[Path_]:
    """The path of every entry."""
    if isinstance(content, dict):
        entries: Any = content.items()
    elif isinstance(content, list):
        entries = enumerate(content[:FIRST])
    else:
        return
    for name, value in entries:
        yield (*here, name)
        yield from places(value, (*here, name))


def at(content: Any, place: Path_) -> Any:
    for name in place:
        content = content[name]
    return content


def replaced(content: Any, place: Path_, value: Any) -> Any:
    changed = copy.deepcopy(content)
    at(changed, place[:-1])[place[-1]] = value
    return changed


def without(content: Any, place: Path_) -> Any:
    changed = copy.deepcopy(content)
    del at(changed, place[:-1])[place[-1]]
    return changed


def as_text(content: Any) -> bytes:
    text = json.dumps(content)
    for word, raw in ((DEEP, "[" * 10_000 + "]" * 10_000), (HUGE, "1" + "0" * 400), (BEYOND, "1e999")):
        text = text.replace(f'"{word}"', raw)
    return text.encode()


def opened(content: Any) -> Any:
    """JSON texts within JSON, as objects: Minari keeps spaces and environments so."""
    if isinstance(content, dict):
        return {name: _inner(value) if isinstance(value, str) else opened(value) for name, value in content.items()}
    return content


def closed(content: Any, like: Any) -> Any:
    """The other way round; `like` tells where there was a text."""
    if not isinstance(content, dict) or not isinstance(like, dict):
        return content
    return {
        name: as_text(value).decode() if isinstance(like.get(name), str) and isinstance(value, dict | list) else value
        for name, value in content.items()
    }


def _inner(text: str) -> Any:
    with contextlib.suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    return text


def damage(path: Path, chance: random.Random) -> str:
    """Damage a file in one way or another, and say how."""
    general = (flip, cut, garbage, zeros, emptied, doubled, gone)
    special: dict[str, tuple[Callable[[Path, random.Random], str], ...]] = {
        ".json": (entry, entry, entry, entry, entry, rename, text),
        ".safetensors": (header, header, header, numbers),
        ".hdf5": (hdf5, hdf5, hdf5),
    }
    ways = special[path.suffix] if chance.random() < 0.7 else general
    return chance.choice(ways)(path, chance)


def flip(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    count = chance.choice((1, 1, 1, 4, 64))
    for _ in range(count):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(content))
    return f"{count} bits flipped"


def cut(path: Path, chance: random.Random) -> str:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])
    return "cut"


def garbage(path: Path, chance: random.Random) -> str:
    content = path.read_bytes()
    place = chance.randrange(len(content))
    path.write_bytes(content[:place] + chance.randbytes(chance.choice((1, 8, 100))) + content[place:])
    return "garbage put in"


def zeros(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    place, length = chance.randrange(len(content)), chance.choice((4, 64, 1024))
    content[place : place + length] = chance.choice((b"\x00", b"\xff")) * len(content[place : place + length])
    path.write_bytes(bytes(content))
    return "a block of zeros or ones"


def emptied(path: Path, chance: random.Random) -> str:
    path.write_bytes(b"")
    return "emptied"


def doubled(path: Path, chance: random.Random) -> str:
    path.write_bytes(path.read_bytes() * 2)
    return "doubled"


def gone(path: Path, chance: random.Random) -> str:
    """In its place nothing, a folder, a pipe, a link to itself, to a device, or to a file of the machine."""
    way = chance.choice(("nothing", "folder", "pipe", "loop", "device", "elsewhere", "sparse"))
    path.unlink()
    if way == "folder":
        path.mkdir()
    elif way == "pipe":
        os.mkfifo(path)
    elif way == "loop":
        path.symlink_to(path)
    elif way == "device":
        path.symlink_to("/dev/zero")
    elif way == "elsewhere":
        path.symlink_to("/etc/passwd")
    elif way == "sparse":
        with path.open("wb") as file:
            file.truncate(10**13)
    return f"replaced by {way}"


def entry(path: Path, chance: random.Random) -> str:
    whole = json.loads(path.read_text())
    content = opened(whole)
    place = chance.choice(list(places(content)))
    if chance.random() < 0.2:
        changed, how = without(content, place), "left out"
    else:
        value = chance.choice(VALUES)
        changed, how = replaced(content, place, value), f"= {str(value)[:20]!a}"
    path.write_bytes(as_text(closed(changed, whole)))
    return f"{place} {how}"


def rename(path: Path, chance: random.Random) -> str:
    content = json.loads(path.read_text())
    place = chance.choice([place for place in places(content) if isinstance(place[-1], str)])
    value = at(content, place)
    path.write_bytes(as_text(replaced(without(content, place), (*place[:-1], f"{place[-1]}x"), value)))
    return f"{place} renamed"


def text(path: Path, chance: random.Random) -> str:
    way = chance.choice(
        (b"[" * 10_000, b'{"a":' * 10_000, b"null", b"[]", b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"{}", b"1" * 5000)
    )
    path.write_bytes(way)
    return f"text {way[:12]!r}"


def header(path: Path, chance: random.Random) -> str:
    """An entry of the header of a safetensors file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    told, rest = json.loads(content[8 : 8 + length]), content[8 + length :]
    names = [name for name in told if name != "__metadata__"]
    name, way = chance.choice(names), chance.choice(("name", "shape", "dtype", "offsets", "entry", "length"))
    if way == "name":
        told[name[:-1] + chr(ord(name[-1]) ^ 1)] = told.pop(name)
    elif way == "shape":
        told[name]["shape"] = chance.choice(([10**14], [-1], [2**63], [], [0], [1, 1, 1, 1], told[name]["shape"][::-1]))
    elif way == "dtype":
        told[name]["dtype"] = chance.choice(("F64", "F32", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "X", "C64"))
    elif way == "offsets":
        told[name]["data_offsets"] = chance.choice(([0, 10**14], [5, 1], [-1, 3], [0, 0]))
    elif way == "entry":
        place = chance.choice(list(places(told)))
        told = replaced(told, place, chance.choice(VALUES))
    raw = as_text(told)
    size = len(raw) if way != "length" else chance.choice((0, 10**14, 2**64 - 1, len(raw) * 2))
    path.write_bytes(struct.pack("<Q", size) + raw + rest)
    return f"{name}: {way}"


def numbers(path: Path, chance: random.Random) -> str:
    """A number of a tensor, as another one."""
    content = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", content[:8])
    value = chance.choice(
        (np.float32(np.nan), np.float64(np.nan), np.float32(-np.inf), np.float64(1e308), np.int64(-1))
    )
    place = 8 + length + 4 * chance.randrange(max(1, (len(content) - 8 - length) // 4))
    content[place : place + value.nbytes] = value.tobytes()
    path.write_bytes(bytes(content))
    return f"a number is {value}"


def hdf5(path: Path, chance: random.Random) -> str:
    """Something that HDF5 can do, and a recording does not need."""
    way = chance.choice(list(HDF5))
    part = chance.choice(("observations", "actions", "rewards", "terminations", "truncations"))
    with h5py.File(path, "a") as file:
        group = file[f"episode_{chance.randrange(len(file))}"]
        with contextlib.suppress(KeyError):
            HDF5[way](file, group, part, path)
    return f"{part}: {way}"


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
