"""A replay as data for the page's script: finite, rounded, and with nothing hidden in its names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from robust_bc.errors import RobustBCError
from robust_bc.report.blocks import Pose, Replay, ReplayEpisode
from robust_bc.report.escaping import as_json
from robust_bc.report.palette import Style
from robust_bc.system.plain_text import visible

METRE_DIGITS, ANGLE_DIGITS = 2, 3
CAR = {"length": 4.9, "width": 2.5}
"""Metres, as in robust_bc_envs; the core does not import the worlds."""


def replay_as_html(replay: Replay, styles: Mapping[str, Style]) -> str:
    """The place for the canvas, and its data."""
    if not any(len(episode.poses) for episode in replay.episodes):
        return '<p class="empty">no data</p>'
    return (
        '<div class="stage"><p class="empty">The replay needs JavaScript.</p></div>'
        f'<script type="application/json">{as_json(replay_data(replay, styles))}</script>'
    )


def replay_data(replay: Replay, styles: Mapping[str, Style]) -> dict[str, Any]:
    """Road, car, the colour of each policy, and the episodes that have something to show."""
    road = replay.road
    pieces = [
        {
            "start": [_number(value, "the road") for value in piece["start"]],
            "length": _number(piece["length"], "the road"),
            "curvature": _number(piece["curvature"], "the road"),
        }
        for piece in road["pieces"]
    ]
    shown = [_episode(one, float(road["dt"])) for one in replay.episodes if len(one.poses)]
    return {
        "title": visible(replay.title),
        "road": {
            "lanes": int(road["lanes"]),
            "lane_width": _number(road["lane_width"], "the road"),
            "dt": _number(road["dt"], "the road"),
            "pieces": pieces,
        },
        "car": CAR,
        "slots": {visible(one.policy): styles[one.policy].slot + 1 for one in replay.episodes},
        "episodes": shown,
    }


def _episode(one: ReplayEpisode, dt: float) -> dict[str, Any]:
    poses = _until_lost(one.poses)
    facts = {visible(name): visible(value) for name, value in one.facts.items()}
    if len(poses) < len(one.poses):
        facts["shown"] = f"until {len(poses) * dt:.1f} s, where the position is no number any more"
    return {
        "policy": visible(one.policy),
        "episode": visible(one.episode),
        "outcome": visible(one.outcome),
        "facts": facts,
        "cars": [_pose([_number(value, f"a car of episode '{one.episode}'") for value in car]) for car in one.cars],
        "poses": [_pose(pose) for pose in poses],
    }


def _until_lost(poses: Sequence[Pose]) -> list[Pose]:
    kept = []
    for pose in poses:
        if not all(math.isfinite(value) for value in pose):
            break
        kept.append(pose)
    return kept


def _pose(pose: Pose) -> list[float]:
    x, y, heading = (float(value) for value in pose)
    return [round(x, METRE_DIGITS), round(y, METRE_DIGITS), round(heading, ANGLE_DIGITS)]


def _number(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise RobustBCError(f"{what} in a replay has a place or size that is no finite number: {value}.")
    return float(value)
