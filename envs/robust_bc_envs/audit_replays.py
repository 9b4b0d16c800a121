"""Replays of recorded lane-driving episodes, where seed and actions lead to what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_bc.errors import RobustBCError
from robust_bc_envs.evaluation_replays import OUTCOMES

if TYPE_CHECKING:
    from robust_bc.auditing.audit import Audit
    from robust_bc.auditing.results import EpisodeRow
    from robust_bc.auditing.showing.windows import Window
    from robust_bc.data.minari_files import RecordedDataset
    from robust_bc.data.recording import Episode
    from robust_bc.report import Block, ReplayEpisode

REPLAYED = 6
"""The worst episodes."""
SAME = 1e-4
"""Metres: recorded observations are float32, and another machine may round otherwise."""
TITLE = "Replay of the worst episodes"


def audit_replay(dataset: RecordedDataset, audit: Audit) -> list[Block]:
    """The worst episodes as films, or one sentence why there are none; nothing for any task but lane driving."""
    from robust_bc_envs.names import LANE_DRIVING

    if dataset.environment is None or dataset.environment.id != LANE_DRIVING:
        return []
    from robust_bc.auditing.showing.windows import own_windows
    from robust_bc.report import Replay, Text
    from robust_bc_envs.lanes.env import make_settings
    from robust_bc_envs.lanes.replaying import replay_lane_driving

    if audit.single_pairs:
        return [Text(TITLE, ["Single pairs are no episodes, so there is nothing to play."])]
    rows = audit.episode_rows(REPLAYED)
    worst = [row for row in rows if row.verdict == "bad"] or rows  # no film of a good one under the title of the bad
    windows = own_windows(audit, [row.episode for row in worst])
    settings = dict(dataset.environment.kwargs)
    try:
        road_settings = make_settings(settings)
        for name in ("observation_space", "action_space"):
            told, true = getattr(dataset, name).shape, getattr(road_settings, name)().shape
            if told != true:
                raise RobustBCError(f"its {name} has the shape {told}, not {true}.")
    except RobustBCError as problem:
        return [Text(TITLE, [f"There is no film, for the dataset tells of a road that cannot be: {problem}"])]
    played: list[ReplayEpisode] = []
    road: dict[str, Any] = {}
    without: list[int] = []
    for row, window in zip(worst, windows, strict=True):
        episode = _recorded(dataset, row.episode)
        outcome = _outcome(settings, episode)
        if outcome is None:
            without.append(row.episode)
            continue
        road, cars, poses = replay_lane_driving(settings, episode)
        played.append(_film(row, window, cars, poses, outcome, float(road["dt"])))
    if not played:
        return [Text(TITLE, [f"There is no film of {_listed(without)}: {_why(len(without))}"])]
    note = f"Not shown: {_listed(without)}. {_why(len(without)).capitalize()}" if without else ""
    return [Replay(TITLE, road, played, note)]


def _why(episodes: int) -> str:
    whose = "its" if episodes == 1 else "their"
    return (
        f"played from {whose} seed, the recorded actions do not lead to the recorded observations (they were changed"
        " afterwards, or meant by a hand that was shaken), or there is no seed to play from."
    )


def _listed(episodes: Sequence[int]) -> str:
    return f"episode{'s' * (len(episodes) > 1)} {', '.join(map(str, episodes))}"


def _recorded(dataset: RecordedDataset, index: int) -> Episode:
    """One episode by its place in the dataset, which is its number in the audit."""
    from robust_bc.data.recording import Episode

    (episode,) = dataset.episodes([index], about=True)
    return Episode(
        seed=episode.seed,
        observations=episode.observations,
        actions=episode.actions,
        rewards=episode.rewards,
        terminated=episode.terminated,
    )


def _outcome(settings: Mapping[str, Any], episode: Episode) -> str | None:
    """How it ends when it is played from its seed; None if that is not the recorded episode."""
    from gymnasium.utils import seeding

    from robust_bc_envs.lanes.env import make_settings
    from robust_bc_envs.lanes.worlds import LaneWorlds

    if episode.seed is None:
        return None
    worlds = LaneWorlds(make_settings(dict(settings)), 1)
    worlds.reset(np.zeros(1, np.intp), [seeding.np_random(episode.seed)[0]])
    told: dict[str, Any] = {}
    for step, action in enumerate(episode.actions):
        if not np.allclose(worlds.observations()[0], episode.observations[step], rtol=0, atol=SAME):
            return None
        _, _, told = worlds.step(action[None])
    if not np.allclose(worlds.observations()[0], episode.observations[-1], rtol=0, atol=SAME):
        return None
    return next((words for name, words in OUTCOMES.items() if told[name][0]), "cut off")


def _film(row: EpisodeRow, window: Window, cars: Any, poses: Any, outcome: str, dt: float) -> ReplayEpisode:
    from robust_bc.report import ReplayEpisode

    facts = {
        "verdict": row.verdict,
        "P(clean)": f"{row.clean:.2f}",
        "worst window": f"{window.first * dt:.1f} to {(window.last + 1) * dt:.1f} s",
    }
    return ReplayEpisode(row.source or "recorded", str(row.episode), cars, poses, outcome, facts)
