"""A lane-driving episode once more: its road, its cars and every pose, from seed and actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.utils import seeding

from robust_bc.data.recording import Episode
from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.env import make_settings
from robust_bc_envs.lanes.worlds import LaneWorlds

Pose = list[float]


def replay_lane_driving(settings: Mapping[str, Any], episode: Episode) -> tuple[dict[str, Any], list[Pose], list[Pose]]:
    """The road, the static cars, and where the driver was before and after each step, from seed and actions."""
    if episode.seed is None or not len(episode.actions):
        raise RobustBCError("the episode has no seed or no actions, so it cannot be replayed.")
    worlds = LaneWorlds(make_settings(dict(settings)), 1)
    worlds.reset(np.zeros(1, np.intp), [seeding.np_random(episode.seed)[0]])
    poses = [worlds.poses[0].tolist()]
    for action in episode.actions:
        worlds.step(action[None])
        poses.append(worlds.poses[0].tolist())
    road = worlds.road
    pieces = [
        {"start": start.tolist(), "length": float(length), "curvature": float(curvature)}
        for start, length, curvature in zip(road.starts, road.lengths, road.curvatures, strict=True)
    ]
    told = {"lanes": road.lanes, "lane_width": road.lane_width, "dt": worlds.settings.dt, "pieces": pieces}
    return told, worlds.cars[0].tolist(), poses
