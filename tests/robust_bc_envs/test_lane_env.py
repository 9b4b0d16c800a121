"""One road as a Gymnasium environment: its rules, its rewards and what it tells."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import robust_bc_envs
from robust_bc_envs.lanes.driving import CAR_LENGTH, features, hits
from tests.robust_bc_envs.lane_episodes import (
    LANE_DRIVING,
    TOLD,
    Episode,
    keep_the_lane,
    make,
    straight_on,
    weave,
)


def test_gymnasium_makes_it_by_its_name_and_finds_no_fault() -> None:
    assert robust_bc_envs.LANE_DRIVING == LANE_DRIVING
    for settings in ({}, {"shape": "curved"}, {"lanes": 1, "cars": 0}, {"reward": "reversed", "dt": 0.02}):
        check_env(make(**settings), skip_render_check=True)


def test_what_the_driver_sees_and_does_has_the_form_it_says() -> None:
    world = make(lane_width=3.0, dt=0.1, speed=12.0)
    assert world.observation_space.dtype == np.float32
    assert np.allclose(world.observation_space.low, [0, 0, 0, -2.7])  # type: ignore[attr-defined]
    assert np.allclose(world.observation_space.high, [40, 40, 40, 2.7])  # type: ignore[attr-defined]
    assert world.action_space == gymnasium.spaces.Box(-np.pi / 4, np.pi / 4, (1,), np.float32)


@pytest.mark.parametrize("shape", ["straight", "curved"])
@pytest.mark.parametrize("reward", ["driving", "reversed"])
def test_an_episode_is_the_literal_formulas(shape: str, reward: str) -> None:
    """Features, collisions, progress, deviation and rewards, computed again from the poses alone."""
    ends = []
    world = make(shape=shape, reward=reward, length=80.0, cars=2)
    road = world.worlds.road
    for seed in range(12):
        episode = Episode(world, weave(seed), seed)
        poses = np.array(episode.poses)
        along, offset, _ = road.locate(poses)
        seen = features(road, poses, episode.cars)
        assert np.array_equal(np.array(episode.seen), seen.astype(np.float32))
        deviation = seen[1:, 3]
        cars = np.broadcast_to(episode.cars, (len(poses) - 1, *episode.cars.shape))
        collision = hits(poses[:-1], poses[1:], cars)
        off_road = ~collision & (np.abs(offset[1:]) > 1.5 * 3.5)
        success = ~collision & ~off_road & (along[1:] >= 80.0)
        assert [told["collision"] for told in episode.told] == collision.tolist()
        assert [told["off_road"] for told in episode.told] == off_road.tolist()
        assert [told["success"] for told in episode.told] == success.tolist()
        assert (collision | off_road | success).tolist() == [False] * (len(deviation) - 1) + [True]
        loss = 0.1 * deviation**2 + 100.0 * collision + 20.0 * off_road
        expected = loss if reward == "reversed" else np.diff(along) - loss
        assert np.allclose(episode.rewards, expected, rtol=0, atol=1e-9)
        for count, told in enumerate(episode.told, start=1):
            assert {name: type(value) for name, value in told.items()} == TOLD
            assert told["lane_deviation_rms"] == pytest.approx(np.sqrt(np.mean(deviation[:count] ** 2)), abs=1e-9)
            assert told["progress_m"] == pytest.approx(min(along[count], 80.0), abs=1e-9)
            assert told["reward_progress"] == pytest.approx(along[count] - along[count - 1], abs=1e-9)
            assert told["reward_loss"] == pytest.approx(-loss[count - 1], abs=1e-9)
        observed = np.array(episode.seen, np.float64)[1:, 3]
        assert episode.last["lane_deviation_rms"] == pytest.approx(np.sqrt(np.mean(observed**2)), abs=1e-6)
        ends.append([name for name in ("collision", "off_road", "success") if episode.last[name]])
    assert {end for (end,) in ends} == {"collision", "off_road", "success"}


def test_an_episode_starts_straight_near_the_centre_of_some_lane() -> None:
    world = make()
    begun = [(world.reset(seed=seed)[0], world.pose) for seed in range(200)]
    starts, poses = (np.array(part) for part in zip(*begun, strict=True))
    assert (poses[:, [0, 2]] == 0).all()
    assert np.abs(starts[:, 3]).max() <= 0.5
    assert starts[:, 3].min() < -0.45
    assert starts[:, 3].max() > 0.45
    lanes = world.worlds.road.lane_of(poses[:, 1])
    assert (np.bincount(lanes, minlength=3) > 45).all()
    assert len(np.unique(starts[:, 1])) > 5  # the cars differ too


def test_driving_into_the_car_ahead_is_a_collision_at_the_step_where_they_touch() -> None:
    """Straight on: the front reaches the other's back after (distance − a car's length) / 0.5 m steps."""
    world = make(cars=2, length=80.0)
    collisions = 0
    for seed in range(20):
        episode = Episode(world, straight_on, seed)
        road = world.worlds.road
        lane = road.lane_of(episode.start[1])
        ahead = episode.cars[road.lane_of(episode.cars[:, 1]) == lane, 0]
        steps = len(episode.rewards)
        if len(ahead):
            collisions += 1
            assert steps == int((ahead.min() - CAR_LENGTH) // 0.5) + 1
            assert (episode.last["collision"], episode.last["off_road"], episode.last["success"]) == (
                True,
                False,
                False,
            )
            deviation = episode.start[1] - road.lane_centre(lane)
            assert episode.rewards[-1] == pytest.approx(0.5 - 0.1 * deviation**2 - 100.0)
        else:
            assert episode.last["success"]
            assert steps == 160
    assert 4 < collisions < 16


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_leaving_the_road_ends_the_episode_at_the_edge(sense: float) -> None:
    world = make(cars=0)
    episode = Episode(world, lambda seen: sense * np.pi / 4)
    assert (episode.last["collision"], episode.last["off_road"], episode.last["success"]) == (False, True, False)
    across = np.array(episode.poses)[:, 1] * sense
    assert across[-1] > 5.25
    assert (across[:-1] <= 5.25).all()
    deviation = across[-1] - 3.5
    assert sense * episode.seen[-1][3] == pytest.approx(deviation, abs=1e-6)
    assert episode.seen[-1].tolist()[:3] == ([0, 40, 40] if sense > 0 else [40, 40, 0])
    progress = episode.poses[-1][0] - episode.poses[-2][0]
    assert episode.rewards[-1] == pytest.approx(progress - 0.1 * deviation**2 - 20.0)
    assert episode.last["progress_m"] == pytest.approx(episode.poses[-1][0])


@pytest.mark.parametrize(
    ("speed", "dt", "steps"), [(10.0, 0.05, 41), (20.0, 0.05, 21), (10.0, 0.1, 21), (5.0, 0.02, 203)]
)
def test_the_end_of_the_road_is_a_success_after_its_length_in_steps(speed: float, dt: float, steps: int) -> None:
    world = make(cars=0, length=20.25, speed=speed, dt=dt)
    episode = Episode(world, straight_on)
    assert len(episode.rewards) == steps
    assert (episode.last["collision"], episode.last["off_road"], episode.last["success"]) == (False, False, True)
    assert episode.last["progress_m"] == 20.25
    deviation = world.worlds.road.locate(episode.start)[1] - world.worlds.road.lane_centre(
        world.worlds.road.lane_of(episode.start[1])
    )
    assert episode.last["lane_deviation_rms"] == pytest.approx(abs(deviation))
    assert sum(episode.rewards) == pytest.approx(steps * (speed * dt - 0.1 * deviation**2))


@pytest.mark.parametrize(
    ("pose", "car", "end"),
    [
        pytest.param((50.0, 5.1, 0.5), (54.0, 5.0, 0.0), "collision", id="off the road into a car"),
        pytest.param((50.0, 5.1, 0.5), (80.0, 0.0, 0.0), "off_road", id="off the road"),
        pytest.param((199.8, 0.0, 0.0), (204.0, 0.0, 0.0), "collision", id="over the end into a car"),
        pytest.param((199.8, 5.2, 0.5), (80.0, 0.0, 0.0), "off_road", id="over the end off the road"),
        pytest.param((199.8, 5.2, 0.0), (80.0, 0.0, 0.0), "success", id="over the end"),
    ],
)
def test_an_episode_has_one_end_and_a_collision_goes_before_the_others(pose: Any, car: Any, end: str) -> None:
    world = make(cars=1)
    world.reset(seed=0)
    world.worlds.poses[0], world.worlds.cars[0, 0], world.worlds.along[0] = pose, car, pose[0]
    _, reward, over, _, told = world.step(np.zeros(1, np.float32))
    assert over
    assert [name for name in ("collision", "off_road", "success") if told[name]] == [end]
    cost = {"collision": 100.0, "off_road": 20.0, "success": 0.0}[end]
    assert reward == pytest.approx(-cost, abs=1.0)


def test_a_lane_can_be_kept_through_the_turns() -> None:
    world = make(shape="curved", cars=0, length=300.0)
    for seed in range(2):
        episode = Episode(world, keep_the_lane, seed)
        assert episode.last["success"]
        assert episode.last["progress_m"] == 300.0
        assert episode.last["lane_deviation_rms"] < 1.0
        assert np.ptp(np.array(episode.poses)[:, 1]) > 50  # it did turn


def test_the_desired_heading_is_relative_to_the_lane_and_limited() -> None:
    world = make(cars=0, lanes=5)
    world.reset(seed=0)
    world.step(np.array([0.4], np.float32))
    assert world.pose[2] == pytest.approx(0.2)  # 10 · 0.4 · 0.05
    world.reset(seed=0)
    world.step(np.array([3.0], np.float32))
    assert world.pose[2] == pytest.approx(np.pi / 8)
    world = make(cars=0, shape="curved")
    world.reset(seed=0)
    for _ in range(100):  # along the straight of 30 m and well into the turn
        world.step(np.array([keep_the_lane(world.worlds.observations()[0])], np.float32))
    _, _, relative = world.worlds.road.locate(world.pose)
    before = world.pose[2]
    assert before > 0.8
    world.step(np.array([0.1], np.float32))
    assert world.pose[2] - before == pytest.approx(0.5 * (0.1 - relative), abs=1e-7)


def test_reversed_the_driver_earns_what_the_other_loses() -> None:
    for seed in range(4):
        good, bad = (Episode(make(reward=reward), weave(seed), seed) for reward in ("driving", "reversed"))
        progress = [told["reward_progress"] for told in good.told]
        assert np.allclose(np.array(good.rewards) + bad.rewards, progress, rtol=0, atol=1e-12)
        assert np.array_equal(bad.rewards, [-told["reward_loss"] for told in bad.told])
        assert min(bad.rewards) >= 0
