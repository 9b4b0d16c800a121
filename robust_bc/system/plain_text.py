r"""Text from files as a person may read it: nothing in it hides, turns the order of reading, or steers a terminal."""

from __future__ import annotations

import re

HIDDEN = (
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters: NUL, ESC and the rest of what a terminal obeys, line breaks, tabs
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # what no font draws
    "\ud800-\udfff"  # halves of a pair, which no file can hold
    "]"
)
"""Characters that are not for reading, as a class of a regular expression."""
LINES = "\n\t"
ESCAPED = re.compile(rf"\\+(?=u[0-9a-f]{{4}}|U[0-9a-f]{{8}}|{HIDDEN})|{HIDDEN}")
# The blocks that Unicode keeps for scripts such as Hebrew and Arabic: a word, or several with a space between.
LETTERS = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
RIGHT_TO_LEFT = re.compile(f"{LETTERS}+(?: {LETTERS}+)*")
FIRST_STRONG_ISOLATE, POP_DIRECTIONAL_ISOLATE = "\u2068", "\u2069"


def visible(text: str, lines: bool = False) -> str:
    r"""The text with every hidden character written out, such as \u202e; with `lines`, line breaks and tabs stay.

    Two different texts never come out the same: a backslash that would read as such an escape is doubled.
    """

    def written(match: re.Match[str]) -> str:
        found = match[0]
        if found[0] == "\\":
            stays = lines and text[match.end()] in LINES
            return found if stays else 2 * found
        if lines and found in LINES:
            return found
        code = ord(found)
        return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

    return ESCAPED.sub(written, text)


def isolated(text: str, begin: str = FIRST_STRONG_ISOLATE, end: str = POP_DIRECTIONAL_ISOLATE) -> str:
    """The text with words of right-to-left scripts set apart, so that they do not turn what stands around them."""
    return RIGHT_TO_LEFT.sub(rf"{begin}\g<0>{end}", text)


def writable(text: str) -> str:
    r"""The text as a file can hold it: what is no character, such as a lone half of a pair, is written as \udcff."""
    return text.encode(errors="backslashreplace").decode()
