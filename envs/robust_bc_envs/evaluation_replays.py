"""Replays of lane driving for a page: chosen episodes of each policy, driven once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robust_bc import Evaluation
    from robust_bc.report import Replay

REPLAYED = 3
"""Episodes of each policy, beside its first collision."""
OUTCOMES = {"collision": "collision", "off_road": "off the road", "success": "reached the end"}


def driving_replay(
    task: Any,
    policies: Sequence[Any],
    evaluations: Sequence[Evaluation],
    settings: Mapping[str, Any],
    title: str = "Replay",
) -> Replay | None:
    """The first episodes and the first collision of each policy; None for any task but lane driving."""
    from robust_bc_envs.names import LANE_DRIVING

    if task.environment != LANE_DRIVING:
        return None
    from robust_bc.evaluation.evaluating import play
    from robust_bc.report import Replay, ReplayEpisode
    from robust_bc_envs.lanes.replaying import replay_lane_driving

    episodes: list[ReplayEpisode] = []
    road: dict[str, Any] = {}
    for policy, evaluation in zip(policies, evaluations, strict=True):
        good = [row for row in evaluation.rows if row["failure"] is None]
        chosen = good[:REPLAYED] + [row for row in good[REPLAYED:] if row["collision"]][:1]
        played = play(policy, task.name, [int(row["seed"] or 0) for row in chosen], settings=settings) if chosen else []
        for row, episode in zip(chosen, played, strict=True):
            road, cars, poses = replay_lane_driving({**task.settings, **settings}, episode)
            outcome = next((words for name, words in OUTCOMES.items() if row[name]), "out of time")
            facts = {name: f"{float(row[name] or 0):.4g}" for name in ("return", "lane_deviation_rms", "progress_m")}
            episodes.append(ReplayEpisode(evaluation.policy, str(row["episode"]), cars, poses, outcome, facts))
    if not episodes:
        return None
    return Replay(title, road, episodes, "The first episodes of each policy, and its first collision.")
