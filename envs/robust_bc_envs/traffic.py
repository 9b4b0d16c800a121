"""Placing static cars at random on lane centres, in rows that never close every lane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.roads import Array, Road

CLEAR_START = 35.0
"""Metres before the first row: time to see it."""
ROW_GAP = 35.0
"""Metres between rows at least: room to cross two lanes and be straight again."""
JITTER = 2.0
"""Cars of a row stand up to this much before or behind it."""
LARGEST_ROW = 2
"""With more, a driver who sees only the neighbouring lanes could not know where the gap is."""
JOIN_PROBABILITY = 0.35


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

    Each car joins the row before it or opens a new one; rows are spread uniformly over what the gaps leave.
    """
    join, spread, lane_draw, jitter = np.split(uniform, 4, axis=1)  # (N, n) each
    largest = min(LARGEST_ROW, road.lanes - 1)
    count = len(uniform)
    row, place_in_row = np.zeros((count, cars), np.int64), np.zeros((count, cars), np.int64)
    for car in range(1, cars):
        joins = (join[:, car] < JOIN_PROBABILITY) & (place_in_row[:, car - 1] + 1 < largest)
        row[:, car] = row[:, car - 1] + ~joins
        place_in_row[:, car] = np.where(joins, place_in_row[:, car - 1] + 1, 0)
    rows = row[:, -1:] + 1  # (N, 1)
    # Sorted uniform numbers and a fixed gap: every arrangement with at least that gap is equally likely.
    inner = np.where(np.arange(cars) < rows, spread, np.inf)
    inner.sort(axis=1)
    room = road.length - CLEAR_START - 2 * JITTER - (rows - 1) * ROW_GAP
    start = CLEAR_START + JITTER + np.where(np.isfinite(inner), inner, 0.0) * room + np.arange(cars) * ROW_GAP  # (N, n)
    along = np.take_along_axis(start, row, axis=1) + (2 * jitter - 1) * JITTER
    # The first car of a row takes any lane, the next any of the others.
    lane = np.floor(lane_draw * road.lanes).astype(np.int64)
    for car in range(1, cars):
        other = np.floor(lane_draw[:, car] * (road.lanes - 1)).astype(np.int64)
        other += other >= lane[:, car - 1]
        lane[:, car] = np.where(place_in_row[:, car] > 0, other, lane[:, car])
    return along, lane
