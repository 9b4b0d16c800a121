"""The top view of the lane-driving world: frames as arrays, or in a window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.drawing_canvas import Canvas, rounded
from robust_bc_envs.lanes.drawing_panels import (
    CARD_EDGE,
    CELL_HEIGHT,
    MARGIN,
    Layout,
    Overview,
    Tone,
    draw_banner,
    draw_lines,
    draw_numbers,
)
from robust_bc_envs.lanes.drawing_parts import (
    ACCENT,
    STANDING,
    draw_bands,
    draw_car,
    draw_deviation,
    draw_distance_labels,
    draw_path,
)
from robust_bc_envs.lanes.drawing_road import BACKGROUND, IN_VIEW, RoadSurface, Scene
from robust_bc_envs.lanes.roads import Array, Road

WIDTH = 1200
STRAIGHT_SCALE, CURVED_SCALE = 16.0, 12.0
"""Pixels per metre: the 40 m that the driver sees and some more are on the picture."""
ABOVE, BELOW = 132, 100
"""Pixels beside a straight road, for the panels."""
CURVED_HEIGHT, SIDEBAR = 640, 288
"""A road of turns goes up and down over the picture, so its panels have a bar of their own."""
LOOK_BACK, LOOK_AHEAD = 10.0, 25.0
"""Metres of road over which the camera averages its heading: a turn begins and ends smoothly."""


class RoadView:
    """A camera that follows the car along its road, which always runs to the right.

    It stays above the road's middle, so the car is seen to move across the lanes. A frame depends on nothing but what
    is drawn in it.
    """

    def __init__(self, road: Road, window: bool = False) -> None:
        self.road = road
        self._straight = not road.curvatures.any()
        if self._straight:
            self.scale, across = STRAIGHT_SCALE, int(np.ceil(2 * road.half_width * STRAIGHT_SCALE))
            self.height = 16 * -(-(across + ABOVE + BELOW) // 16)  # video codecs like multiples of 16
            self._layout = straight_layout(self.height)
            self._focus = WIDTH / 3, self.height - ABOVE - across / 2
        else:
            self.scale, self.height = CURVED_SCALE, CURVED_HEIGHT
            self._layout = curved_layout()
            self._focus = (WIDTH - SIDEBAR) / 3, self.height / 2
        self._canvas = Canvas(WIDTH, self.height)
        self._surface = RoadSurface(road)
        self._overview = Overview(road, self._layout)
        self._frame: NDArray[np.uint8] | None = None
        self._window = None
        if window:
            from robust_bc_envs.lanes.drawing_window import Window

            self._window = Window(WIDTH, self.height, "lane driving")

    @property
    def closed(self) -> bool:
        """Whether the window is closed, by the person or by `close`; without a window there is nothing to close."""
        return self._window is not None and self._window.closed

    def draw(
        self,
        pose: Array,
        cars: Array,
        path: Array,
        seen: Array,
        lines: Sequence[str] = (),
        tone: Tone = "neutral",
        banner: Sequence[str] = (),
        banner_tone: Tone = "neutral",
    ) -> NDArray[np.uint8]:
        """A frame (H, W, 3).

        It shows the car at `pose` (3,), the standing `cars` (n, 3), where the car has been, `path` (T, 2), and the
        features `seen` (4,). The `lines` go into a panel, the first as its title, coloured by `tone`; the `banner`
        goes over the road, large.
        """
        scene = self._scene(pose, cars, path, seen)
        canvas = self._canvas
        canvas.clear(BACKGROUND)
        self._surface.draw(canvas, scene)
        draw_bands(canvas, scene)
        draw_path(canvas, scene)
        for car in scene.cars:
            if np.hypot(*(car - scene.pose)[:2]) < IN_VIEW:
                draw_car(canvas, scene, car, STANDING)
        draw_car(canvas, scene, scene.pose, ACCENT, driven=True)
        draw_deviation(canvas, scene)
        draw_distance_labels(canvas, scene)
        if not self._straight:
            draw_sidebar(canvas)
        self._overview.draw(canvas, scene)
        draw_numbers(canvas, scene, self._layout)
        draw_lines(canvas, lines, tone, self._layout)
        draw_banner(canvas, banner, banner_tone, self._layout)
        self._frame = canvas.frame()
        return self._frame

    def show(self, fps: float) -> None:
        """Put the last frame into the window and keep the pace of `fps` frames a second."""
        if self._window is None:
            raise RobustBCError("this view has no window; make it with window=True.")
        if self._frame is not None:
            self._window.show(self._frame, fps)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()

    def _scene(self, pose: Array, cars: Array, path: Array, seen: Array) -> Scene:
        road = self.road
        pose = np.asarray(pose, np.float64)
        along, offset, _ = (values[0] for values in road.locate(pose[None]))
        window = np.linspace(along - LOOK_BACK, along + LOOK_AHEAD, 36)
        heading = float(road.place(window.clip(0.0, road.length), np.zeros(36))[:, 2].mean())
        x, y, _ = road.place(along, np.zeros(()))
        camera = Affine2D().translate(-x, -y).rotate(-heading).scale(self.scale)
        # In a turn the road is above or below the car: the camera goes there with it.
        stretch = np.linspace(along - 2 * LOOK_BACK, along + 2 * LOOK_AHEAD, 36).clip(0.0, road.length)
        aside = float(camera.transform(road.place(stretch, np.zeros(36))[:, :2])[:, 1].mean())
        return Scene(
            road=road,
            pose=pose,
            cars=np.asarray(cars, np.float64).reshape(-1, 3),
            path=np.asarray(path, np.float64).reshape(-1, 2),
            seen=np.asarray(seen, np.float64),
            along=float(along),
            lane=int(np.clip(road.lane_of(offset), 0, road.lanes - 1)),
            camera=camera.translate(self._focus[0], self._focus[1] - aside),
            camera_heading=heading,
            scale=self.scale,
        )


def straight_layout(height: int) -> Layout:
    """The panels above and below the road."""
    top = height - MARGIN
    return Layout(
        numbers=(MARGIN, top),
        numbers_in_row=4,
        cell_width=116,
        lines=(WIDTH - MARGIN, top),
        line_width=310,
        lines_at_least=0,
        rows=4,
        columns=2,
        overview=(164, 20, WIDTH - 164 - 40, 20),
        progress=(MARGIN + 8, 30),
        banner=(0.64 * WIDTH, BELOW + (height - ABOVE - BELOW) / 2),
    )


def curved_layout() -> Layout:
    """The panels in a bar at the right."""
    left, top, inner = WIDTH - SIDEBAR + MARGIN, CURVED_HEIGHT - MARGIN, SIDEBAR - 2 * MARGIN
    return Layout(
        numbers=(left, top),
        numbers_in_row=2,
        cell_width=inner / 2,
        lines=(WIDTH - MARGIN, top - 2 * CELL_HEIGHT - MARGIN),
        line_width=inner - 40,
        lines_at_least=inner,
        rows=10,
        columns=1,
        overview=(left + 20, MARGIN + 20, inner - 40, 140),
        progress=(left + 4, MARGIN + 190),
        banner=((WIDTH - SIDEBAR) / 2, MARGIN + 50),
    )


def draw_sidebar(canvas: Canvas) -> None:
    """The ground of the panels beside a road of turns."""
    canvas.draw(
        rounded(WIDTH - SIDEBAR, -1, SIDEBAR + 1, CURVED_HEIGHT + 2, 0), face=BACKGROUND, edge=CARD_EDGE, width=1
    )
