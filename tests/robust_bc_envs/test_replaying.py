"""A replay is the episode itself; a film is a picture for each of its steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.evaluating import play
from robust_bc.evaluation.films import check_film, write_film
from robust_bc.evaluation.rollouts import Episode, episode_seeds
from robust_bc_demos.drivers import ScriptedDriver
from robust_bc_envs.filming import Film
from robust_bc_envs.lanes.replaying import replay_lane_driving
from robust_bc_envs.lanes.roads import Road
from robust_bc_envs.names import LANE_DRIVING
from robust_bc_envs.tasks import find_task


@pytest.mark.parametrize("settings", [{}, {"shape": "curved", "cars": 3, "dt": 0.1}])
def test_a_replay_has_the_poses_of_the_environment(settings: dict[str, Any]) -> None:
    for episode in play(ScriptedDriver("careless"), "lane-driving", episode_seeds(1, 3), settings=settings):
        road, cars, poses = replay_lane_driving(settings, episode)
        world: Any = gym.make(LANE_DRIVING, **settings).unwrapped
        world.reset(seed=episode.seed)
        assert np.array_equal(cars, world.cars)
        assert np.array_equal(poses[0], world.pose)
        for action, pose in zip(episode.actions, poses[1:], strict=True):
            world.step(action)
            assert np.array_equal(pose, world.pose)
        mine: Road = world.worlds.road
        assert (road["lanes"], road["lane_width"], road["dt"]) == (mine.lanes, mine.lane_width, world.settings.dt)
        assert [piece["start"] for piece in road["pieces"]] == mine.starts.tolist()
        assert sum(piece["length"] for piece in road["pieces"]) == pytest.approx(mine.length)


def test_an_episode_without_actions_cannot_be_replayed() -> None:
    nothing = Episode(3, np.zeros((0, 4)), np.zeros((0, 1)), np.zeros(5), True)
    with pytest.raises(RobustBCError, match="cannot be replayed"):
        replay_lane_driving({}, nothing)


def test_a_film_shows_every_step(tmp_path: Path) -> None:
    (whole,) = play(ScriptedDriver("safe"), "lane-driving", episode_seeds(0, 1))
    episode = Episode(whole.seed, whole.observations[:7], whole.actions[:6], whole.rewards[:6], False)
    film = Film(find_task("lane-driving"), {}, episode)
    assert film.frames_per_second == 20
    path = write_film(tmp_path / "new" / "film.gif", film.frames(), film.frames_per_second)
    with Image.open(path) as picture:
        assert picture.n_frames == 7  # type: ignore[attr-defined]
        assert picture.info["duration"] == 50
    assert [file.name for file in path.parent.iterdir()] == ["film.gif"]


def test_a_film_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=r"the endings are \.gif and \.mp4"):
        check_film(tmp_path / "film.avi")
