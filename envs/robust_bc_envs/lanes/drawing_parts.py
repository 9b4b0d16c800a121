"""What is on the road: cars, the driven path, free distances and the lane deviation, each drawn in metres."""

from __future__ import annotations

import numpy as np
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from robust_bc_envs.lanes.drawing_canvas import Canvas, Colour, colour, joined, rounded, text_width
from robust_bc_envs.lanes.drawing_road import PAINT, RUN_OUT, Scene, across, line
from robust_bc_envs.lanes.driving import CAR_LENGTH, CAR_WIDTH, VIEW_DISTANCE
from robust_bc_envs.lanes.roads import Array

ACCENT = colour("#2f7df6")
"""Of the driven car, and of nothing else."""
STANDING = colour("#c3c9d2")
GLASS = colour("#232b36")
PATH = "#8fc0ff"
DEVIATION = colour("#ffd166")
LABEL_GROUND = colour("#22272f", 0.9)
NEAR, MIDDLE, FAR = (np.array(colour(code)) for code in ("#f0434c", "#f7b733", "#35c17e"))
NEAR_DISTANCE = 6.0
"""Metres: from here on it cannot get any redder."""

PATH_FADES = 45.0
"""Metres behind the car at which the path is faintest."""
LABEL_SIZE, LABEL_HEIGHT = 16, 23


BODY = rounded(-CAR_LENGTH / 2, -CAR_WIDTH / 2, CAR_LENGTH, CAR_WIDTH, 0.5, front=0.85)
CABIN = rounded(-1.95, -1.0, 3.2, 2.0, 0.35, front=0.5)
ROOF = rounded(-1.4, -0.88, 1.75, 1.76, 0.25)
WINDSCREEN_FRAME = joined([np.array([[0.35, 0.88], [1.05, 1.1]]), np.array([[0.35, -0.88], [1.05, -1.1]])])
HEADLIGHTS = joined([np.array([[2.2, side * 0.6], [2.05, side * 0.95]]) for side in (-1, 1)])
TAIL_LIGHTS = joined([np.array([[-2.33, side * 0.5], [-2.33, side * 0.95]]) for side in (-1, 1)])
ARROW = joined([np.array([[-0.95, 0.45], [-0.1, 0.0], [-0.95, -0.45]])])


def draw_car(canvas: Canvas, scene: Scene, pose: Array, paint: Colour, *, driven: bool = False) -> None:
    """A car as large as the one that collides, seen from above."""
    place = Affine2D().rotate(pose[2]).translate(pose[0], pose[1])
    camera, metre = place + scene.camera, scene.scale
    shadow = Affine2D().scale(1.02, 1.05) + camera + Affine2D().translate(0.1 * metre, -0.18 * metre)
    canvas.draw(BODY, face=(0, 0, 0, 0.28), camera=shadow)
    canvas.draw(BODY, face=paint, camera=camera)
    canvas.draw(CABIN, face=GLASS, camera=camera)
    canvas.draw(ROOF, face=lightened(paint), camera=camera)
    canvas.draw(WINDSCREEN_FRAME, edge=paint, width=0.1 * metre, camera=camera)
    canvas.draw(TAIL_LIGHTS, edge=colour("#d8323c"), width=0.2 * metre, camera=camera, cap="round")
    canvas.draw(HEADLIGHTS, edge=colour("#fff6d5"), width=0.22 * metre, camera=camera, cap="round")
    if driven:
        canvas.draw(ARROW, edge=PAINT, width=0.24 * metre, camera=camera, cap="round")


def draw_path(canvas: Canvas, scene: Scene) -> None:
    """Where the car has been, the fainter the longer ago."""
    if len(scene.path) < 2:
        return
    path = scene.path[::-1]  # from the car backwards
    behind = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
    pieces = 15
    bounds = np.searchsorted(behind, np.linspace(0, PATH_FADES, pieces + 1)[1:])
    begin = 0
    for piece, end in enumerate([*bounds, len(path) - 1]):
        end = min(int(end), len(path) - 1)
        if end > begin:
            faded = colour(PATH, 1.0 - 0.8 * piece / pieces)
            canvas.draw(Path(path[begin : end + 1]), edge=faded, width=0.22 * scene.scale, camera=scene.camera)
            begin = end


def distance_colour(distance: float) -> Colour:
    """From red (near) over amber to green (free as far as the driver sees)."""
    share = float(np.clip((distance - NEAR_DISTANCE) / (VIEW_DISTANCE - NEAR_DISTANCE), 0, 1))
    mixed = NEAR + (MIDDLE - NEAR) * 2 * share if share < 0.5 else MIDDLE + (FAR - MIDDLE) * (2 * share - 1)
    return float(mixed[0]), float(mixed[1]), float(mixed[2]), 1.0


def lightened(paint: Colour) -> Colour:
    """The same with some white."""
    red, green, blue, opacity = (0.72 * part + 0.28 for part in paint)
    return red, green, blue, opacity


def draw_bands(canvas: Canvas, scene: Scene) -> None:
    """The free distance in each lane as a band on the road."""
    road, end_of_road = scene.road, scene.road.length + RUN_OUT
    for lane, distance in scene.distances():
        centre, half = float(road.lane_centre(lane)), 0.36 * road.lane_width
        end = min(scene.along + distance, end_of_road)
        if end - scene.along < 0.1:
            continue
        sides = [line(road, scene.along, end, centre + side * half) for side in (1, -1)]
        shade = distance_colour(distance)
        band = joined([np.concatenate([sides[0], sides[1][::-1]])], closed=True)
        canvas.draw(band, face=(*shade[:3], 0.42), camera=scene.camera)
        canvas.draw(joined([across(road, end, centre + half, centre - half)]), None, shade, 4, scene.camera)


def draw_distance_labels(canvas: Canvas, scene: Scene) -> None:
    """The metres at the end of each band, before the car that ends it."""
    for lane, distance in scene.distances():
        text = f"{distance:.1f} m" if distance < VIEW_DISTANCE else f"{VIEW_DISTANCE:.0f} m"
        half = label_width(text) / 2 / scene.scale
        standing = CAR_LENGTH / 2 if distance < VIEW_DISTANCE else 0.0
        own = CAR_LENGTH / 2 if lane == scene.lane else 0.0
        end = min(scene.along + distance, scene.road.length + RUN_OUT)
        place = max(end - standing - half - 0.5, scene.along + own + half + 0.5)
        draw_label(
            canvas, scene, text, place, float(scene.road.lane_centre(lane)), lightened(distance_colour(distance))
        )


def draw_deviation(canvas: Canvas, scene: Scene) -> None:
    """An arrow from the lane's centre to the car's line, just behind the car, and its length."""
    centre, deviation = float(scene.road.lane_centre(scene.lane)), float(scene.seen[3])
    place = scene.along - CAR_LENGTH / 2 - 1.0
    ticks = joined([line(scene.road, place - 0.7, place + 0.7, offset) for offset in (centre, centre + deviation)])
    canvas.draw(ticks, edge=DEVIATION, width=2.5, camera=scene.camera)
    canvas.draw(joined([across(scene.road, place, centre, centre + deviation)]), None, DEVIATION, 2.5, scene.camera)
    text = signed(deviation)
    half = label_width(text) / 2 / scene.scale
    # Always at the same side: on the other side of the path it would jump whenever the car crosses the centre.
    draw_label(canvas, scene, text, place - 1.1 - half, centre - 0.27 * scene.road.lane_width, DEVIATION)


def signed(metres: float) -> str:
    """With a plus or a real minus, and no minus before 0.00."""
    return f"{round(metres, 2) + 0.0:+.2f} m".replace("-", "−")


def label_width(text: str) -> float:
    """Of a label with its ground, in pixels."""
    return text_width(text, LABEL_SIZE, bold=True) + 14


def draw_label(canvas: Canvas, scene: Scene, text: str, along: float, offset: float, ink: Colour) -> None:
    """Text that lies on the road and turns with it, so that labels of neighbouring lanes never meet."""
    (x, y), angle = scene.pixels(along, offset), scene.angle(along)
    width = label_width(text)
    ground = rounded(-width / 2, -LABEL_HEIGHT / 2, width, LABEL_HEIGHT, LABEL_HEIGHT / 2)
    canvas.draw(ground, face=LABEL_GROUND, camera=Affine2D().rotate(angle).translate(x, y))
    canvas.text(text, x, y, LABEL_SIZE, ink, align=0.5, bold=True, angle=angle)
