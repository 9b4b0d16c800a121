"""Placing static cars at random on lane centres, in rows that never close every lane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.roads import Array, Road

CLEAR_START = 35.0
"""Metres before the first row: time to see it."""
ROW_GAP = 30.0
"""Metres between rows at least: room to change lanes and be straight again."""
JITTER = 2.0
"""Cars of a row stand up to this much before or behind it."""
JOIN_PROBABILITY = 0.4
"""That a car stands beside the one before it, where that is possible."""


def check_room(road: Road, cars: int) -> None:
    """Say in one sentence how many cars fit if these do not."""
    if cars < 0:
        raise RobustBCError(f"cars must be 0 or more, but it is {cars}.")
    most = 0 if road.lanes == 1 else 1 + int((road.length - CLEAR_START - 2 * JITTER) // ROW_GAP)
    if cars > max(most, 0):
        reason = "one lane would be closed" if road.lanes == 1 else f"{road.length:g} m have room for {max(most, 0)}"
        raise RobustBCError(f"cars is {cars}, but {reason}; take fewer cars, more lanes or a longer road.")


def draws_needed(cars: int) -> int:
    """Uniform numbers that `place_cars` takes for one road."""
    return 4 * cars


def place_cars(road: Road, uniform: Array, cars: int) -> tuple[Array, NDArray[np.int64]]:
    """Positions along the road and lanes, (N, n) each, from uniform numbers (N, 4n).

    Each car opens a row or stands beside the one before it; rows are spread uniformly over what the gaps leave.
    """
    join, spread, lane_draw, jitter = np.split(uniform, 4, axis=1)  # (N, n) each
    partners, choices = _partners(road.lanes)
    row = np.zeros((len(uniform), cars), np.int64)
    lane = np.floor(lane_draw * road.lanes).astype(np.int64)
    second = np.zeros(len(uniform), np.bool_)  # whether the car before is already the second of its row
    for car in range(1, cars):
        beside = lane[:, car - 1]
        second = (join[:, car] < JOIN_PROBABILITY) & (choices[beside] > 0) & ~second
        row[:, car] = row[:, car - 1] + ~second
        chosen = partners[beside, np.floor(lane_draw[:, car] * choices[beside]).astype(np.int64)]
        lane[:, car] = np.where(second, chosen, lane[:, car])
    rows = row[:, -1:] + 1  # (N, 1)
    # Sorted uniform numbers and a fixed gap: every arrangement with at least that gap is equally likely.
    inner = np.where(np.arange(cars) < rows, spread, np.inf)
    inner.sort(axis=1)
    room = road.length - CLEAR_START - 2 * JITTER - (rows - 1) * ROW_GAP
    start = CLEAR_START + JITTER + np.where(np.isfinite(inner), inner, 0.0) * room + np.arange(cars) * ROW_GAP  # (N, n)
    along = np.take_along_axis(start, row, axis=1) + (2 * jitter - 1) * JITTER
    return along, lane


def _partners(lanes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each lane the lanes (L, L) in which a second car may stand beside it, and how many (L,) these are.

    Both closed lanes keep an open neighbour: a driver sees only the neighbouring lanes, and shall see the gap.
    """
    table, counts = np.zeros((lanes, lanes), np.int64), np.zeros(lanes, np.int64)
    for first in range(lanes):
        for second in range(lanes):
            closed = {first, second}
            if second != first and all({lane - 1, lane + 1} & set(range(lanes)) - closed for lane in closed):
                table[first, counts[first]] = second
                counts[first] += 1
    return table, counts
