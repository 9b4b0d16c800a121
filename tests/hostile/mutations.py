"""Ways to damage a file, by chance."""

from __future__ import annotations

import contextlib
import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from tests.hostile.hdf5_tricks import HDF5
from tests.hostile.json_places import VALUES, as_text, at, closed, opened, places, replaced, without


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
