"""Episodes of the lane-driving world, driven to their end by simple drivers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robust_bc_envs.lanes.env import LaneDriving

LANE_DRIVING = "RobustBC/LaneDriving-v0"
TOLD = {
    "collision": bool,
    "off_road": bool,
    "success": bool,
    "progress_m": float,
    "lane_deviation_rms": float,
    "reward_progress": float,
    "reward_loss": float,
}
Driver = Callable[[NDArray[np.float32]], float]


def make(**settings: Any) -> LaneDriving:
    world = gymnasium.make(LANE_DRIVING, **settings).unwrapped
    assert isinstance(world, LaneDriving)
    return world


class Episode:
    """An episode driven to its end, with all that was seen and told."""

    def __init__(self, world: LaneDriving, driver: Driver, seed: int = 0) -> None:
        seen, told = world.reset(seed=seed)
        assert told == {}
        self.start, self.cars = world.pose, world.cars
        self.poses, self.seen = [self.start], [seen]
        self.rewards: list[float] = []
        self.told: list[dict[str, Any]] = []
        over = False
        while not over:
            assert world.observation_space.contains(seen), seen
            seen, reward, over, truncated, info = world.step(np.array([driver(seen)], np.float32))
            assert not truncated
            self.poses.append(world.pose)
            self.seen.append(seen)
            self.rewards.append(reward)
            self.told.append(info)
            assert len(self.rewards) < 5000
        assert world.observation_space.contains(seen), seen

    @property
    def last(self) -> dict[str, Any]:
        return self.told[-1]


def straight_on(seen: NDArray[np.float32]) -> float:
    return 0.0


def keep_the_lane(seen: NDArray[np.float32]) -> float:
    return -0.3 * float(seen[3])


def weave(seed: int) -> Driver:
    """Random driving, the wilder the larger the seed: a new heading twice a second or so."""
    generator = np.random.default_rng(seed)
    wildness, heading = 0.25 * (seed % 4), 0.0

    def driver(seen: NDArray[np.float32]) -> float:
        nonlocal heading
        if generator.random() < 0.1:
            heading = float(generator.uniform(-wildness, wildness))
        return heading + keep_the_lane(seen)

    return driver
