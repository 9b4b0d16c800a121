"""Any text as HTML that shows just this text: the one way for names and numbers into a page."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from robust_bc.system.plain_text import isolated, visible


def as_text(text: str) -> str:
    """For attributes, titles and SVG, where no other element can stand."""
    return escape(visible(text, lines=True))


def as_content(text: str) -> str:
    """For what is read on the page: right-to-left words do not turn the text around them."""
    return isolated(as_text(text), "<bdi>", "</bdi>")


def as_json(content: Any) -> str:
    """For a data block: JSON in ASCII that cannot end its script element; NaN and infinity are an error."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
