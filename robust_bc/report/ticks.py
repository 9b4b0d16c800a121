"""Where the ticks of an axis stand, and how numbers are written."""

from __future__ import annotations

import math

NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
SAME = 1e-9
"""Relative size of what is only rounding."""


def nice_step(span: float, about: int) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that divides the span into at most `about` steps."""
    raw = span / about
    power: float = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in NICE if factor * power >= raw * (1 - SAME))


def ticks_within(low: float, high: float, about: int = 5) -> list[float]:
    """The nice ticks that lie in the range; low < high."""
    step = nice_step(high - low, about)
    return _multiples(step, math.ceil(low / step - SAME), math.floor(high / step + SAME))


def ticks_around(low: float, high: float, about: int = 5) -> list[float]:
    """Nice ticks of which the first and the last enclose the range; low < high."""
    step = nice_step(high - low, about)
    return _multiples(step, math.floor(low / step + SAME), math.ceil(high / step - SAME))


def widened(low: float, high: float) -> tuple[float, float]:
    """A range that an axis can have: around equal values there is some room."""
    if high - low > SAME * max(abs(low), abs(high)):
        return low, high
    room = abs(low) / 10 or 1.0
    return low - room, high + room


def with_zero(low: float, high: float) -> tuple[float, float]:
    """The range from or to zero, where that costs less than half of the axis: heights can then be compared."""
    if 0 < low <= high / 2:
        return 0.0, high
    if low / 2 <= high < 0:
        return low, 0.0
    return low, high


def tick_label(value: float, step: float, percent: bool = False) -> str:
    """With the decimals that the step needs and no more: 5,900 or −0.25 or 30 %."""
    if percent:
        return f"{tick_label(100 * value, 100 * step)} %"
    size = max(abs(value), step)
    if step < 1e-4 or size >= 1e7:
        return _signed(f"{value:.6g}")
    decimals = next((d for d in range(8) if abs(round(step, d) - step) <= 1e-6 * step), 8)
    return _signed(f"{value:,.{decimals}f}")


def number_label(value: float, size: float | None = None) -> str:
    """A value in a tooltip: to four digits of `size`, the largest value beside it, and thousands in full."""
    size = abs(value) if size is None else size
    if size == 0:
        return "0"
    decimals = 3 - math.floor(math.log10(size))
    if decimals > 7 or size >= 1e9:
        return _signed(f"{value:.4g}")
    text = f"{value:,.{max(decimals, 0)}f}"
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


def _multiples(step: float, first: int, last: int) -> list[float]:
    # Rounded to fifteen digits of the largest, so that 3 · 0.1 is 0.3 and −0.0 is 0.
    digits = 14 - math.floor(math.log10(step * max(abs(first), abs(last), 1)))
    return [round(count * step, digits) + 0.0 for count in range(first, last + 1)]


def _signed(text: str) -> str:
    if text.startswith("-"):
        return text[1:] if not text.strip("-0.,") else f"−{text[1:]}"
    return text
