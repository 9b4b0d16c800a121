"""What is beside the road: the four numbers, a few lines of text, and the whole road in small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.transforms import Affine2D

from robust_bc_envs.lanes.drawing_canvas import Canvas, Colour, colour, joined, rounded, text_width, wrapped_text
from robust_bc_envs.lanes.drawing_parts import ACCENT, distance_colour, signed
from robust_bc_envs.lanes.drawing_road import GREY, INK, Scene, across, line
from robust_bc_envs.lanes.roads import Array, Road

Tone = Literal["neutral", "good", "bad"]

TONES: dict[Tone, Colour] = {"neutral": ACCENT, "good": colour("#1c9d61"), "bad": colour("#d9303b")}
CARD, CARD_EDGE = colour("#ffffff"), colour("#d3d8df")
DEVIATION_INK = colour("#e0a100")
SMALL_ROAD, SMALL_DONE, SMALL_CAR = colour("#cbd1d9"), colour("#9fc6ff"), colour("#59616d")
ARROW = joined([np.array([[11.0, 0.0], [-7.0, 8.0], [-3.5, 0.0], [-7.0, -8.0]])], closed=True)
MARGIN = 16
CELL_HEIGHT = 64
ROW_HEIGHT, ROW_SIZE = 21, 15
BANNER_SIZE = 26


@dataclass(frozen=True)
class Layout:
    """Where the panels stand, in pixels from the lower left corner."""

    numbers: tuple[float, float]
    """Top left corner."""
    numbers_in_row: int
    cell_width: float
    lines: tuple[float, float]
    """Top right corner."""
    line_width: float
    lines_at_least: float
    """Width of their card."""
    rows: int
    columns: int
    """Of the lines of text: when the rows are full, the next column begins, and what is beyond the last is left out."""
    overview: tuple[float, float, float, float]
    """Left, bottom, width and height of the room for the small road."""
    progress: tuple[float, float]
    """Where the metres driven are written."""
    banner: tuple[float, float]
    """Centre of the large words over the road."""


def draw_card(canvas: Canvas, left: float, top: float, width: float, height: float) -> None:
    """The ground of a panel."""
    canvas.draw(rounded(left, top - height, width, height, 10), face=CARD, edge=CARD_EDGE, width=1)


def draw_numbers(canvas: Canvas, scene: Scene, layout: Layout) -> None:
    """The four features, each above the colour that it has on the road."""
    distances = dict(scene.distances())
    cells: list[tuple[str, str, Colour]] = []
    for name, lane in (("left lane", scene.lane - 1), ("own lane", scene.lane), ("right lane", scene.lane + 1)):
        if lane in distances:
            cells.append((name, f"{distances[lane]:.1f} m", distance_colour(distances[lane])))
        else:
            cells.append((name, "none", CARD_EDGE))
    cells.append(("off centre", signed(float(scene.seen[3])), DEVIATION_INK))
    (left, top), width, in_row = layout.numbers, layout.cell_width, layout.numbers_in_row
    draw_card(canvas, left, top, width * in_row, CELL_HEIGHT * len(cells) / in_row)
    for index, (name, value, shade) in enumerate(cells):
        x, y = left + width * (index % in_row) + 14, top - CELL_HEIGHT * (index // in_row)
        missing = value == "none"
        canvas.text(name, x, y - 16, 15, GREY)
        canvas.text(value, x, y - 37, 18, GREY if missing else INK, bold=not missing)
        canvas.draw(rounded(x, y - CELL_HEIGHT + 8, width - 28, 5, 2.5), face=shade)


def draw_lines(canvas: Canvas, lines: Sequence[str], tone: Tone, layout: Layout) -> None:
    """A few lines of text, the first one bold and in the colour of the tone."""
    rows = [
        (row, number == 0)
        for number, text in enumerate(lines)
        for row in wrapped_text(text, layout.line_width, ROW_SIZE, bold=number == 0)
    ][: layout.rows * layout.columns]
    if not rows:
        return
    columns = [rows[begin : begin + layout.rows] for begin in range(0, len(rows), layout.rows)]
    widths = [max(text_width(text, ROW_SIZE, bold=bold) for text, bold in column) + 22 for column in columns]
    width, height = max(sum(widths) + 18, layout.lines_at_least), ROW_HEIGHT * min(len(rows), layout.rows) + 16
    right, top = layout.lines
    draw_card(canvas, right - width, top, width, height)
    canvas.draw(rounded(right - width + 9, top - height + 9, 5, height - 18, 2.5), face=TONES[tone])
    left = right - width + 26
    for column, column_width in zip(columns, widths, strict=True):
        for row, (text, bold) in enumerate(column):
            y = top - 8 - ROW_HEIGHT * (row + 0.5)
            canvas.text(text, left, y, ROW_SIZE, TONES[tone] if bold else INK, bold=bold)
        left += column_width


def draw_banner(canvas: Canvas, words: Sequence[str], tone: Tone, layout: Layout) -> None:
    """Large words over the road: a title in the colour of the tone, and a line below it."""
    if not words:
        return
    sizes = [BANNER_SIZE, *[ROW_SIZE] * (len(words) - 1)]
    width = max(text_width(text, size, bold=size > ROW_SIZE) for text, size in zip(words, sizes, strict=True)) + 56
    height = 1.5 * sum(sizes) + 24
    (x, middle) = layout.banner
    draw_card(canvas, x - width / 2, middle + height / 2, width, height)
    y = middle + height / 2 - 12
    for text, size in zip(words, sizes, strict=True):
        large = size > ROW_SIZE
        canvas.text(text, x, y - 0.75 * size, size, TONES[tone] if large else INK, align=0.5, bold=large)
        y -= 1.5 * size


class Overview:
    """The whole road in small; it never turns, so it tells where one is on a road of turns."""

    def __init__(self, road: Road, layout: Layout) -> None:
        self.road = road
        # A straight road is long and thin: drawn to scale its length would take the height of the picture.
        self._squeeze = 1.0 if road.curvatures.any() else 0.3
        middle = line(road, 0.0, road.length, 0.0)
        low, high = middle.min(0), middle.max(0)
        left, bottom, width, height = layout.overview
        scale = float((np.array([width, height]) / np.maximum(high - low, 1e-6)).min())
        spare = (np.array([width, height]) - (high - low) * scale) / 2
        self._place = Affine2D().translate(*-low).scale(scale).translate(left + spare[0], bottom + spare[1])
        self._width = float(np.clip(2 * road.half_width * scale * self._squeeze, 8.0, 22.0))
        self._middle = joined([middle])
        half = road.half_width * self._squeeze
        self._finish = joined([across(road, road.length, half, -half)])
        self._progress = layout.progress

    def draw(self, canvas: Canvas, scene: Scene) -> None:
        """The road, how much of it is done, and the cars on it."""
        done = float(np.clip(scene.along, 0.0, self.road.length))
        canvas.text(f"{done:.0f} of {self.road.length:g} m", *self._progress, 16, INK, bold=True)
        canvas.draw(self._middle, edge=SMALL_ROAD, width=self._width, camera=self._place)
        if done > 0:
            path = joined([line(self.road, 0.0, done, 0.0)])
            canvas.draw(path, edge=SMALL_DONE, width=self._width, camera=self._place)
        canvas.draw(self._finish, edge=INK, width=4, camera=self._place)
        for x, y, _ in self._small(scene.cars):
            canvas.draw(rounded(x - 3.5, y - 3.5, 7, 7, 3.5), face=SMALL_CAR)
        x, y, heading = self._small(scene.pose[None])[0]
        canvas.draw(ARROW, ACCENT, colour("#ffffff"), 2, Affine2D().rotate(heading).translate(x, y))

    def _small(self, poses: Array) -> Array:
        """Poses (n, 3) in metres to poses (n, 3) on the small road."""
        along, offset, _ = self.road.locate(poses)
        squeezed = self.road.place(along, offset * self._squeeze)
        squeezed[:, :2] = self._place.transform(squeezed[:, :2])
        squeezed[:, 2] = poses[:, 2]
        return squeezed
