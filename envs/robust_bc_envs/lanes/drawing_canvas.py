"""An anti-aliased canvas: paths and text with sub-pixel edges, straight into an array of pixels.

It draws with Agg, which comes with matplotlib: quicker and smoother than supersampling, and it needs no display.
Pixels count from the lower left corner, y upwards.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgba
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D, IdentityTransform, Transform
from numpy.typing import NDArray

from robust_bc_envs.lanes.roads import Array

Colour = tuple[float, float, float, float]

CAPITAL_HEIGHT = 0.73
"""Of a capital letter or digit of DejaVu Sans, in font sizes."""


class Canvas:
    """Draws one frame after the other into the same memory."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        # At 72 dots an inch matplotlib's points are pixels.
        self._renderer: Any = RendererAgg(width, height, 72)  # type: ignore[no-untyped-call]

    def clear(self, colour: Colour) -> None:
        """One colour everywhere."""
        pixel = np.round(np.array(colour) * 255).astype(np.uint8)
        self._memory().view(np.uint32)[:] = pixel.view(np.uint32)  # a pixel at a time, not a channel at a time

    def draw(
        self,
        path: Path,
        face: Colour | None = None,
        edge: Colour | None = None,
        width: float = 0.0,
        camera: Transform | None = None,
        cap: str = "butt",
    ) -> None:
        """Fill a path, stroke it `width` pixels wide, or both; the camera takes its metres to pixels."""
        context = self._renderer.new_gc()
        # Snapped to whole pixels, a car would tremble against the road.
        context.set_snap(False)
        context.set_linewidth(width if edge else 0.0)
        context.set_capstyle(cap)
        context.set_joinstyle("round")
        if edge:
            context.set_foreground(edge, isRGBA=True)
        self._renderer.draw_path(context, path, camera or IdentityTransform(), face)

    def text(
        self,
        text: str,
        x: float,
        y: float,
        size: float,
        colour: Colour,
        *,
        align: float = 0.0,
        bold: bool = False,
        angle: float = 0.0,
    ) -> None:
        """Text whose capitals are centred at height y; align 0 starts it at x, 1/2 centres it, 1 ends it there."""
        outline, width = _outline(text, bold)
        centred = Affine2D().translate(-align * width, -CAPITAL_HEIGHT / 2).scale(size)
        self.draw(outline, face=colour, camera=centred.rotate(angle).translate(x, y))

    def frame(self) -> NDArray[np.uint8]:
        """A copy of the picture, (H, W, 3), rows from the top."""
        frame = np.empty((self.height, self.width, 3), np.uint8)
        memory = self._memory()
        for channel in range(3):  # a third of the time of copying memory[..., :3]
            frame[..., channel] = memory[..., channel]
        return frame

    def _memory(self) -> NDArray[np.uint8]:
        return np.asarray(self._renderer.buffer_rgba())


def colour(code: str, opacity: float = 1.0) -> Colour:
    """Of a code such as `#2f6fed`."""
    return to_rgba(code, opacity)


def joined(lines: list[Array], *, closed: bool = False) -> Path:
    """Many lines (n, 2) as one path, which is drawn at once."""
    codes = []
    for line in lines:
        code = np.full(len(line), Path.LINETO, np.uint8)
        code[0] = Path.MOVETO
        codes.append(np.append(code, Path.CLOSEPOLY).astype(np.uint8) if closed else code)
    points = [np.concatenate([line, line[:1]]) if closed else line for line in lines]
    if not lines:
        return Path(np.zeros((0, 2)))
    return Path(np.concatenate(points), np.concatenate(codes))


def rounded(left: float, bottom: float, width: float, height: float, radius: float, front: float | None = None) -> Path:
    """A rectangle with round corners, those at its right with the radius `front`."""
    right, top = left + width, bottom + height
    front = radius if front is None else front
    corner = [Path.LINETO, Path.CURVE3, Path.CURVE3]
    points = [
        (left + radius, bottom),
        *((right - front, bottom), (right, bottom), (right, bottom + front)),
        *((right, top - front), (right, top), (right - front, top)),
        *((left + radius, top), (left, top), (left, top - radius)),
        *((left, bottom + radius), (left, bottom), (left + radius, bottom)),
        (left + radius, bottom),
    ]
    return Path(np.array(points), np.array([Path.MOVETO, *4 * corner, Path.CLOSEPOLY], np.uint8))


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Pixels."""
    return size * _outline(text, bold)[1]


def wrapped_text(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """The text in lines that are not wider than that, broken between words."""
    rows: list[str] = []
    for word in text.split(" "):
        if rows and text_width(f"{rows[-1]} {word}", size, bold=bold) <= width:
            rows[-1] += f" {word}"
        else:
            rows.append(word)
    return rows


@lru_cache(maxsize=2000)
def _outline(text: str, bold: bool) -> tuple[Path, float]:
    """Text of size 1 that starts at (0, 0), and its width. As outlines it turns and moves without a jump."""
    points: list[Array] = [np.zeros((0, 2))]
    codes: list[NDArray[np.uint8]] = [np.zeros(0, np.uint8)]
    width = 0.0
    for letter in text:
        letter_points, letter_codes, advance = _letter(letter, bold)
        points.append(letter_points + np.array([width, 0.0]))
        codes.append(letter_codes)
        width += advance
    return Path(np.concatenate(points), np.concatenate(codes)), width


@lru_cache(maxsize=2000)
def _letter(letter: str, bold: bool) -> tuple[Array, NDArray[np.uint8], float]:
    """The outline of a letter of size 1, (n, 2) and (n,), and how far behind it the next one stands.

    Matplotlib outlines whole texts only, and no blank ones: a bar behind the letter tells how far it was moved.
    """
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    font = FontProperties(fname=FilePath(matplotlib.get_data_path()) / "fonts" / "ttf" / name)
    bar, both = (TextPath((0, 0), text, size=100, prop=font) for text in ("|", f"{letter}|"))
    points, bar_points = np.asarray(both.vertices, np.float64) / 100, np.asarray(bar.vertices, np.float64) / 100
    own = len(points) - len(bar_points)
    return points[:own], np.asarray(both.codes, np.uint8)[:own], float(points[own, 0] - bar_points[0, 0])
