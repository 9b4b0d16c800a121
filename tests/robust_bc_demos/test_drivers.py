"""The scripted drivers: what they choose, how they move, and how often they hit."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc.evaluation.rollouts import Episode, episode_seeds, roll_out
from robust_bc_demos.drivers import STYLES, ScriptedDriver, choose_side
from robust_bc_envs.batches import make_batch
from robust_bc_envs.lanes.worlds import LARGEST_HEADING
from robust_bc_envs.tasks import find_task

EPISODES = 1000


def drive(name: str, episodes: int, slots: int, seed: int = 7) -> list[Episode]:
    worlds = make_batch(find_task("lane-driving"), slots)
    told = ["collision", "success", "lane_deviation_rms"]
    return list(roll_out(worlds, ScriptedDriver(name), episode_seeds(seed, episodes), told))


def test_safe_never_collides_and_always_arrives() -> None:
    episodes = drive("safe", EPISODES, 500)
    assert not any(episode.infos["collision"][-1] for episode in episodes)
    assert all(episode.infos["success"][-1] for episode in episodes)


def test_careless_collides_in_20_to_60_percent_and_weaves() -> None:
    episodes = drive("careless", EPISODES, 500)
    assert 0.2 < np.mean([episode.infos["collision"][-1] for episode in episodes]) < 0.6
    deviations = [np.mean([e.infos["lane_deviation_rms"][-1] for e in drive(name, 50, 50)]) for name in STYLES]
    assert deviations[1] > 1.5 * deviations[0]


def test_an_episode_does_not_depend_on_its_company() -> None:
    for one, other in zip(drive("careless", 6, 2), drive("careless", 6, 6), strict=True):
        assert np.array_equal(one.actions, other.actions)
        assert np.array_equal(one.observations, other.observations)


def test_a_driver_reacts_late() -> None:
    for name, style in STYLES.items():
        driver = ScriptedDriver(name)
        driver.begin(1, np.zeros(1, np.intp), [np.random.default_rng(0)])
        delay = int(driver.delay[0])
        assert style.delay[0] <= delay <= style.delay[1]
        driver.amplitude[:] = 0  # no weaving
        free, blocked = np.array([[40.0, 40, 40, 0]]), np.array([[40.0, 5, 3, 0]])
        assert driver.act(free) == 0
        turned = [float(driver.act(blocked)[0, 0]) for _ in range(delay + 1)]
        assert turned[:delay] == [0.0] * delay
        assert turned[delay] > 0.05


def test_steering_is_smooth() -> None:
    for name in STYLES:
        jumps = np.concatenate([np.abs(np.diff(episode.actions[:, 0])) for episode in drive(name, 20, 20)])
        assert jumps.max() < 0.5
        assert np.mean(jumps) < 0.03


@pytest.mark.parametrize(
    ("seen", "side", "chosen"),
    [
        ((40, 40, 40, 0), 0, 0),  # nothing ahead
        ((40, 10, 5, 0), 0, 1),  # left is freer
        ((5, 10, 40, 0), 0, -1),  # right is freer
        ((0, 10, 40, 0), 0, -1),  # no lane to the left
        ((40, 10, 0, 0), 0, 1),  # no lane to the right
        ((40, 10, 40, 0), 0, 1),  # both alike: to the left
        ((0, 10, 9, 0), 0, 0),  # the other lane is not freer yet
        ((10, 10, 40, 0), 1, 1),  # a change that has begun goes on
        ((40, 40, 5, 0), 1, 0),  # until the own lane is free
    ],
)
def test_which_way_is_chosen(seen: tuple[float, ...], side: int, chosen: int) -> None:
    assert choose_side(np.array([seen], float), np.array([side]), np.array([20.0])) == chosen


def test_a_label_is_what_such_a_driver_does_there() -> None:
    generator = np.random.default_rng(0)
    blocked, free = np.array([[40, 5, 3, 0.0]] * 50), np.array([[40, 40, 40, 1.0]] * 50)
    for name, style in STYLES.items():
        driver = ScriptedDriver(name)
        turned = driver.label(blocked, generator)
        assert turned.shape == (50, 1)
        assert (turned > style.heading[0] - 3 * style.weave[1]).all()
        assert (np.abs(turned) <= LARGEST_HEADING).all()
        kept = driver.label(free, generator)
        assert np.abs(kept + style.pull).max() <= 3 * style.weave[1] + 1e-9
        assert len(np.unique(kept)) == 50  # people differ
