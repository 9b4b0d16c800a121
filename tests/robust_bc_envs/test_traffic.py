"""Static cars stand at random on lane centres and never close every lane."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.driving import CAR_LENGTH
from robust_bc_envs.lanes.roads import Array, Road
from robust_bc_envs.lanes.traffic import CLEAR_START, JITTER, ROW_GAP, check_room, draws_needed, place_cars
from robust_bc_envs.lanes.worlds import LaneSettings, LaneWorlds

ROADS = 4000
CASES = [(2, 1), (2, 5), (3, 1), (3, 4), (3, 5), (4, 3), (5, 5)]
NAMES = [f"{lanes} lanes, {cars} cars" for lanes, cars in CASES]
NEVER_JOIN, NO_JITTER = 0.999, 0.5


def placed(lanes: int, cars: int, length: float = 200.0, count: int = ROADS) -> tuple[Array, NDArray[np.int64]]:
    """Positions and lanes (N, n) of the cars on many roads."""
    uniform = np.random.default_rng(lanes * 100 + cars).random((count, draws_needed(cars)))
    return place_cars(Road.straight(lanes, 3.5, length), uniform, cars)


@pytest.mark.parametrize(("lanes", "cars"), CASES, ids=NAMES)
def test_every_road_has_its_cars_on_the_road_and_behind_the_clear_start(lanes: int, cars: int) -> None:
    along, lane = placed(lanes, cars)
    assert along.shape == lane.shape == (ROADS, cars)
    assert lane.dtype == np.int64
    assert lane.min() == 0
    assert lane.max() == lanes - 1
    assert along.min() >= CLEAR_START
    assert along.max() <= 200.0


@pytest.mark.parametrize(("lanes", "cars"), CASES, ids=NAMES)
def test_the_cars_never_close_every_lane_at_once(lanes: int, cars: int) -> None:
    """Within a car's length and the jitter before and behind each car, some lane is free."""
    along, lane = placed(lanes, cars)
    window = CAR_LENGTH + 2 * JITTER
    near = np.abs(along[:, :, None] - along[:, None, :]) <= window  # (N, n, n)
    taken = np.zeros((ROADS, cars, lanes), np.bool_)
    for index in range(lanes):
        taken[..., index] = (near & (lane == index)[:, None, :]).any(-1)
    assert not taken.all(-1).any()


@pytest.mark.parametrize(("lanes", "cars"), CASES, ids=NAMES)
def test_rows_are_at_least_the_gap_apart_and_their_cars_in_different_lanes(lanes: int, cars: int) -> None:
    along, lane = placed(lanes, cars)
    first, second = np.triu_indices(cars, 1)
    apart = np.abs(along[:, first] - along[:, second])
    in_a_row = apart <= 2 * JITTER
    assert (in_a_row | (apart >= ROW_GAP - 2 * JITTER)).all()
    assert (lane[:, first] != lane[:, second])[in_a_row].all()
    # Rows of two are common where a third lane is left, and never found where it is not.
    assert in_a_row.any() == (lanes > 2 and cars > 1)


def test_without_jitter_rows_keep_the_whole_gap() -> None:
    uniform = np.random.default_rng(1).random((ROADS, 16))
    uniform[:, 12:] = NO_JITTER
    along, _ = place_cars(Road.straight(), uniform, 4)
    apart = np.diff(np.sort(along, axis=1), axis=1)
    assert ((apart < 1e-9) | (apart > ROW_GAP - 1e-9)).all()
    assert 0.1 < (apart < 1e-9).mean() < 0.4
    assert ((apart < 1e-9).sum(1) <= 2).all()  # at most two cars a row, so at most two pairs in four


@pytest.mark.parametrize(("lanes", "cars"), CASES, ids=NAMES)
def test_the_first_car_of_a_row_takes_every_lane_equally_often(lanes: int, cars: int) -> None:
    _, lane = placed(lanes, cars)
    assert stats.chisquare(np.bincount(lane[:, 0], minlength=lanes)).pvalue > 1e-4


@pytest.mark.parametrize(("lanes", "cars"), CASES, ids=NAMES)
def test_beside_every_closed_lane_is_an_open_one(lanes: int, cars: int) -> None:
    """The driver sees only the neighbouring lanes, and shall see the gap."""
    along, lane = placed(lanes, cars)
    near = np.abs(along[:, :, None] - along[:, None, :]) <= CAR_LENGTH + 2 * JITTER  # (N, n, n)
    free = np.zeros((ROADS, cars), np.bool_)
    for side in (-1, 1):
        beside = lane + side
        taken = (near & (lane[:, None, :] == beside[:, :, None])).any(-1)
        free |= (beside >= 0) & (beside < lanes) & ~taken
    assert free.all()


def test_the_second_car_of_a_row_takes_any_allowed_lane_equally_often() -> None:
    uniform = np.random.default_rng(2).random((ROADS, 8))
    uniform[:, :2] = 0.0  # the second joins the first
    along, lane = place_cars(Road.straight(lanes=4), uniform, 2)
    assert (np.abs(np.diff(along, axis=1)) <= 2 * JITTER).all()
    pairs = np.bincount(4 * lane[:, 0] + lane[:, 1], minlength=16).reshape(4, 4)
    allowed = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]], np.bool_)
    assert pairs[~allowed].sum() == 0
    assert stats.chisquare(pairs[allowed]).pvalue > 1e-4


def test_one_car_is_spread_uniformly() -> None:
    uniform = np.random.default_rng(3).random((ROADS, 4))
    uniform[:, 3] = NO_JITTER
    along, _ = place_cars(Road.straight(length=200.0), uniform, 1)
    low, high = CLEAR_START + JITTER, 200.0 - JITTER
    assert stats.kstest(along[:, 0], stats.uniform(low, high - low).cdf).pvalue > 1e-4
    uniform[:, 1], uniform[:, 3] = 0.5, uniform[:, 2]
    along, _ = place_cars(Road.straight(length=200.0), uniform, 1)
    middle = (low + high) / 2
    assert stats.kstest(along[:, 0], stats.uniform(middle - JITTER, 2 * JITTER).cdf).pvalue > 1e-4


def test_all_arrangements_with_the_gap_are_equally_likely() -> None:
    """What the gaps leave is divided by sorted uniform numbers: the k-th of n is Beta(k, n − k + 1)."""
    cars, length = 4, 250.0
    uniform = np.random.default_rng(4).random((ROADS, 4 * cars))
    uniform[:, :cars], uniform[:, 3 * cars :] = NEVER_JOIN, NO_JITTER
    along, _ = place_cars(Road.straight(length=length), uniform, cars)
    room = length - CLEAR_START - 2 * JITTER - (cars - 1) * ROW_GAP
    share = (along - CLEAR_START - JITTER - ROW_GAP * np.arange(cars)) / room
    for car in range(cars):
        assert stats.kstest(share[:, car], stats.beta(car + 1, cars - car).cdf).pvalue > 1e-4


def test_fewer_rows_are_spread_over_the_whole_road_too() -> None:
    """Four cars in two rows: the first row is Beta(1, 2) in what one gap leaves, the second Beta(2, 1)."""
    uniform = np.random.default_rng(5).random((ROADS, 16))
    uniform[:, :4], uniform[:, 12:] = (0.0, 0.0, NEVER_JOIN, 0.0), NO_JITTER
    uniform[:, 8:12] = 0.1  # beside an outer lane of three, a second car can stand
    along, _ = place_cars(Road.straight(length=200.0), uniform, 4)
    assert np.array_equal(along[:, ::2], along[:, 1::2])
    room = 200.0 - CLEAR_START - 2 * JITTER - ROW_GAP
    share = (along[:, ::2] - CLEAR_START - JITTER - ROW_GAP * np.arange(2)) / room
    for row in range(2):
        assert stats.kstest(share[:, row], stats.beta(row + 1, 2 - row).cdf).pvalue > 1e-4


@pytest.mark.parametrize("lanes", [2, 3, 7])
def test_the_largest_and_smallest_uniform_numbers_are_on_the_road(lanes: int) -> None:
    road = Road.straight(lanes=lanes)
    for number in (0.0, np.nextafter(1.0, 0.0)):
        along, lane = place_cars(road, np.full((1, 16), number), 4)
        assert 0 <= lane.min() <= lane.max() < lanes
        assert CLEAR_START <= along.min() <= along.max() <= road.length


@pytest.mark.parametrize("shape", ["straight", "curved"])
def test_the_worlds_place_their_cars_on_lane_centres_along_the_road(shape: str) -> None:
    worlds = LaneWorlds(LaneSettings(shape=shape), 200)  # type: ignore[arg-type]
    worlds.reset(np.arange(200), [np.random.default_rng(seed) for seed in range(200)])
    assert worlds.cars.shape == (200, 5, 3)
    along, offset, heading = worlds.road.locate(worlds.cars)
    lane = worlds.road.lane_of(offset)
    assert np.array_equal(lane, worlds.car_lane)
    assert np.allclose(offset, worlds.road.lane_centre(lane), rtol=0, atol=1e-9)
    assert np.allclose(along, worlds.car_along, rtol=0, atol=1e-9)
    assert np.allclose(heading, 0.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("length", [39.0, 68.9, 69.0, 200.0, 1000.0])
def test_as_many_cars_as_it_says_have_room(length: float) -> None:
    road = Road.straight(lanes=2, length=length)
    with pytest.raises(RobustBCError, match=rf"^cars is 999, but {length:g} m have room for (\d+); .*\.$") as refused:
        check_room(road, 999)
    most = int(str(refused.value).split("room for ")[1].split(";")[0])
    assert most == 1 + int((length - 39.0) // 30.0)
    check_room(road, most)
    with pytest.raises(RobustBCError, match=f"cars is {most + 1}, but"):
        check_room(road, most + 1)
    along, _ = placed(2, most, length, 500)
    assert CLEAR_START <= along.min() <= along.max() <= length
    apart = np.diff(np.sort(along, axis=1), axis=1)
    assert (apart >= ROW_GAP - 2 * JITTER - 1e-9).all()


def test_cars_that_have_no_room_are_one_sentence() -> None:
    with pytest.raises(RobustBCError, match=r"^cars must be 0 or more, but it is -1\.$"):
        check_room(Road.straight(), -1)
    with pytest.raises(RobustBCError, match=r"^cars is 1, but one lane would be closed; .*\.$"):
        check_room(Road.straight(lanes=1), 1)
    with pytest.raises(RobustBCError, match=r"^cars is 1, but 30 m have room for 0; .*\.$"):
        check_room(Road.straight(length=30.0), 1)
    check_room(Road.straight(lanes=1), 0)
