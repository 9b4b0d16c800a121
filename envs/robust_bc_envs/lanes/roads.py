"""Roads of straights and 90° turns: where a pose is along and across the road, and back.

Positions are in metres, headings in radians, counter-clockwise. Across the road, positive is to the left; lane 0 is
the leftmost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError

Array = NDArray[np.float64]

TURN_RADIUS = 15.0
STRAIGHT_BETWEEN_TURNS = 30.0
NOT_POSITIVE = "lane_width and length must be positive numbers of metres."
# Left, right, right, left: the road comes back to its heading and never crosses itself.
TURN_SIGNS = (1.0, -1.0, -1.0, 1.0)


def wrapped(angle: Any) -> Array:
    """The same angle in [−π, π]; angles that are there already keep their bits."""
    return np.asarray(angle - 2 * np.pi * np.round(np.asarray(angle) / (2 * np.pi)))


@dataclass(frozen=True, eq=False)
class Road:
    """A road with lanes of equal width around a middle line of P pieces, each straight or an arc."""

    lanes: int
    lane_width: float
    starts: Array  # (P, 3), the pose at which each piece of the middle line begins
    lengths: Array  # (P,)
    curvatures: Array  # (P,), 1/radius, positive to the left, 0 for a straight

    @classmethod
    def straight(cls, lanes: int = 3, lane_width: float = 3.5, length: float = 200.0) -> Road:
        """x from 0 along the road, y = 0 in its middle."""
        return cls._of_pieces(lanes, lane_width, [(length, 0.0)])

    @classmethod
    def curved(cls, lanes: int = 3, lane_width: float = 3.5, length: float = 200.0) -> Road:
        """Straights and 90° turns in alternation, cut off at the length."""
        if lanes * lane_width / 2 >= TURN_RADIUS:
            raise RobustBCError(
                f"{lanes} lanes of {lane_width} m do not fit into turns of radius {TURN_RADIUS} m; take fewer lanes."
            )
        if not np.isfinite(length):
            raise RobustBCError(NOT_POSITIVE)
        pieces: list[tuple[float, float]] = []
        turns = 0
        while length > 0:
            bend = TURN_SIGNS[turns // 2 % len(TURN_SIGNS)] / TURN_RADIUS if turns % 2 else 0.0
            piece = min(length, TURN_RADIUS * np.pi / 2 if bend else STRAIGHT_BETWEEN_TURNS)
            pieces.append((piece, bend))
            length -= piece
            turns += 1
        return cls._of_pieces(lanes, lane_width, pieces)

    @classmethod
    def _of_pieces(cls, lanes: int, lane_width: float, pieces: list[tuple[float, float]]) -> Road:
        if lanes < 1:
            raise RobustBCError(f"lanes must be at least 1, but it is {lanes}.")
        lengths = np.array([length for length, _ in pieces], dtype=np.float64)
        if not (0 < lane_width < np.inf and len(pieces) and (lengths > 0).all() and np.isfinite(lengths).all()):
            raise RobustBCError(NOT_POSITIVE)
        starts = [np.zeros(3)]
        for length, curvature in pieces[:-1]:
            starts.append(_along_piece(starts[-1], np.float64(curvature), np.float64(length), 0.0))
        return cls(lanes, float(lane_width), np.stack(starts), lengths, np.array([bend for _, bend in pieces]))

    @property
    def length(self) -> float:
        return float(self.lengths.sum())

    @property
    def half_width(self) -> float:
        return self.lanes * self.lane_width / 2

    def moved(self, x: float, y: float, heading: float) -> Road:
        """The same road, turned around the origin and then shifted."""
        return Road(self.lanes, self.lane_width, moved(self.starts, x, y, heading), self.lengths, self.curvatures)

    def mirrored(self) -> Road:
        """The same road with left and right exchanged, mirrored at the x axis."""
        return Road(self.lanes, self.lane_width, self.starts * [1, -1, -1], self.lengths, -self.curvatures)

    def locate(self, poses: Array) -> tuple[Array, Array, Array]:
        """Poses (..., 3) to metres along the road, metres left of its middle, and heading relative to it, (...) each.

        Before its first and behind its last piece the road goes on as these two do.
        """
        x, y, heading = columns(poses)
        before = np.concatenate([[0.0], np.cumsum(self.lengths)[:-1]])
        last = len(self.lengths) - 1
        along = offset = lane_heading = np.zeros_like(x)
        nearest = np.full_like(x, np.inf)
        for index, (start, length, curvature) in enumerate(
            zip(self.starts, self.lengths, self.curvatures, strict=True)
        ):
            here, aside = _in_piece(start, curvature, x, y)
            piece_heading = start[2] + curvature * here
            if last == 0:
                return here, aside, wrapped(heading - piece_heading)
            beyond = np.maximum(0.0 if index == 0 else -here, 0.0 if index == last else here - length)
            distance = np.abs(aside) + np.maximum(beyond, 0.0)
            nearer = distance < nearest
            nearest = np.where(nearer, distance, nearest)
            along = np.where(nearer, before[index] + here, along)
            offset = np.where(nearer, aside, offset)
            lane_heading = np.where(nearer, piece_heading, lane_heading)
        return along, offset, wrapped(heading - lane_heading)

    def place(self, along: Array, offset: Array, heading: Array | float = 0.0) -> Array:
        """The inverse of `locate`: (...) each to poses (..., 3)."""
        along, offset, heading = np.broadcast_arrays(along, offset, heading)
        ends = np.cumsum(self.lengths)
        piece = np.minimum(np.searchsorted(ends, along, side="right"), len(ends) - 1)
        here = along - (ends - self.lengths)[piece]
        poses = _along_piece(self.starts[piece], self.curvatures[piece], here, offset)
        poses[..., 2] += heading
        return poses

    def lane_of(self, offset: Array) -> NDArray[np.int64]:
        """Lane index (...), 0 the leftmost; beyond the road's edges it goes on counting."""
        return np.floor((self.half_width - offset) / self.lane_width).astype(np.int64)

    def lane_centre(self, lane: Any) -> Any:
        """Metres left of the road's middle."""
        return self.half_width - (np.asarray(lane) + 0.5) * self.lane_width


def columns(poses: Array) -> tuple[Array, Array, Array]:
    """x, y and heading of poses (..., 3), each contiguous: NumPy's sine rounds otherwise in arrays with gaps."""
    x, y, heading = (np.array(poses[..., index], np.float64) for index in range(3))
    return x, y, heading


def moved(poses: Array, x: float, y: float, heading: float) -> Array:
    """Poses (..., 3) turned around the origin and then shifted."""
    cosine, sine = np.cos(heading), np.sin(heading)
    return np.stack(
        [
            x + cosine * poses[..., 0] - sine * poses[..., 1],
            y + sine * poses[..., 0] + cosine * poses[..., 1],
            poses[..., 2] + heading,
        ],
        axis=-1,
    )


def _in_piece(start: Array, curvature: float, x: Array, y: Array) -> tuple[Array, Array]:
    """Metres along a piece and metres to its left."""
    cosine, sine = np.cos(start[2]), np.sin(start[2])
    ahead = cosine * (x - start[0]) + sine * (y - start[1])
    left = cosine * (y - start[1]) - sine * (x - start[0])
    if curvature == 0.0:
        return ahead, left
    side, radius = np.sign(curvature), 1.0 / abs(curvature)
    inward = radius - side * left  # towards the piece's start, seen from the centre of its circle
    return radius * np.arctan2(ahead, inward), side * (radius - np.hypot(ahead, inward))


def _along_piece(start: Array, curvature: Any, here: Any, offset: Any) -> Array:
    """The pose `here` metres along a piece and `offset` metres to its left, heading along it."""
    turn = curvature * here
    bent = np.where(curvature == 0.0, 1.0, curvature)
    ahead = np.where(curvature == 0.0, here, np.sin(turn) / bent) - np.sin(turn) * offset
    left = np.where(curvature == 0.0, 0.0, (1.0 - np.cos(turn)) / bent) + np.cos(turn) * offset
    cosine, sine = np.cos(start[..., 2]), np.sin(start[..., 2])
    return np.stack(
        [
            start[..., 0] + cosine * ahead - sine * left,
            start[..., 1] + sine * ahead + cosine * left,
            start[..., 2] + turn,
        ],
        axis=-1,
    )
