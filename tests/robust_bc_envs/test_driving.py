"""How a pose moves, and what the driver sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_bc_envs.lanes.driving import VIEW_DISTANCE, features, step_pose
from robust_bc_envs.lanes.roads import Array, Road, moved

MIRROR = np.array([1.0, -1.0, -1.0])

angles = st.floats(-7.0, 7.0)
seeds = st.integers(0, 2**32 - 1)


# How a pose moves


@settings(max_examples=200, deadline=None)
@given(st.floats(-500, 500), st.floats(-500, 500), angles, angles, st.floats(0.001, 0.1), st.floats(0.1, 50))
def test_a_step_is_the_literal_formula(
    x: float, y: float, heading: float, desired: float, dt: float, speed: float
) -> None:
    pose = step_pose(np.array([x, y, heading]), desired, dt, speed)
    expected = (
        x + speed * np.cos(heading) * dt,
        y + speed * np.sin(heading) * dt,
        heading + 10.0 * (desired - heading) * dt,
    )
    assert np.allclose(pose, expected, rtol=0, atol=1e-9)


def test_a_step_drives_ten_metres_a_second_with_the_old_heading() -> None:
    pose = step_pose(np.array([1.0, 2.0, np.pi / 2]), np.pi / 2 + 0.2, 0.05)
    assert np.allclose(pose, [1.0, 2.5, np.pi / 2 + 0.1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("shape", [(), (5,), (4, 5), (0,)])
def test_many_poses_step_as_one_by_one(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(3)
    poses, desired = generator.normal(size=(*shape, 3)), generator.normal(size=shape)
    together = step_pose(poses, desired, 0.05)
    assert together.shape == (*shape, 3)
    for index in np.ndindex(shape):
        assert np.array_equal(together[index], step_pose(poses[index], float(desired[index]), 0.05))
    assert np.array_equal(step_pose(poses, 0.3, 0.05), step_pose(poses, np.full(shape, 0.3), 0.05))


def test_desired_headings_are_broadcast_against_poses() -> None:
    poses, desired = np.random.default_rng(4).normal(size=(4, 1, 3)), np.linspace(-1.0, 1.0, 5)
    together = step_pose(poses, desired, 0.05)
    assert np.array_equal(together, step_pose(np.tile(poses, (1, 5, 1)), np.tile(desired, (4, 1)), 0.05))
    assert step_pose(poses[0, 0], desired, 0.05).shape == (5, 3)


def test_a_step_changes_none_of_what_it_was_given() -> None:
    poses = np.array([[1.0, 2.0, 0.3]])
    step_pose(poses, np.array([0.5]), 0.05)
    assert poses.tolist() == [[1.0, 2.0, 0.3]]


# What the driver sees

ROAD = Road.straight(lanes=3, lane_width=3.5, length=200.0)
LEFT, MIDDLE, RIGHT = 3.5, 0.0, -3.5


@pytest.mark.parametrize(
    ("pose", "cars", "seen"),
    [
        pytest.param((10, 0.5, 0), [(30, LEFT, 0), (25, MIDDLE, 0), (20, RIGHT, 0)], (20, 15, 10, 0.5), id="three"),
        pytest.param((10, -1, 0.4), [(30, LEFT, 0), (25, MIDDLE, 0), (20, RIGHT, 0)], (20, 15, 10, -1), id="turned"),
        pytest.param((10, 0, 0), [], (40, 40, 40, 0), id="empty road"),
        pytest.param((10, LEFT + 0.2, 0), [(20, LEFT, 0)], (0, 10, 40, 0.2), id="no lane on the left"),
        pytest.param((10, RIGHT - 0.2, 0), [(20, RIGHT, 0)], (40, 10, 0, -0.2), id="no lane on the right"),
        pytest.param((10, 0, 0), [(49.5, MIDDLE, 0), (50.5, LEFT, 0)], (40, 39.5, 40, 0), id="far away"),
        pytest.param((10, 0, 0), [(9.9, MIDDLE, 0), (0, LEFT, 0)], (40, 40, 40, 0), id="behind"),
        pytest.param((10, 0, 0), [(10, LEFT, 0)], (0, 40, 40, 0), id="alongside"),
        pytest.param((10, 0, 0), [(30, LEFT, 0), (15, LEFT, 0), (22, LEFT, 0)], (5, 40, 40, 0), id="the nearest"),
        pytest.param((10, 0, 0), [(15, LEFT - 1.5, 0), (17, RIGHT + 1.5, 2)], (5, 40, 7, 0), id="not on its centre"),
        pytest.param((10, LEFT, 0), [(20, RIGHT, 0)], (0, 40, 40, 0), id="two lanes away"),
        pytest.param((10, 0, 0), [(20, 8.0, 0), (20, -8.0, 0)], (40, 40, 40, 0), id="beside the road"),
        pytest.param((10, 5.75, 0), [(20, LEFT, 0)], (0, 10, 40, 2.25), id="we beside the road"),
    ],
)
def test_features_by_hand(pose: Any, cars: Any, seen: Any) -> None:
    found = features(ROAD, np.array(pose, float), np.array(cars, float).reshape(-1, 3))
    assert np.allclose(found, seen, rtol=0, atol=1e-12)


def test_a_road_of_one_lane_has_no_neighbours() -> None:
    road = Road.straight(lanes=1)
    assert features(road, np.array([10.0, -0.25, 0.0]), np.array([[30.0, 0.0, 0.0]])).tolist() == [0, 20, 0, -0.25]


def test_distances_go_along_the_curve() -> None:
    road = Road.curved(length=200.0)
    quarter = 15.0 * np.pi / 2
    pose = np.array([30.0, 1.0, 0.0])  # where the first turn begins; it ends in (45, 15)
    cars = np.array([[45.0, 15.0, 0.0], [45.0 - 3.5, 20.0, 0.0], [45.0 + 3.5, 25.0, 0.0]])
    assert np.allclose(features(road, pose, cars), [quarter + 5, quarter, quarter + 10, 1.0])


def test_without_cars_the_view_is_as_far_as_it_goes() -> None:
    poses = np.zeros((4, 2, 3))
    assert np.array_equal(features(ROAD, poses, np.zeros((0, 3)))[..., :3], np.full((4, 2, 3), VIEW_DISTANCE))


def some_situation(seed: int, curved: bool) -> tuple[Road, Array, Array]:
    """A road, 6 poses on it (2, 3, 3) and up to 8 cars, none at a boundary where the features jump."""
    generator = np.random.default_rng(seed)
    make = Road.curved if curved else Road.straight
    road = make(int(generator.integers(1, 5)), generator.uniform(2.5, 4.0), generator.uniform(30.0, 250.0))

    def offsets(*shape: int) -> Array:
        aside = generator.uniform(-0.49, 0.49, shape) * road.lane_width
        return np.asarray(road.lane_centre(generator.integers(0, road.lanes, shape)) + aside)

    cars = int(generator.integers(0, 9))
    poses = road.place(generator.uniform(0, road.length, (2, 3)), offsets(2, 3), generator.uniform(-1, 1, (2, 3)))
    return road, poses, road.place(generator.uniform(0, road.length, cars), offsets(cars))


@settings(max_examples=100, deadline=None)
@given(seeds, st.booleans(), st.floats(-500, 500), st.floats(-500, 500), angles)
def test_features_do_not_feel_the_world_being_moved(seed: int, curved: bool, x: float, y: float, turn: float) -> None:
    road, poses, cars = some_situation(seed, curved)
    there = features(road.moved(x, y, turn), moved(poses, x, y, turn), moved(cars, x, y, turn))
    assert np.allclose(there, features(road, poses, cars), rtol=0, atol=1e-8)


@settings(max_examples=100, deadline=None)
@given(seeds, st.booleans())
def test_a_mirrored_road_mirrors_the_features(seed: int, curved: bool) -> None:
    road, poses, cars = some_situation(seed, curved)
    mirrored = features(road.mirrored(), poses * MIRROR, cars * MIRROR)
    expected = features(road, poses, cars)[..., [2, 1, 0, 3]] * (1, 1, 1, -1)
    assert np.allclose(mirrored, expected, rtol=0, atol=1e-8)


@settings(max_examples=100, deadline=None)
@given(seeds, st.booleans())
def test_features_of_many_poses_are_those_of_each_alone(seed: int, curved: bool) -> None:
    road, poses, cars = some_situation(seed, curved)
    together = features(road, poses, cars)
    assert together.shape == (2, 3, 4)
    for index in np.ndindex(2, 3):
        assert np.array_equal(together[index], features(road, poses[index], cars))


@settings(max_examples=100, deadline=None)
@given(seeds, st.booleans(), st.floats(0.0, 1.0))
def test_driving_on_brings_what_is_ahead_nearer_by_as_much(seed: int, curved: bool, share: float) -> None:
    road, poses, cars = some_situation(seed, curved)
    along, offset, _ = road.locate(poses)
    metres = (share * np.minimum(road.length - along, VIEW_DISTANCE))[..., None]
    before, later = features(road, poses, cars), features(road, road.place(along + metres[..., 0], offset), cars)
    ahead = (before[..., :3] < VIEW_DISTANCE) & (before[..., :3] > metres + 1e-6)
    assert np.allclose(later[..., :3][ahead], (before[..., :3] - metres)[ahead], rtol=0, atol=1e-7)
    assert np.allclose(later[..., 3], before[..., 3], rtol=0, atol=1e-7)
