"""Any number of lane-driving episodes as arrays: the one implementation behind the single and the vectorised form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.driving import CAR_WIDTH, SPEED, STEERING_GAIN, VIEW_DISTANCE, features_along, hits, step_pose
from robust_bc_envs.lanes.roads import Array, Road
from robust_bc_envs.lanes.traffic import check_room, draws_needed, place_cars

LONGEST = 1e5
MOST_LANES = 100
WIDEST = 100.0
MOST_STEPS = 250_000
"""To the end of a road."""
LARGEST_HEADING = np.pi / 4
"""The desired heading stays within this, so that every episode comes to an end."""
START_DEVIATION = 0.5
"""Metres: an episode starts up to this far from a lane's centre."""
COLLISION_COST = 100.0
OFF_ROAD_COST = 20.0
DEVIATION_COST = 0.1
"""Per step and square metre. The reward is metres of progress minus these costs."""


@dataclass(frozen=True)
class LaneSettings:
    """The road, the traffic on it, and what is rewarded."""

    lanes: int = 3
    lane_width: float = 3.5
    """Metres."""
    length: float = 200.0
    """Metres of road."""
    cars: int = 5
    """Static cars on it."""
    dt: float = 0.05
    """Seconds a step."""
    speed: float = SPEED
    """Metres a second, always."""
    shape: Literal["straight", "curved"] = "straight"
    reward: Literal["driving", "reversed"] = "driving"
    """Reversed, the driver earns what a good one loses: collisions, leaving the road, deviating from the lane."""

    def __post_init__(self) -> None:
        shapes, rewards = ("straight", "curved"), ("driving", "reversed")
        if self.shape not in shapes:
            raise RobustBCError(f"there is no road shape '{self.shape}'; the shapes are {', '.join(shapes)}.")
        if self.reward not in rewards:
            raise RobustBCError(f"there is no reward '{self.reward}'; the rewards are {', '.join(rewards)}.")
        for name in ("lane_width", "length", "dt", "speed"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), int | float | np.number):
                raise RobustBCError(f"{name} must be a number, but it is {getattr(self, name)!r}.")
        for name in ("lanes", "cars"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), int | np.integer):
                raise RobustBCError(f"{name} must be a whole number, but it is {getattr(self, name)}.")
        if self.length > LONGEST or self.lanes > MOST_LANES:
            raise RobustBCError(f"a road has at most {LONGEST:g} m and {MOST_LANES} lanes.")
        if self.lane_width < CAR_WIDTH:
            raise RobustBCError(f"lane_width must be at least a car's {CAR_WIDTH} m, but it is {self.lane_width}.")
        if not (0 < self.dt <= 1 / STEERING_GAIN):  # above, the heading overshoots what the driver asked for
            raise RobustBCError(f"dt must be above 0 and at most {1 / STEERING_GAIN} s, but it is {self.dt}.")
        if not (0 < self.speed < np.inf):
            raise RobustBCError(f"speed must be a positive number of metres a second, but it is {self.speed}.")
        if self.lane_width > WIDEST or not self.length / (self.speed * self.dt or np.nan) <= MOST_STEPS:
            raise RobustBCError(f"a lane has at most {WIDEST:g} m, and a road takes at most {MOST_STEPS} steps.")
        check_room(self.road(), self.cars)

    def road(self) -> Road:
        """The road of this shape."""
        make = Road.straight if self.shape == "straight" else Road.curved
        return make(self.lanes, self.lane_width, self.length)

    def observation_space(self) -> spaces.Box[Any]:
        """Free distances left, own and right, and the deviation, which is the largest one step beyond the edge."""
        widest = self.lane_width / 2 + self.speed * self.dt
        far = VIEW_DISTANCE
        return spaces.Box(np.array([0, 0, 0, -widest], np.float32), np.array([far, far, far, widest], np.float32))

    def action_space(self) -> spaces.Box[Any]:
        """The desired heading relative to the lane."""
        return spaces.Box(-LARGEST_HEADING, LARGEST_HEADING, (1,), np.float32)


class LaneWorlds:
    """N roads of the same settings, each with its own cars, driver and clock."""

    def __init__(self, settings: LaneSettings, count: int) -> None:
        self.settings = settings
        self.road = settings.road()
        self.poses = np.zeros((count, 3))
        self.cars = np.zeros((count, settings.cars, 3))
        self.car_along = np.zeros((count, settings.cars))
        self.car_lane = np.zeros((count, settings.cars), np.int64)
        self.along = np.zeros(count)
        self.lane_heading = np.zeros(count)
        self.squared_deviation = np.zeros(count)
        self.steps = np.zeros(count, np.int64)
        self.seen = np.zeros((count, 4))

    def reset(self, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """New episodes in these slots, each from its own random stream."""
        road, cars = self.road, self.settings.cars
        # One draw a road, in the order of the columns below.
        uniform = np.stack([generator.random(2 + draws_needed(cars)) for generator in generators])
        if cars:
            self.car_along[slots], self.car_lane[slots] = place_cars(road, uniform[:, 2:], cars)
            self.cars[slots] = road.place(self.car_along[slots], road.lane_centre(self.car_lane[slots]))
        lane = np.floor(uniform[:, 0] * road.lanes)
        offset = road.lane_centre(lane) + (2 * uniform[:, 1] - 1) * START_DEVIATION
        self.poses[slots] = road.place(np.zeros(len(slots)), offset)
        self.squared_deviation[slots] = 0
        self.steps[slots] = 0
        along, offset, heading = road.locate(self.poses[slots])
        self.along[slots] = along
        self.lane_heading[slots] = self.poses[slots, 2] - heading
        self.seen[slots] = features_along(road, along, offset, self.car_along[slots], self.car_lane[slots])

    def step(
        self, actions: NDArray[Any], slots: NDArray[np.intp] | None = None
    ) -> tuple[Array, NDArray[np.bool_], dict[str, NDArray[Any]]]:
        """One step everywhere, or in n slots, for actions (n, 1): rewards, what is over, and infos, (n,) each."""
        settings, road = self.settings, self.road
        moved = slice(None) if slots is None else slots
        asked = np.asarray(actions, np.float64)[:, 0]
        if not np.isfinite(asked).all():
            raise RobustBCError(f"the action must be a number, but it is {asked[~np.isfinite(asked)][0]}.")
        desired = self.lane_heading[moved] + np.clip(asked, -LARGEST_HEADING, LARGEST_HEADING)
        before = self.poses[moved]
        after = step_pose(before, desired, settings.dt, settings.speed)
        along, offset, heading = road.locate(after)
        collision = hits(before, after, self.cars[moved])
        off_road = ~collision & ((np.abs(offset) > road.half_width) | (along < 0))
        success = ~collision & ~off_road & (along >= road.length)
        seen = features_along(road, along, offset, self.car_along[moved], self.car_lane[moved])
        deviation = seen[:, 3]
        self.squared_deviation[moved] += deviation * deviation
        self.steps[moved] += 1
        progress = along - self.along[moved]
        loss = DEVIATION_COST * (deviation * deviation) + COLLISION_COST * collision + OFF_ROAD_COST * off_road
        self.poses[moved], self.along[moved], self.seen[moved] = after, along, seen
        self.lane_heading[moved] = after[:, 2] - heading
        infos = {
            "collision": collision,
            "off_road": off_road,
            "success": success,
            "progress_m": np.minimum(along, road.length),
            "lane_deviation_rms": np.sqrt(self.squared_deviation[moved] / self.steps[moved]),
            "reward_progress": progress,
            "reward_loss": -loss,
        }
        rewards = loss if settings.reward == "reversed" else progress - loss
        return rewards, collision | off_road | success, infos

    def observations(self) -> NDArray[np.float32]:
        """The features (N, 4) as the driver gets them."""
        return self.seen.astype(np.float32)
