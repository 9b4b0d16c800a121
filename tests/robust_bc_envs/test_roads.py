"""Where a pose is along and across the road, and back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.roads import STRAIGHT_BETWEEN_TURNS, TURN_RADIUS, Road, moved, wrapped

SHAPES = {"straight": Road.straight, "curved": Road.curved}
QUARTER = TURN_RADIUS * np.pi / 2

unit = st.floats(0.0, 1.0)
headings = st.floats(-3.0, 3.0)
shifts = st.floats(-500.0, 500.0)


@st.composite
def roads(draw: st.DrawFn) -> Road:
    """A road of either shape, somewhere in the plane, possibly mirrored."""
    make = SHAPES[draw(st.sampled_from(sorted(SHAPES)))]
    road = make(draw(st.integers(1, 5)), draw(st.floats(2.5, 4.5)), draw(st.floats(5.0, 500.0)))
    road = road.mirrored() if draw(st.booleans()) else road
    return road.moved(draw(shifts), draw(shifts), draw(headings))


@settings(max_examples=200, deadline=None)
@given(roads(), unit, unit, headings)
def test_locate_undoes_place(road: Road, share: float, across: float, heading: float) -> None:
    along, offset = share * road.length, (2 * across - 1) * road.half_width
    found = road.locate(road.place(np.array(along), np.array(offset), heading))
    assert np.allclose(found, (along, offset, heading), rtol=0, atol=1e-8)


@settings(max_examples=50, deadline=None)
@given(roads(), st.floats(0.0, 20.0), unit)
def test_before_and_behind_it_the_road_goes_on(road: Road, beyond: float, across: float) -> None:
    offset = np.full(2, (2 * across - 1) * road.half_width)
    along = np.array([-beyond, road.length + beyond])
    found, aside, heading = road.locate(road.place(along, offset))
    assert np.allclose(found, along, rtol=0, atol=1e-8)
    assert np.allclose(aside, offset, rtol=0, atol=1e-8)
    assert np.allclose(heading, 0.0, rtol=0, atol=1e-8)


@settings(max_examples=50, deadline=None)
@given(roads())
def test_place_is_continuous_over_the_joints_of_pieces(road: Road) -> None:
    joints = np.cumsum(road.lengths)[:-1, None]
    offsets = np.linspace(-road.half_width, road.half_width, 5)
    before, after = road.place(joints - 1e-7, offsets), road.place(joints, offsets)
    assert np.allclose(before, after, rtol=0, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(roads())
def test_the_middle_line_is_as_long_as_it_says_and_runs_along_its_headings(road: Road) -> None:
    poses = road.place(np.linspace(0.0, road.length, 20_001), np.array(0.0))
    steps = np.diff(poses[:, :2], axis=0)
    assert np.hypot(steps[:, 0], steps[:, 1]).sum() == pytest.approx(road.length, rel=1e-6)
    middle = (poses[1:, 2] + poses[:-1, 2]) / 2
    across = np.cos(middle) * steps[:, 1] - np.sin(middle) * steps[:, 0]
    assert np.abs(across).max() < 1e-3 * road.length / 20_000


@settings(max_examples=50, deadline=None)
@given(roads(), unit, unit, headings)
def test_an_offset_is_metres_to_the_left_of_the_heading(road: Road, share: float, across: float, turn: float) -> None:
    along, offset = np.array(share * road.length), (2 * across - 1) * road.half_width
    x, y, heading = road.place(along, np.array(0.0))
    beside = road.place(along, np.array(offset), turn)
    expected = (x - np.sin(heading) * offset, y + np.cos(heading) * offset, heading + turn)
    assert np.allclose(beside, expected, rtol=0, atol=1e-9)


def test_a_straight_road_lies_on_the_x_axis() -> None:
    road = Road.straight(lanes=2, lane_width=3.0, length=50.0)
    assert road.length == 50.0
    assert road.half_width == 3.0
    along, offset, heading = road.locate(np.array([[0.0, 0.0, 0.0], [12.5, -2.0, 0.3], [70.0, 9.0, 7.0]]))
    assert along.tolist() == [0.0, 12.5, 70.0]
    assert offset.tolist() == [0.0, -2.0, 9.0]
    assert np.allclose(heading, [0.0, 0.3, 7.0 - 2 * np.pi])


def test_a_curved_road_turns_left_right_right_left_by_90_degrees() -> None:
    side, turned = STRAIGHT_BETWEEN_TURNS, TURN_RADIUS
    road = Road.curved(length=5 * side + 4 * QUARTER)
    lengths = [side, QUARTER, side, QUARTER, side, QUARTER, side, QUARTER, side]
    assert np.allclose(road.lengths[:9], lengths)
    assert road.length == pytest.approx(sum(lengths))
    corners = road.place(np.cumsum(lengths), np.array(0.0))
    up, down = np.pi / 2, -np.pi / 2
    high = side + 2 * turned
    expected = [
        (side, 0, 0),
        (side + turned, turned, up),
        (side + turned, turned + side, up),
        (side + 2 * turned, high, 0),
        (2 * side + 2 * turned, high, 0),
        (2 * side + 3 * turned, turned + side, down),
        (2 * side + 3 * turned, turned, down),
        (2 * side + 4 * turned, 0, 0),
        (3 * side + 4 * turned, 0, 0),
    ]
    assert np.allclose(corners, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("length", [5.0, 30.0, 40.0, 60.0, 200.0, 1000.0])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_the_lengths_of_the_pieces_add_up(shape: str, length: float) -> None:
    road = SHAPES[shape](length=length)
    assert road.length == pytest.approx(length, rel=1e-12)
    assert len(road.lengths) == len(road.starts) == len(road.curvatures)
    assert (road.lengths > 0).all()


def test_a_curved_road_never_comes_near_itself() -> None:
    road = Road.curved(lanes=8, length=1000.0)
    along = np.arange(0.0, road.length, 1.0)
    points = road.place(along, np.array(0.0))[:, :2]
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    elsewhere = np.abs(along[:, None] - along[None]) > np.pi * TURN_RADIUS
    assert apart[elsewhere].min() > 2 * road.half_width


@settings(max_examples=100, deadline=None)
@given(roads(), unit, unit, headings, shifts, shifts, headings)
def test_a_moved_road_has_its_poses_moved(
    road: Road, share: float, across: float, heading: float, x: float, y: float, turn: float
) -> None:
    along, offset = share * road.length, (2 * across - 1) * road.half_width
    pose = road.place(np.array(along), np.array(offset), heading)
    there, moved_pose = road.moved(x, y, turn), moved(pose, x, y, turn)
    assert np.allclose(there.place(np.array(along), np.array(offset), heading), moved_pose, rtol=0, atol=1e-8)
    assert np.allclose(there.locate(moved_pose), (along, offset, heading), rtol=0, atol=1e-8)


def test_moving_turns_around_the_origin_and_then_shifts() -> None:
    poses = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.5]])
    there = moved(poses, 10.0, 20.0, np.pi / 2)
    assert np.allclose(there, [[10.0, 21.0, np.pi / 2], [8.0, 20.0, np.pi / 2 + 0.5]])


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.floats(5.0, 500.0), unit, unit, headings)
def test_a_mirrored_road_has_its_poses_mirrored(
    shape: str, length: float, share: float, across: float, heading: float
) -> None:
    road = SHAPES[shape](length=length)
    along, offset = share * road.length, (2 * across - 1) * road.half_width
    mirror = np.array([1.0, -1.0, -1.0])
    pose = road.place(np.array(along), np.array(offset), heading)
    mirrored = road.mirrored().place(np.array(along), np.array(-offset), -heading)
    assert np.allclose(mirrored, pose * mirror, rtol=0, atol=1e-9)
    assert np.allclose(road.mirrored().locate(mirrored), (along, -offset, -heading), rtol=0, atol=1e-8)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_many_poses_are_located_as_one_by_one(shape: str) -> None:
    road = SHAPES[shape](length=300.0)
    generator = np.random.default_rng(0)
    poses = generator.uniform([-20, -40, -9], [250, 90, 9], (4, 50, 3))
    together = np.stack(road.locate(poses), axis=-1)
    assert together.shape == (4, 50, 3)
    for one, pose in zip(together.reshape(-1, 3), poses.reshape(-1, 3), strict=True):
        assert np.array_equal(one, np.array(road.locate(pose)))
        assert np.array_equal(one, np.concatenate(road.locate(pose[None])))


@given(st.floats(-50.0, 50.0))
def test_a_wrapped_angle_is_the_same_angle_within_half_a_turn(angle: float) -> None:
    found = wrapped(angle)
    assert abs(found) <= np.pi + 1e-12
    turns = (angle - found) / (2 * np.pi)
    assert turns == pytest.approx(round(float(turns)), abs=1e-12)
    if abs(angle) < np.pi:
        assert found == angle


@given(st.integers(1, 6), st.floats(2.0, 5.0), unit)
def test_the_own_lane_is_the_one_whose_centre_is_nearest(lanes: int, width: float, across: float) -> None:
    road = Road.straight(lanes, width)
    offset = (2 * across - 1) * road.half_width * (1 - 1e-9)
    centres = road.lane_centre(np.arange(lanes))
    lane = int(road.lane_of(np.array(offset)))
    assert 0 <= lane < lanes
    assert abs(offset - centres[lane]) == pytest.approx(np.abs(offset - centres).min())


def test_lanes_are_counted_from_the_left() -> None:
    road = Road.straight(lanes=3, lane_width=3.5)
    assert road.lane_centre(np.arange(3)).tolist() == [3.5, 0.0, -3.5]
    assert road.lane_centre(1) == 0.0
    assert road.lane_of(np.array([5.2, 1.8, 1.7, 0.0, -1.7, -1.8, -5.2])).tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert road.lane_of(np.array([5.3, -5.3])).tolist() == [-1, 3]
    even = Road.straight(lanes=4, lane_width=3.0)
    assert even.lane_centre(np.arange(4)).tolist() == [4.5, 1.5, -1.5, -4.5]


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"lanes": 0}, "lanes"),
        ({"lanes": -2}, "lanes"),
        ({"lane_width": 0.0}, "lane_width"),
        ({"lane_width": -3.5}, "lane_width"),
        ({"lane_width": np.nan}, "lane_width"),
        ({"lane_width": np.inf}, "lanes? of|lane_width"),
        ({"length": 0.0}, "length"),
        ({"length": -1.0}, "length"),
        ({"length": np.nan}, "length"),
        ({"length": np.inf}, "length"),
    ],
    ids=str,
)
def test_a_bad_setting_is_one_sentence(shape: str, bad: dict[str, Any], named: str) -> None:
    with gives_up_after(0.3), pytest.raises(RobustBCError, match=rf"^[^\n]*({named})[^\n]*\.$"):
        SHAPES[shape](**bad)


def test_lanes_that_do_not_fit_into_the_turns_are_one_sentence() -> None:
    with pytest.raises(RobustBCError, match=r"^9 lanes of 3\.5 m do not fit into turns of radius 15\.0 m; .*\.$"):
        Road.curved(lanes=9)
    assert Road.curved(lanes=8).half_width == 14.0
    assert Road.straight(lanes=9).half_width == 15.75


@contextmanager
def gives_up_after(seconds: float) -> Iterator[None]:
    """Turns a loop without end into an error."""

    def give_up(*_: Any) -> None:
        raise TimeoutError(f"no answer within {seconds} s")

    former = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)
