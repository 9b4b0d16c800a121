"""The road seen from above: what goes on there in one frame, its asphalt, its paint and its distance marks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.transforms import Affine2D

from robust_bc_envs.lanes.drawing_canvas import Canvas, colour, joined
from robust_bc_envs.lanes.roads import Array, Road, wrapped

BACKGROUND = colour("#eef0f3")
ASPHALT = colour("#474d57")
PAINT = colour("#f7f8fa")
INK = colour("#1d232c")
GREY = colour("#667080")

RUN_UP, RUN_OUT = 40.0, 15.0
"""Metres of asphalt before the start and behind the finish."""
IN_VIEW = 90.0
"""Metres from the car beyond which nothing is on the picture."""
DASH, DASH_PERIOD = 3.0, 7.5
EDGE = 0.3
"""Metres of asphalt beyond the edge lines."""


@dataclass(frozen=True)
class Scene:
    """The road and what goes on there in one frame, and the camera that takes its metres to pixels."""

    road: Road
    pose: Array  # (3,)
    cars: Array  # (n, 3)
    path: Array  # (T, 2)
    seen: Array  # (4,)
    along: float
    lane: int
    """The own one, as the features count it: beyond the edge it is the outermost."""
    camera: Affine2D
    camera_heading: float
    scale: float
    """Pixels per metre."""

    def pixels(self, along: float, offset: float) -> tuple[float, float]:
        """Of a place on the road."""
        ((x, y),) = self.camera.transform(across(self.road, along, offset, offset)[:1])
        return float(x), float(y)

    def angle(self, along: float) -> float:
        """Of the road on the picture, turned by 180° where text along it would be upside down."""
        heading = float(wrapped(self.road.place(np.array(along), np.zeros(()))[2] - self.camera_heading))
        return heading if abs(heading) <= np.pi / 2 + 0.01 else float(wrapped(heading + np.pi))

    def distances(self) -> list[tuple[int, float]]:
        """The lanes in view that exist, and the free distance in each."""
        lanes = enumerate(range(self.lane - 1, self.lane + 2))
        return [(lane, float(self.seen[column])) for column, lane in lanes if 0 <= lane < self.road.lanes]


class RoadSurface:
    """Asphalt and paint, in metres; made once for a road."""

    def __init__(self, road: Road) -> None:
        self.road = road
        half, start, end = road.half_width, -RUN_UP, road.length + RUN_OUT
        both = np.concatenate([line(road, start, end, half + EDGE), line(road, start, end, -half - EDGE)[::-1]])
        self._asphalt = joined([both], closed=True)
        self._edges = joined([line(road, start, end, offset) for offset in (half, -half)])
        dashes = np.arange(np.ceil(start / DASH_PERIOD) * DASH_PERIOD, end - DASH, DASH_PERIOD)
        between = half - road.lane_width * np.arange(1, road.lanes)
        self._dashes = joined([line(road, dash, dash + DASH, offset) for offset in between for dash in dashes])
        self.marks = np.arange(0.0, road.length, 50.0)
        self._mark_places = road.place(self.marks, np.full(len(self.marks), -half - 2.3))[:, :2]
        self._marks = joined(
            [across(road, mark, side * (half + EDGE), side * (half + 0.9)) for mark in self.marks for side in (-1, 1)]
        )
        self._start = joined([across(road, 0.0, half, -half)])
        # The finish: two rows of squares in turn.
        count = 2 * max(2, round(half / 0.7))
        size = 2 * half / count
        squares = [
            np.concatenate([across(road, begin, top, top - size), across(road, begin + size, top - size, top)])
            for row, begin in enumerate((road.length, road.length + size))
            for top in half - size * np.arange(row, count, 2)
        ]
        self._finish = joined(squares, closed=True)
        ground = [across(road, road.length, half, -half), across(road, road.length + 2 * size, -half, half)]
        self._finish_ground = joined([np.concatenate(ground)], closed=True)

    def draw(self, canvas: Canvas, scene: Scene) -> None:
        """The surface with its distance marks."""
        camera, metre = scene.camera, scene.scale
        canvas.draw(self._marks, edge=GREY, width=2, camera=camera)
        for mark, place in zip(self.marks, self._mark_places, strict=True):
            if np.hypot(*(place - scene.pose[:2])) > IN_VIEW:
                continue
            x, y = camera.transform(place)
            canvas.text(f"{mark:.0f} m", x, y, 14, GREY, align=0.5, angle=scene.angle(mark))
        end = self.road.length
        x, y = scene.pixels(end, -self.road.half_width - 2.3)
        canvas.text(f"finish {end:g} m", x, y, 14, INK, align=0.5, bold=True, angle=scene.angle(end))
        canvas.draw(self._asphalt, face=ASPHALT, camera=camera)
        canvas.draw(self._edges, edge=PAINT, width=0.16 * metre, camera=camera)
        canvas.draw(self._dashes, edge=(*PAINT[:3], 0.85), width=0.14 * metre, camera=camera)
        canvas.draw(self._start, edge=PAINT, width=0.3 * metre, camera=camera)
        canvas.draw(self._finish_ground, face=PAINT, camera=camera)
        canvas.draw(self._finish, face=INK, camera=camera)


def line(road: Road, begin: float, end: float, offset: float) -> Array:
    """Points (n, 2) along the road, dense enough for its turns to look round."""
    count = 2 + int((end - begin) / 0.8) if road.curvatures.any() else 2
    along = np.linspace(begin, end, count)
    return road.place(along, np.full(count, offset))[:, :2]


def across(road: Road, along: float, begin: float, end: float) -> Array:
    """The two ends (2, 2) of a line straight across the road."""
    return road.place(np.full(2, along), np.array([begin, end]))[:, :2]
