"""Entries of JSON by their places, and values that no library writes."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

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
