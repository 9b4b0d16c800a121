"""Text from outside is shown whole and in order, and nothing of it is lost or taken for something else."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robust_bc.system.plain_text import isolated, visible, writable

# Bidirectional classes: what marks or overrides a direction, breaks lines or paragraphs, or has no width at all.
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN", "B"}
CONTROLS = {"Cc", "Cs", "Zl", "Zp"}
MARKS = "\u061c\u200e\u200f"
TRICKY = st.text(st.sampled_from("a\\uU0202e\u202e\u0000\n\U000e0041\ud800") | st.characters(), max_size=20)


def test_every_character_that_turns_or_steers_is_written_out() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        hidden = unicodedata.bidirectional(character) in TURNING or unicodedata.category(character) in CONTROLS
        if hidden or character in MARKS:
            assert visible(character) == (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
        elif unicodedata.category(character)[0] in "LNPS" and unicodedata.name(character, "").find("FILLER") < 0:
            assert visible(character) == character or character == "\u2800", hex(code)


@pytest.mark.parametrize(
    "text", ["", "ChoiceNet, 30 %", "ρ = −0.5", "مريم", "שלום עולם", "日本語", r"C:\users\new", "é"]
)
def test_what_can_be_read_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(TRICKY)
def test_what_is_shown_has_nothing_hidden_and_can_be_written(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert all(visible(character) == character for character in shown)
    assert len(visible(text, lines=True).split("\n")) == len(text.split("\n"))


@given(TRICKY)
@example(r"\u202e \\u202e \U000e0041 \\U000e0041")
@example("\\\u202e \\\\\u202e \\\U000e0041")
def test_nothing_is_lost(text: str) -> None:
    """An odd number of backslashes begins an escape, an even one is half as many: so the text can be told from it."""
    assert read_back(visible(text)) == text


def read_back(shown: str) -> str:
    found, place = "", 0
    while place < len(shown):
        rest = shown[place:]
        backslashes = len(rest) - len(rest.lstrip("\\"))
        digits = {"u": 4, "U": 8}.get(rest[backslashes : backslashes + 1], 0)
        code = rest[backslashes + 1 : backslashes + 1 + digits]
        if backslashes and digits and len(code) == digits and all(digit in "0123456789abcdef" for digit in code):
            found += "\\" * (backslashes // 2)
            place += backslashes
            if backslashes % 2:
                found += chr(int(code, 16))
                place += 1 + digits
            continue
        found += rest[: backslashes + 1]
        place += backslashes + 1
    return found


def test_lines_stay_where_they_are_asked_for() -> None:
    assert visible("robust-bc \\\n\tshow\r", lines=True) == "robust-bc \\\n\tshow\\u000d"
    assert visible("a\nb") == "a\\u000ab"


def test_words_from_right_to_left_are_set_apart() -> None:
    assert isolated("by مريم علي, 12") == "by \u2068مريم علي\u2069, 12"
    assert isolated("by ann, 12") == "by ann, 12"


def test_half_a_pair_can_be_written() -> None:
    assert writable("a\udcffb\u202e") == "a\\udcffb\u202e"
