"""The frame of a chart: from values to the units of its drawing, and its axes with ticks and a light grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_bc.report.blocks import Point
from robust_bc.report.escaping import as_text
from robust_bc.report.ticks import nice_step, tick_label, ticks_around, ticks_within, widened, with_zero

WIDTH, HEIGHT = 480.0, 306.0
RIGHT, TOP, BOTTOM = 16.0, 30.0, 48.0
LETTER = 8.6
"""Room for a letter of the labels, also for the larger ones that a phone gets."""
TICKS = 5
INSET = 10.0
"""Free room between the frame's sides and the first and last x."""


@dataclass(frozen=True)
class Frame:
    """The ranges of both axes and their ticks."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_ticks: list[float]
    y_ticks: list[float]

    @classmethod
    def around(cls, points: Sequence[Point]) -> Frame:
        """A frame that holds all points and their intervals; at least one point has an x and a y."""
        drawn = [point for point in points if point.x is not None and point.y is not None]
        xs = [point.x for point in drawn if point.x is not None]
        ys = [value for point in drawn for value in (point.y, point.low, point.high) if value is not None]
        x_range = widened(min(xs), max(xs))
        y_ticks = ticks_around(*widened(*with_zero(min(ys), max(ys))), TICKS)
        return cls(x_range, (y_ticks[0], y_ticks[-1]), ticks_within(*x_range, TICKS), y_ticks)

    @property
    def x_step(self) -> float:
        return nice_step(self.x_range[1] - self.x_range[0], TICKS)

    @property
    def y_step(self) -> float:
        return self.y_ticks[1] - self.y_ticks[0]

    @property
    def left(self) -> float:
        """Where the frame begins: behind the longest label of y."""
        return 16 + LETTER * max(len(tick_label(value, self.y_step)) for value in self.y_ticks)

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + INSET + (value - low) / (high - low) * (WIDTH - self.left - RIGHT - 2 * INSET)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - BOTTOM - TOP)


def place(number: float) -> str:
    """A coordinate, to a tenth of a unit."""
    return f"{number:.1f}".removesuffix(".0")


def axes(frame: Frame, x_label: str, y_label: str, percent_x: bool = False) -> str:
    """Grid, ticks and labels as SVG; the label of y stands above its axis, to be read without turning one's head."""
    parts = ['<g class="axes" aria-hidden="true">']
    left, right, bottom = frame.left, WIDTH - RIGHT, HEIGHT - BOTTOM
    for value in frame.y_ticks:
        # Where values fall below zero, zero is the line to look for.
        heavy = ' class="zero"' if value == 0 and frame.y_range[0] < 0 else ""
        parts.append(f'<path{heavy} d="M{place(left)} {place(frame.y(value))}H{place(right)}"/>')
    parts.append(f'<path class="base" d="M{place(left)} {place(bottom)}H{place(right)}"/>')
    for value in frame.x_ticks:
        parts.append(f'<path class="base" d="M{place(frame.x(value))} {place(bottom)}v4"/>')
    for value in frame.y_ticks:
        label = tick_label(value, frame.y_step)
        parts.append(f'<text class="end" x="{place(left - 8)}" y="{place(frame.y(value) + 4)}">{label}</text>')
    for value in frame.x_ticks:
        label = tick_label(value, frame.x_step, percent_x)
        parts.append(f'<text class="middle" x="{place(frame.x(value))}" y="{place(bottom + 19)}">{label}</text>')
    parts.append(f'<text class="label end" x="{place(right)}" y="{place(HEIGHT - 8)}">{as_text(x_label)}</text>')
    parts.append(f'<text class="label" x="4" y="15">{as_text(y_label)}</text>')
    parts.append("</g>")
    return "".join(parts)
