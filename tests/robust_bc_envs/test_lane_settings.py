"""The settings, seeds and spaces of the road, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from robust_bc.errors import RobustBCError
from tests.robust_bc_envs.lane_episodes import (
    LANE_DRIVING,
    Episode,
    make,
    weave,
)


@pytest.mark.parametrize(("lanes", "cars", "shape"), [(1, 0, "straight"), (2, 2, "curved"), (5, 5, "straight")])
def test_the_settings_make_the_road_and_its_traffic(lanes: int, cars: int, shape: str) -> None:
    world = make(lanes=lanes, cars=cars, shape=shape, lane_width=4.0, length=220.0)
    world.reset(seed=1)
    road = world.worlds.road
    assert (road.lanes, road.lane_width) == (lanes, 4.0)
    assert road.length == pytest.approx(220.0)
    assert world.cars.shape == (cars, 3)
    assert (len(road.lengths) > 1) == (shape == "curved")
    assert world.metadata["render_fps"] == 20
    assert make(dt=0.02).metadata["render_fps"] == 50


@pytest.mark.parametrize("shape", ["straight", "curved"])
def test_the_same_seed_is_the_same_episode(shape: str) -> None:
    one, again, other = (Episode(make(shape=shape), weave(0), seed) for seed in (3, 3, 4))
    assert np.array_equal(one.cars, again.cars)
    assert np.array_equal(one.poses, again.poses)
    assert np.array_equal(one.seen, again.seen)
    assert one.rewards == again.rewards
    assert one.told == again.told
    assert not np.array_equal(one.cars, other.cars)


def test_without_a_seed_an_episode_goes_on_with_the_random_numbers_it_has() -> None:
    world, again = make(), make()
    world.reset(seed=5)
    again.reset(seed=5)
    first = world.cars
    world.reset()
    again.reset()
    assert np.array_equal(world.cars, again.cars)
    assert not np.array_equal(world.cars, first)


@pytest.mark.parametrize("settings", [{}, {"shape": "curved"}, {"lanes": 1, "cars": 0, "dt": 0.1}, {"speed": 30.0}])
def test_what_is_seen_is_always_in_the_observation_space(settings: dict[str, Any]) -> None:
    world = make(**settings)
    generator = np.random.default_rng(0)
    for seed in range(10):
        Episode(world, lambda seen: float(generator.uniform(-0.79, 0.79)), seed)
        Episode(world, lambda seen, seed=seed: (-1) ** seed * np.pi / 4, seed)  # type: ignore[misc]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_no_number_is_one_sentence_and_moves_nothing(bad: float) -> None:
    world = make()
    world.reset(seed=0)
    before = world.pose
    with pytest.raises(RobustBCError, match=rf"^the action must be a number, but it is {bad}\.$"):
        world.step(np.array([bad], np.float32))
    assert np.array_equal(world.pose, before)
    world.step(np.zeros(1, np.float32))


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"wind": 1}, r"lane driving has no setting 'wind'; its settings are lanes, lane_width, length, cars, dt, .*"),
        ({"shape": "round"}, r"there is no road shape 'round'; the shapes are straight, curved"),
        ({"reward": "none"}, r"there is no reward 'none'; the rewards are driving, reversed"),
        ({"dt": 0.0}, r"dt must be above 0 and at most 0\.1 s, but it is 0\.0"),
        ({"dt": 0.2}, r"dt must be above 0 and at most 0\.1 s, but it is 0\.2"),
        ({"dt": 1e-9}, r"a lane has at most 100 m, and a road takes at most 250000 steps"),
        ({"speed": 1e-9}, r"a lane has at most 100 m, and a road takes at most 250000 steps"),
        ({"lane_width": 1e308}, r"a lane has at most 100 m, and a road takes at most 250000 steps"),
        ({"cars": True}, "cars must be a whole number, but it is True"),
        ({"dt": np.nan}, r"dt must be above 0 and at most 0\.1 s, but it is nan"),
        ({"speed": 0.0}, r"speed must be a positive number of metres a second, but it is 0\.0"),
        ({"speed": np.inf}, r"speed must be a positive number of metres a second, but it is inf"),
        ({"lanes": 0}, r"lanes must be at least 1, but it is 0"),
        ({"length": -3.0}, r"lane_width and length must be positive numbers of metres"),
        ({"cars": 7}, r"cars is 7, but 200 m have room for 6; .*"),
        ({"cars": -1}, r"cars must be 0 or more, but it is -1"),
        ({"lanes": 1}, r"cars is 5, but one lane would be closed; .*"),
        ({"lanes": 2.5}, r".*lanes.*2\.5"),
        ({"cars": 2.5}, r".*cars.*2\.5"),
    ],
    ids=str,
)
def test_a_bad_setting_is_one_sentence(bad: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RobustBCError, match=rf"^{sentence}\.$"):
        gymnasium.make(LANE_DRIVING, **bad)


def test_whole_numbers_do_as_settings() -> None:
    one, other = (
        Episode(make(cars=2, length=length, speed=speed), weave(1)) for length, speed in ((100, 10), (100.0, 10.0))
    )
    assert np.array_equal(one.poses, other.poses)
