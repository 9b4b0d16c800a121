"""Cars as polygons: overlap and clearance computed from corners, another way than the code under test does it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robust_bc_envs.lanes.driving import CAR_LENGTH, CAR_WIDTH
from robust_bc_envs.lanes.roads import Array

CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * (CAR_LENGTH / 2, CAR_WIDTH / 2)  # counter-clockwise


def corners_of(poses: Array) -> Array:
    """Corners (..., 4, 2) of cars (..., 3), counter-clockwise."""
    cosine, sine = np.cos(poses[..., 2]), np.sin(poses[..., 2])
    turn = np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], -2)  # (..., 2, 2)
    return np.asarray(CORNERS @ np.swapaxes(turn, -1, -2) + poses[..., None, :2])


def common_area(first: Array, second: Array) -> float:
    """Area of the intersection of two cars (3,), by Sutherland and Hodgman's clipping."""
    shape, clip = list(corners_of(first)), corners_of(second)
    for index in range(4):
        start, edge = clip[index], clip[(index + 1) % 4] - clip[index]
        sides = [edge[0] * (point[1] - start[1]) - edge[1] * (point[0] - start[0]) for point in shape]
        kept: list[Array] = []
        for here in range(len(shape)):
            before = here - 1
            if (sides[before] < 0) != (sides[here] < 0):
                share = sides[before] / (sides[before] - sides[here])
                kept.append(shape[before] + share * (shape[here] - shape[before]))
            if sides[here] >= 0:
                kept.append(shape[here])
        shape = kept
        if not shape:
            return 0.0
    x, y = np.array(shape).T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def clearance(first: Array, second: Array) -> Array:
    """The widest gap (...) that an edge of either car leaves to the other's corners; below 0 they overlap."""
    return np.maximum(_gap_to_corners(first, second), _gap_to_corners(second, first))


def _gap_to_corners(car: Array, other: Array) -> Array:
    """How far all corners of the other are beyond one of the car's edges, seen from the car, (...)."""
    dx, dy, turn = (other[..., index] - car[..., index] for index in range(3))
    cosine, sine = np.cos(car[..., 2]), np.sin(car[..., 2])
    x, y = cosine * dx + sine * dy, cosine * dy - sine * dx
    cosine, sine = np.cos(turn), np.sin(turn)
    xs = [x + cosine * ahead - sine * left for ahead, left in CORNERS]
    ys = [y + sine * ahead + cosine * left for ahead, left in CORNERS]
    along = np.maximum(np.minimum.reduce(xs), -np.maximum.reduce(xs)) - CAR_LENGTH / 2
    across = np.maximum(np.minimum.reduce(ys), -np.maximum.reduce(ys)) - CAR_WIDTH / 2
    return np.asarray(np.maximum(along, across))


def motion(before: Array, after: Array, drives: int, turns: int) -> Array:
    """Poses (N, drives + turns, 3) between two frames (N, 3): along the old heading, then the turn on the spot."""
    share = np.linspace(0.0, 1.0, drives)[:, None]
    driven = before[:, None] + (after - before)[:, None] * share * (1.0, 1.0, 0.0)
    share = np.linspace(0.0, 1.0, turns)[:, None]
    turned = after[:, None] + (before - after)[:, None] * (1.0 - share) * (0.0, 0.0, 1.0)
    return np.concatenate([driven, turned], axis=1)


def least_clearance(poses: Array, car: Array) -> Array:
    """The smallest clearance (N,) that poses (N, P, 3) have from their car (N, 3)."""
    return np.asarray(clearance(poses, car[:, None]).min(1))


def random_steps(
    generator: np.random.Generator, count: int, driven: float, turn: float
) -> tuple[Array, Array, NDArray[np.float64]]:
    """Frames before and after (N, 3) and a car (N, 3) that the motion between them almost or just touches.

    The car comes up from afar until it touches, then goes back or on by a few centimetres.
    """
    before = generator.uniform([-50, -50, -np.pi], [50, 50, np.pi], (count, 3))
    length = driven * generator.uniform(0, 1, count)
    after = before + np.stack([length * np.cos(before[:, 2]), length * np.sin(before[:, 2]), np.zeros(count)], 1)
    after[:, 2] += turn * generator.uniform(-1, 1, count)
    direction = generator.uniform(-np.pi, np.pi, count)
    heading = generator.uniform(-np.pi, np.pi, count)
    parallel = generator.random(count) < 0.3  # as on a road
    heading[parallel] = before[parallel, 2]
    distance, poses = np.full(count, 8.0), motion(before, after, 4, 12)

    def at(distance: Array) -> Array:
        return np.stack(
            [after[:, 0] + distance * np.cos(direction), after[:, 1] + distance * np.sin(direction), heading], 1
        )

    for _ in range(6):
        distance -= least_clearance(poses, at(distance))
    return before, after, at(distance + generator.normal(0.0, 0.05, count))
