"""When two cars touch, in a frame and between two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from robust_bc_envs.lanes.driving import CAR_LENGTH, CAR_WIDTH, hits, rectangles_overlap
from robust_bc_envs.lanes.roads import Array, moved
from tests.robust_bc_envs.rectangles import clearance, common_area, least_clearance, motion, random_steps

MIRROR = np.array([1.0, -1.0, -1.0])
angles = st.floats(-7.0, 7.0)
seeds = st.integers(0, 2**32 - 1)


places = st.tuples(st.floats(-6, 6), st.floats(-6, 6), angles).map(np.array)


@settings(max_examples=400, deadline=None)
@given(places, places)
def test_rectangles_overlap_where_their_polygons_do(first: Array, second: Array) -> None:
    assume(abs(clearance(first, second)) > 1e-9)  # cars that just touch may be rounded either way
    assert rectangles_overlap(first, second) == (common_area(first, second) > 0)


def test_both_answers_are_common_and_so_are_narrow_ones() -> None:
    """What the next tests stand on: overlap is told from corners alone, also where it is decided by centimetres."""
    first, second = np.random.default_rng(0).uniform([-4, -4, -7], [4, 4, 7], (2, 50_000, 3))
    gap = clearance(first, second)
    found = rectangles_overlap(first, second)
    assert np.array_equal(found, gap < 0)
    assert 0.3 < found.mean() < 0.7
    assert (np.abs(gap) < 0.05).sum() > 500


@settings(max_examples=200, deadline=None)
@given(places, places, st.floats(-100, 100), st.floats(-100, 100), angles)
def test_overlap_is_mutual_and_does_not_feel_being_moved(
    first: Array, second: Array, x: float, y: float, turn: float
) -> None:
    assume(abs(clearance(first, second)) > 1e-9)
    found = rectangles_overlap(first, second)
    assert rectangles_overlap(second, first) == found
    assert rectangles_overlap(moved(first, x, y, turn), moved(second, x, y, turn)) == found
    assert rectangles_overlap(first * MIRROR, second * MIRROR) == found


def test_rectangles_overlap_up_to_their_edges() -> None:
    origin = np.zeros(3)
    near, far = 1 - 1e-9, 1 + 1e-9
    for x, y in ((CAR_LENGTH, 0.0), (-CAR_LENGTH, 0.0), (0.0, CAR_WIDTH), (0.0, -CAR_WIDTH), (CAR_LENGTH, CAR_WIDTH)):
        assert rectangles_overlap(origin, np.array([near * x, near * y, 0.0]))
        assert not rectangles_overlap(origin, np.array([far * x, far * y, 0.0]))
    across = (CAR_LENGTH + CAR_WIDTH) / 2
    assert rectangles_overlap(origin, np.array([near * across, 0.0, np.pi / 2]))
    assert not rectangles_overlap(origin, np.array([far * across, 0.0, np.pi / 2]))
    diagonal = CAR_LENGTH / 2 + np.hypot(CAR_LENGTH, CAR_WIDTH) / 2  # a corner points at the other's front
    corner = np.arctan2(CAR_WIDTH, CAR_LENGTH)
    assert rectangles_overlap(origin, np.array([near * diagonal, 0.0, -corner]))
    assert not rectangles_overlap(origin, np.array([far * diagonal, 0.0, -corner]))


def test_overlap_of_many_is_broadcast() -> None:
    first, second = np.random.default_rng(1).uniform(-4, 4, (2, 6, 3))
    table = rectangles_overlap(first[:, None], second)
    assert table.shape == (6, 6)
    assert table.tolist() == [[bool(rectangles_overlap(one, other)) for other in second] for one in first]


STEPS = {
    "a step of 0.05 s": (0.5, 0.8),
    "a step of 0.1 s": (1.0, np.pi / 2),
    "a pure turn": (0.0, 1.5),
    "a pure drive": (2.0, 0.0),
    "a long drive with a small turn": (5.0, 0.05),
}


@pytest.mark.parametrize("driven, turn", STEPS.values(), ids=STEPS)  # noqa: PT006
def test_no_collision_between_two_frames_is_missed_and_none_is_made_up(driven: float, turn: float) -> None:
    """Against the motion in small pieces: the drive along the old heading, then the turn on the spot."""
    before, after, cars = random_steps(np.random.default_rng(5), 3000, driven, turn)
    found = hits(before, after, cars[:, None])
    undecided = np.ones(len(cars), np.bool_)
    for pieces, most in ((60, 3000), (1500, 100)):  # the narrow ones again, in smaller pieces
        which = np.flatnonzero(undecided)[:most]
        small = motion(before[which], after[which], pieces if driven else 1, pieces if turn else 1)
        gap = least_clearance(small, cars[which])
        # Within half a piece no corner moves, and no edge tilts at a corner, by more than this.
        resolution = max(driven, 6.0 * turn) / pieces / 2
        collides, passes = gap < -1e-9, gap > resolution
        assert found[which[collides]].all()
        assert not found[which[passes]].any()
        assert collides.sum() > 1000 or pieces > 60
        assert passes.sum() > 50
        undecided[which[collides | passes]] = False


def test_collisions_that_neither_frame_shows_are_found() -> None:
    before, after, cars = random_steps(np.random.default_rng(6), 10_000, 1.0, np.pi / 2)
    hidden = ~rectangles_overlap(before, cars) & ~rectangles_overlap(after, cars)
    before, after, cars = before[hidden], after[hidden], cars[hidden]
    straight = np.concatenate([after[:, :2], before[:, 2:]], axis=1)
    in_between = least_clearance(motion(before, after, 20, 40), cars) < -1e-9
    in_the_drive = least_clearance(motion(before, straight, 20, 1), cars) < -1e-9
    in_the_turn = in_between & (least_clearance(motion(before, straight, 20, 1), cars) > 0.025)
    assert in_the_turn.sum() > 50
    assert in_the_drive.sum() > 50
    assert hits(before, after, cars[:, None])[in_between].all()


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_corner_that_swings_through_is_found(sense: float) -> None:
    """A turn by 90° on the spot; the other car points at us from the diagonal, 2.65 m away, our corner reaches 2.75."""
    diagonal = sense * np.pi / 4
    reach = 2.65 + CAR_LENGTH / 2
    car = np.array([[reach * np.cos(diagonal), reach * np.sin(diagonal), diagonal]])
    before, after = np.zeros((1, 3)), np.array([[0.0, 0.0, sense * np.pi / 2]])
    assert not rectangles_overlap(before, car)[0]
    assert not rectangles_overlap(after, car)[0]
    assert hits(before, after, car[:, None])[0]
    assert hits(after, before, car[:, None])[0]
    assert not hits(before, after, moved(car, 0.11 * np.cos(diagonal), 0.11 * np.sin(diagonal), 0.0)[:, None])[0]
    assert not hits(before, -after, car[:, None])[0]  # the other way round there is nothing


def test_a_car_that_is_jumped_over_is_found() -> None:
    before, after = np.array([[0.0, 0.0, 0.0]]), np.array([[20.0, 0.0, 0.0]])
    car = np.array([[[10.0, 0.0, 0.3]]])
    assert hits(before, after, car)[0]
    assert not hits(before, after, moved(car, 0.0, 4.0, 0.0))[0]


@pytest.mark.parametrize("heading", [0.0, 0.3, np.pi / 2, -2.0])
def test_a_car_in_the_next_lane_is_passed_without_turning(heading: float) -> None:
    """Straight on past a car 3.5 m to the side, which is a metre of air: the turn is exactly 0."""
    along = np.arange(-10.0, 10.0, 0.5)
    before = moved(np.stack([along, np.zeros(40), np.zeros(40)], axis=1), 7.0, -3.0, heading)
    after = moved(np.stack([along + 0.5, np.zeros(40), np.zeros(40)], axis=1), 7.0, -3.0, heading)
    for side in (3.5, -3.5, CAR_WIDTH + 0.01):
        car = moved(np.array([0.0, side, 0.0]), 7.0, -3.0, heading)
        assert not hits(before, after, np.tile(car, (40, 1, 1))).any()


def test_each_road_is_hit_by_its_own_cars_only() -> None:
    before, after, cars = random_steps(np.random.default_rng(7), 600, 0.5, 0.8)
    alone = hits(before, after, cars[:, None])
    far = np.array([1e3, 1e3, 0.0])
    some = np.stack([np.broadcast_to(far, cars.shape), cars, cars + far], axis=1)  # (N, 3, 3)
    assert np.array_equal(hits(before, after, some), alone)
    assert not hits(before, after, np.zeros((600, 0, 3))).any()
    assert 100 < alone.sum() < 500
    for index in range(50):
        assert hits(before[[index]], after[[index]], some[[index]])[0] == alone[index]
