"""Pages in which every text is hostile, made from good ones field by field: a new field is hostile by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from robust_bc.report import Page
from tests.robust_bc.report.demo import demo_page

ARABIC = "مريم"
HOSTILE = " ".join(
    [
        "<script>window.__owned=1</script>",
        '"><img src=x onerror=window.__owned=1>',
        "'</script><script>window.__owned=1</script>",
        "</title></style></textarea><svg onload=window.__owned=1>",
        "<!--<script>-->",
        "javascript:window.__owned=1",
        "&lt;b&gt; | [a](javascript:window.__owned=1) ** _x_ ~~y~~ ` \\",
        "\x00\x1b[31m\x9b31m\x7f\ud800\ufeff",
        "\u202e\u202a\u2066\u200e\u200f\u061c\u200b\u2028\U000e0041",
        ARABIC,
    ]
)
HARMLESS = f"{'harmless ' * 30}{ARABIC}"
"""As long as the hostile one in all that depends on length, and with the letters that a page sets apart."""


def everywhere(text: str) -> tuple[Page, list[str]]:
    """A page with everything on it, in which every text is this one with a number behind it; and these texts."""
    written: list[str] = []

    def write() -> str:
        written.append(f"{text} #{len(written)}#")
        return written[-1]

    return _rewritten(demo_page(), write), written


def _rewritten(value: Any, write: Callable[[], str]) -> Any:
    if isinstance(value, str):
        return write()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value))
        free = [field.name for field in dataclasses.fields(value) if not _is_choice(hints[field.name])]
        return dataclasses.replace(value, **{name: _rewritten(getattr(value, name), write) for name in free})
    if isinstance(value, Mapping) and all(isinstance(entry, str) for entry in value.values()):
        # A command is shown in its own way, and known by its name.
        return {name if name == "command" else write(): write() for name in value}
    if isinstance(value, Sequence):
        return [_rewritten(entry, write) for entry in value]
    return value


def _is_choice(hint: Any) -> bool:
    """One of a few words, which the block checks itself."""
    return any(get_origin(part) is Literal for part in (hint, *get_args(hint)))
