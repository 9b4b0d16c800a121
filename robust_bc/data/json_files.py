"""Reading JSON from anybody: plain files of bounded size and depth, one sentence for whatever is wrong, and seals.

A seal is a checksum inside of an object, over all its other entries. It tells damage, not ill will: whoever changes a
file on purpose can seal it again, so what is read is checked entry by entry as well.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from robust_bc.data.typed import MisfitError, typed
from robust_bc.errors import DamagedFileError, RobustBCError

LARGEST_JSON = 48 << 20
"""Bytes. The largest that this toolkit writes, the audit of 100,000 episodes, has some 40 MB. In memory a text takes up
to 15 times as much."""
MOST_OBJECTS = 2_000_000
"""Objects and lists, which take the most memory for their text: two letters are 64 bytes."""
DEEPEST = 64
"""Levels of objects and lists; what this toolkit and Minari write has at most 10."""
MOST_DIGITS = 40
"""Of a whole number: every one of these is a float as well."""
LONG_NUMBER = re.compile(rf"\d{{{MOST_DIGITS + 1}}}")
SEAL = "sha256"

Made = TypeVar("Made")


def file_size(path: Path, largest: int) -> int:
    """Bytes of a plain file: a pipe or a device would never end, and what is too large is no such file."""
    try:
        about = path.stat()
    except FileNotFoundError:
        raise DamagedFileError(f"there is no file '{path}'.") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in its name
        raise DamagedFileError(f"'{path}' cannot be read: {getattr(problem, 'strerror', None) or problem}.") from None
    if not stat.S_ISREG(about.st_mode):
        raise DamagedFileError(f"'{path}' is not a file.")
    if about.st_size > largest:
        raise DamagedFileError(f"'{path}' has {about.st_size} bytes, but at most {largest} are read.")
    return about.st_size


def read_bytes(path: Path, largest: int) -> bytes:
    """The content of a plain file."""
    file_size(path, largest)
    try:
        return path.read_bytes()
    except OSError as problem:
        raise DamagedFileError(f"'{path}' cannot be read: {problem.strerror}.") from problem


def read_json(path: Path, *, infinite: bool = False) -> dict[str, Any]:
    """The object in a JSON file; NaN and infinity, which are no JSON, only with `infinite`."""
    return parse_json(read_bytes(path, LARGEST_JSON), str(path), infinite=infinite)


def parse_json(content: bytes | str, name: str, *, infinite: bool = False) -> dict[str, Any]:
    """The object in a text, which an error calls by its name."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is no JSON number")

    def whole(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            raise ValueError(f"a number of {len(digits)} digits")
        return int(digits)

    try:
        text = content.decode() if isinstance(content, bytes) else content
        if text.count("[") + text.count("{") > MOST_OBJECTS:
            raise ValueError(f"it has more than {MOST_OBJECTS} objects and lists")
        # A function for every number takes long, so it is called only where there is a long one.
        long = LONG_NUMBER.search(text) is not None
        found = json.loads(text, parse_constant=None if infinite else refuse, parse_int=whole if long else None)
        _check_depth(found)
    except (ValueError, RecursionError) as problem:
        reason = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise DamagedFileError(f"'{name}' is not valid JSON: {reason.splitlines()[0].rstrip('.')}.") from None
    if not isinstance(found, dict):
        raise DamagedFileError(f"'{name}' is a JSON {type(found).__name__}, but an object is expected.")
    return found


def _check_depth(found: object) -> None:
    """Without recursion: what is deep must not be walked by it. Half a character of UTF-16 could not be written."""
    level: list[object] = [found]
    for _ in range(DEEPEST):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below += [*value.keys(), *value.values()]
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str):
                value.encode()
        if not below:
            return
        level = below
    raise RecursionError


def as_typed(kind: type[Made], content: object, name: str, *, others: bool = False) -> Made:
    """The content of a file as a dataclass, or one sentence about the first entry that does not fit."""
    try:
        return typed(kind, content, others=others)
    except (MisfitError, RobustBCError) as problem:  # of the wrong type, or refused by the dataclass itself
        raise DamagedFileError(f"in '{name}' {str(problem).rstrip('.')}.") from None


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """The object with its own checksum as the last entry."""
    return {**content, SEAL: _seal(content)}


def unsealed(content: dict[str, Any], name: str) -> dict[str, Any]:
    """The object without its checksum, which must be right."""
    bare = {key: value for key, value in content.items() if key != SEAL}
    if content.get(SEAL) != _seal(bare):
        raise DamagedFileError(f"'{name}' was damaged, or changed by hand: its checksum is not that of its content.")
    return bare


def _seal(content: dict[str, Any]) -> str:
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError:  # 1e999 is read as infinity, which nobody sealed
        return ""
    return hashlib.sha256(text.encode()).hexdigest()
