"""The mathematics of driving: how a pose moves, what the driver sees, and when two cars touch.

Pure functions over any number of poses. Poses are (..., 3): x, y in metres and heading in radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robust_bc_envs.lanes.roads import Array, Road, columns

CAR_LENGTH = 4.9
CAR_WIDTH = 2.5
SPEED = 10.0
STEERING_GAIN = 10.0
"""ω = gain · (desired heading − heading), per second."""
VIEW_DISTANCE = 40.0
"""Free distances are capped here."""

HALF_DIAGONAL = float(np.hypot(CAR_LENGTH, CAR_WIDTH)) / 2


def step_pose(poses: Array, desired_heading: Array | float, dt: float, speed: float = SPEED) -> Array:
    """Explicit Euler: the position moves with the old heading, then the heading moves by ω·dt."""
    x, y, heading = columns(np.asarray(poses))
    turned = heading + STEERING_GAIN * (np.asarray(desired_heading) - heading) * dt
    moved = x + speed * np.cos(heading) * dt, y + speed * np.sin(heading) * dt
    return np.stack(np.broadcast_arrays(*moved, turned), axis=-1)


def features(road: Road, poses: Array, cars: Array) -> Array:
    """What the driver sees, (..., 4): free distance in the left, own and right lane, and the lane deviation.

    Distances are longitudinal, centre to centre, to the next car of `cars` (n, 3) ahead, at most 40 m; a lane that
    does not exist gives 0. The deviation from the own lane's centre is positive to the left.
    """
    poses, cars = np.asarray(poses, np.float64), np.asarray(cars, np.float64).reshape(-1, 3)
    along, offset, _ = road.locate(poses)
    car_along, car_offset, _ = road.locate(cars)
    return features_along(road, along, offset, car_along, road.lane_of(car_offset))


def features_along(road: Road, along: Array, offset: Array, car_along: Array, car_lane: NDArray[np.int64]) -> Array:
    """The same from positions along the road: own (...), cars (n) or (..., n)."""
    lane = np.clip(road.lane_of(offset), 0, road.lanes - 1)
    gap = car_along - along[..., None]  # (..., n)
    gap = np.where(gap >= 0, gap, VIEW_DISTANCE)
    seen = np.empty((*along.shape, 4))
    for column, side in enumerate((-1, 0, 1)):
        beside = lane + side
        nearest = np.where(car_lane == beside[..., None], gap, VIEW_DISTANCE).min(-1, initial=VIEW_DISTANCE)
        seen[..., column] = np.where((beside >= 0) & (beside < road.lanes), nearest, 0.0)
    seen[..., 3] = offset - road.lane_centre(lane)
    return seen


def rectangles_overlap(first: Array, second: Array, first_length: Array | float = CAR_LENGTH) -> NDArray[np.bool_]:
    """Whether two cars (..., 3) overlap, exactly: no axis of either rectangle separates them."""
    dx, dy = second[..., 0] - first[..., 0], second[..., 1] - first[..., 1]
    turn = second[..., 2] - first[..., 2]
    cosine, sine = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    halves = np.asarray(first_length) / 2, CAR_WIDTH / 2, CAR_LENGTH / 2, CAR_WIDTH / 2
    overlap = np.ones(np.broadcast_shapes(dx.shape, turn.shape), np.bool_)
    for heading, (length, width, other_length, other_width) in (
        (first[..., 2], halves),
        (second[..., 2], (*halves[2:], *halves[:2])),
    ):
        along = np.abs(np.cos(heading) * dx + np.sin(heading) * dy)
        across = np.abs(np.cos(heading) * dy - np.sin(heading) * dx)
        overlap &= along < length + other_length * cosine + other_width * sine
        overlap &= across < width + other_length * sine + other_width * cosine
    return overlap


def hits(before: Array, after: Array, cars: Array) -> NDArray[np.bool_]:
    """Whether a car that goes from `before` to `after` (N, 3) in one step touches any of its `cars` (N, n, 3).

    Exact also between the two frames: the step is a drive along the old heading, whose sweep is a longer rectangle,
    and then a turn on the spot.
    """
    reach = 2 * HALF_DIAGONAL + np.hypot(after[:, 0] - before[:, 0], after[:, 1] - before[:, 1])
    near = np.abs(cars[..., 0] - after[:, None, 0]) < reach[:, None]
    near &= np.abs(cars[..., 1] - after[:, None, 1]) < reach[:, None]
    hit = np.zeros(len(after), np.bool_)
    which, car = np.nonzero(near)
    if len(which):
        touched = _touches(before[which], after[which], cars[which, car])
        hit[which[touched]] = True
    return hit


def _touches(before: Array, after: Array, car: Array) -> NDArray[np.bool_]:
    """The three parts of a step, for pairs (M, 3): the drive, the pose after it, and the turn in between."""
    middle = (before + after) / 2
    middle[:, 2] = before[:, 2]
    driven = np.hypot(after[:, 0] - before[:, 0], after[:, 1] - before[:, 1])
    touched = rectangles_overlap(middle, car, CAR_LENGTH + driven) | rectangles_overlap(after, car)
    return touched | _corner_swings_in(before[:, 2], after, car)


def _corner_swings_in(old_heading: Array, after: Array, car: Array) -> NDArray[np.bool_]:
    """Whether a corner of one car enters the other while the first turns on the spot, (M,).

    Two rectangles that are apart first touch at a corner of one of them. Seen from the other car, that corner moves on
    an arc around the turning car's centre.
    """
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * (CAR_LENGTH / 2, CAR_WIDTH / 2)  # (4, 2)
    angles, turn = np.arctan2(corners[:, 1], corners[:, 0]), after[:, 2] - old_heading
    # Own corners, seen from the other car: its frame holds still, the arc's centre is our position.
    centre = _seen_from(car, after[:, None, :2])  # (M, 1, 2)
    own = _arc_enters(centre, HALF_DIAGONAL, (old_heading - car[:, 2])[:, None] + angles, turn[:, None])
    # The other's corners, seen from us: they turn the other way around our centre.
    placed = np.stack(
        [
            car[:, None, 0] + np.cos(car[:, None, 2]) * corners[:, 0] - np.sin(car[:, None, 2]) * corners[:, 1],
            car[:, None, 1] + np.sin(car[:, None, 2]) * corners[:, 0] + np.cos(car[:, None, 2]) * corners[:, 1],
        ],
        axis=-1,
    )  # (M, 4, 2)
    start = np.concatenate([after[:, :2], old_heading[:, None]], axis=1)
    theirs = _seen_from(start, placed)  # (M, 4, 2)
    radius, angle = np.hypot(theirs[..., 0], theirs[..., 1]), np.arctan2(theirs[..., 1], theirs[..., 0])
    other = _arc_enters(np.zeros_like(theirs), radius, angle, -turn[:, None])
    return np.asarray((own | other).any(-1))


def _seen_from(pose: Array, points: Array) -> Array:
    """Points (M, P, 2) in the frames of poses (M, 3)."""
    dx, dy = points[..., 0] - pose[:, None, 0], points[..., 1] - pose[:, None, 1]
    cosine, sine = np.cos(pose[:, None, 2]), np.sin(pose[:, None, 2])
    return np.stack([cosine * dx + sine * dy, cosine * dy - sine * dx], axis=-1)


def _arc_enters(centre: Array, radius: Array | float, start: Array, turn: Array) -> NDArray[np.bool_]:
    """Whether an arc (from angle `start` on by `turn`) crosses an edge of a car that stands at the origin."""
    halves = (CAR_LENGTH / 2, CAR_WIDTH / 2)
    crossed = np.zeros(np.broadcast_shapes(centre.shape[:-1], start.shape), np.bool_)
    for axis in (0, 1):
        for edge in (-halves[axis], halves[axis]):
            level = (edge - centre[..., axis]) / np.maximum(radius, 1e-12)
            reaches = np.abs(level) <= 1
            base = np.arccos(np.clip(level, -1, 1)) if axis == 0 else np.arcsin(np.clip(level, -1, 1))
            for angle in (base, -base) if axis == 0 else (base, np.pi - base):
                # How far the arc must turn, in its own sense, to come to this angle.
                needed = np.mod(np.sign(turn) * (angle - start), 2 * np.pi)
                along = np.sin(angle) if axis == 0 else np.cos(angle)
                inside = np.abs(centre[..., 1 - axis] + radius * along) < halves[1 - axis]
                crossed |= reaches & inside & (needed < np.abs(turn))  # without a turn, none
    return crossed
