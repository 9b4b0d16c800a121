"""Reading HDF5 from anybody: plain arrays that lie in the file itself, no larger than what is there.

HDF5 can do much that a recording does not need: links to other places and other files, arrays whose numbers lie in
another file of the machine, arrays of 10¹⁴ rows that were never written, filters that are loaded as plug-ins. All of it
is refused before a byte is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5g, h5l, h5o, h5s, h5z
from numpy.typing import NDArray

from robust_bc.data.json_files import file_size
from robust_bc.errors import DamagedFileError
from robust_bc.system.plain_text import writable

LARGEST_HDF5 = 1 << 40
NUMBERS, FLAGS, WORDS = "fiu", "b", "SO"
"""Kinds of NumPy types: real numbers; truth values; words of fixed or any length."""
WIDEST = 8
"""Bytes of a number."""
FILTERS = {h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32, h5z.FILTER_LZF}
"""Built into the library. Any other would be looked for among the machine's plug-ins, and loaded."""
BEST_COMPRESSION = 64
"""Bytes that a whole file may make out of each of its own. Recordings are not compressed, or to a tenth; deflate can
make 1,032 out of one, and a megabyte of such is no recording."""
LARGEST_CHUNK = 1 << 24
"""Bytes of a compressed chunk, however little of it is used; what h5py chooses has a megabyte."""
ALWAYS_ROOM = 1 << 28
"""Bytes that a small file may make, however well it is compressed."""
LARGEST_ATTRIBUTE = 1 << 16
MOST_ATTRIBUTES = 1000
MOST_ENTRIES = 1000
"""Names in one group of infos."""
DEEPEST = 8
LONGEST_WORDS = 1 << 26
"""Bytes of all words of any length that one file may have: each may point at the same ones."""

WORDS_AT_ONCE = 16

Array = NDArray[Any]


class Hdf5File:
    """One open file. Every method gives what was asked for, or one sentence that names the place."""

    def __init__(self, path: Path, file: h5py.File, size: int) -> None:
        self.path = path
        self.root: h5g.GroupID = file.id if isinstance(file.id, h5g.GroupID) else h5g.open(file.id, b"/")
        self._unclaimed, self._room = size, max(ALWAYS_ROOM, BEST_COMPRESSION * size)
        self._words = LONGEST_WORDS

    def names(self, group: h5g.GroupID, most: int) -> list[str]:
        """What a group holds."""
        if group.get_num_objs() > most:
            raise self._damaged(f"a group has {group.get_num_objs()} entries, but at most {most} are read")
        return [name.decode() for name in group]

    def group(self, parent: h5g.GroupID, name: str) -> h5g.GroupID:
        """A group in a group."""
        found = self._open(parent, name)
        if not isinstance(found, h5g.GroupID):
            raise self._damaged(f"'{name}' is not a group")
        return found

    def array(self, parent: h5g.GroupID, name: str, place: str, kinds: str = NUMBERS) -> Array:
        """An array in a group, in the byte order of this machine; `place` is how an error calls it."""
        found = self._open(parent, name, place)
        if not isinstance(found, h5d.DatasetID):
            raise self._damaged(f"'{place}' is not an array")
        array: Array = self._read(found, place, kinds)
        return array

    def infos(self, parent: h5g.GroupID, place: str, depth: int = DEEPEST) -> dict[str, Any]:
        """Arrays, numbers and words by name, in groups within groups."""
        if depth == 0:
            raise self._damaged(f"'{place}' is nested too deeply")
        found: dict[str, Any] = {}
        for name in self.names(parent, MOST_ENTRIES):
            entry = self._open(parent, name, f"{place}/{name}")
            if isinstance(entry, h5g.GroupID):
                found[name] = self.infos(entry, f"{place}/{name}", depth - 1)
            elif isinstance(entry, h5d.DatasetID):
                found[name] = self._read(entry, f"{place}/{name}", NUMBERS + FLAGS + WORDS, scalar=True)
            else:
                raise self._damaged(f"'{place}/{name}' is neither an array nor a group")
        return found

    def attributes(self, group: h5g.GroupID, place: str) -> dict[str, Any]:
        """The attributes of a group: numbers, truth values, words, and small arrays of them."""
        given = h5py.Group(group).attrs
        if len(given) > MOST_ATTRIBUTES:
            raise self._damaged(f"'{place}' has {len(given)} attributes, but at most {MOST_ATTRIBUTES} are read")
        found: dict[str, Any] = {}
        for name in given:
            about = given.get_id(name)
            shape, kind = about.shape, about.dtype
            word = h5py.check_string_dtype(kind) is not None and shape == ()
            allowed = kind.kind in NUMBERS + FLAGS + "S" or word
            if shape is None or not allowed or kind.itemsize * math.prod(shape) > LARGEST_ATTRIBUTE:
                raise self._damaged(f"the attribute '{name}' of '{place}' is not a number or a word")
            value = given[name]
            if word:
                self._count(len(value), place)
            found[name] = writable(value) if isinstance(value, str) else value
        return found

    def _open(self, parent: h5g.GroupID, name: str, place: str = "") -> Any:
        """What a hard link leads to; soft ones may run in circles, and external ones lead to other files."""
        encoded = name.encode()
        if "/" in name or not parent.links.exists(encoded):
            raise self._damaged(f"'{place or name}' is missing")
        if parent.links.get_info(encoded).type != h5l.TYPE_HARD:
            raise self._damaged(f"'{place or name}' is a link to somewhere else, which is not followed")
        return h5o.open(parent, encoded)

    def _read(self, dataset: h5d.DatasetID, place: str, kinds: str, scalar: bool = False) -> Any:
        """An array, or a single value where that is fine."""
        self._check_layout(dataset, place)
        space, kind = dataset.get_space(), dataset.dtype
        words = h5py.check_string_dtype(kind) is not None and kind.kind == "O"
        if (
            kind.kind not in kinds
            or (kind.kind == "O" and not words)
            or (kind.kind in NUMBERS and kind.itemsize > WIDEST)
        ):
            raise self._damaged(f"'{place}' has the type {kind}, which is not read")
        plain = (h5s.SIMPLE, h5s.SCALAR) if scalar else (h5s.SIMPLE,)
        if space.get_simple_extent_type() not in plain:
            raise self._damaged(f"'{place}' is a single value or none, but an array is expected")
        shape = space.get_simple_extent_dims()
        self._claim(dataset, math.prod(shape) * dataset.get_type().get_size(), place)
        if words:
            return self._read_words(dataset, shape, place)
        array = np.empty(shape, kind)
        dataset.read(h5s.ALL, h5s.ALL, array)
        if kind.kind == "b":  # a damaged one may be neither 0 nor 1
            array = np.asarray(array.view(np.uint8) != 0)
        else:
            array = array.astype(kind.newbyteorder("="), copy=False)
        return array if shape else array[()]

    def _check_layout(self, dataset: h5d.DatasetID, place: str) -> None:
        plan = dataset.get_create_plist()
        if plan.get_layout() == h5d.VIRTUAL or plan.get_external_count():
            raise self._damaged(f"the numbers of '{place}' are said to lie in another file, which is not read")
        numbers = [plan.get_filter(index)[0] for index in range(plan.get_nfilters())]
        if not set(numbers) <= FILTERS or len(set(numbers)) < len(numbers):
            raise self._damaged(f"'{place}' is compressed by filters {numbers}, which are not read")

    def _claim(self, dataset: h5d.DatasetID, declared: int, place: str) -> None:
        """What is declared must be there, in bytes of the file that no other array has claimed."""
        plan, stored = dataset.get_create_plist(), dataset.get_storage_size()
        compressed = plan.get_nfilters() > 0
        self._unclaimed -= stored
        self._room -= declared
        there = declared <= stored or (compressed and stored > 0)
        if compressed and math.prod(plan.get_chunk()) * dataset.get_type().get_size() > max(LARGEST_CHUNK, declared):
            there = False  # a chunk is unpacked whole
        if not there or self._unclaimed < 0 or self._room < 0:
            raise self._damaged(f"'{place}' declares {declared} bytes, which are not there")

    def _read_words(self, dataset: h5d.DatasetID, shape: tuple[int, ...], place: str) -> Any:
        """Words of any length, in parts: all of them may point at the same long one."""
        whole = h5py.Dataset(dataset)
        if len(shape) != 1:
            if math.prod(shape) > 1:
                raise self._damaged(f"'{place}' has words in more than one row, which are not read")
            word = whole[()]
            self._count(len(word), place)
            return word
        parts: list[Array] = []
        for start in range(0, shape[0], WORDS_AT_ONCE):
            parts.append(whole[start : start + WORDS_AT_ONCE])
            self._count(sum(len(word) for word in parts[-1]), place)
        return np.concatenate(parts) if parts else np.empty(0, object)

    def _count(self, letters: int, place: str) -> None:
        self._words -= letters
        if self._words < 0:
            raise self._damaged(f"'{place}' has more words than are read")

    def _damaged(self, reason: str) -> DamagedFileError:
        return DamagedFileError(f"'{self.path}' cannot be read: {reason}.")


@contextmanager
def open_hdf5(path: Path) -> Iterator[Hdf5File]:
    """A file to read from. Whatever the library finds wrong with it is one sentence."""
    size = file_size(path, LARGEST_HDF5)
    try:
        with h5py.File(path, "r") as file:
            yield Hdf5File(path, file, size)
    except DamagedFileError:
        raise
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, OverflowError, MemoryError, SystemError) as problem:
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")
        raise DamagedFileError(f"'{path}' cannot be read: {reason}.") from problem
