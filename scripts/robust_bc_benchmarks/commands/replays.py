"""Replays for the page of the driving benchmark: every policy in the same chosen episodes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_bc.errors import RobustBCError
from robust_bc_envs.evaluation_replays import OUTCOMES, REPLAYED

if TYPE_CHECKING:
    from robust_bc.report import Replay, ReplayEpisode
    from robust_bc_benchmarks.control.cells import Cell
    from robust_bc_benchmarks.control.rows import Results

SAME = 1e-6
"""Returns are equal to the bit on the same machine; another may round otherwise."""


def replays(results: Results, policies: Path, task: str, expert: Any) -> dict[str, list[Replay]]:
    """For each way, the first seed's policies at the shown rate, and the expert."""
    from robust_bc_benchmarks.control.page import shown_rate

    rate = shown_rate(results)
    made = (
        {} if rate is None else {how: _replay(results, policies, task, how, rate, expert) for how in results.plan.hows}
    )
    return {how: [replay] for how, replay in made.items() if replay is not None}


def _replay(results: Results, policies: Path, task: str, how: str, rate: float, expert: Any) -> Replay | None:
    from robust_bc.policies.files import load_policy
    from robust_bc.report import Replay
    from robust_bc_benchmarks.contenders import ORACLE
    from robust_bc_benchmarks.control.cells import EXPERT
    from robust_bc_benchmarks.control.tables import percent

    plan, drivers = results.plan, {}
    for method in (*plan.methods, ORACLE, EXPERT):
        cell = results.cell(task, how, rate, method, plan.seeds[0])
        if cell is None or cell.failure is not None:
            continue
        folder = policies / cell.key.folder
        if method == EXPERT:
            drivers[method] = expert, cell
        elif folder.is_dir():  # cells that another first seed was asked for may have none
            with contextlib.suppress(RobustBCError):  # a damaged one must not cost the tables
                drivers[method] = load_policy(folder, device="cpu"), cell
    chosen = _chosen([cell for _, cell in drivers.values()])
    attempts = [_drive(name, policy, cell, plan.settings, chosen) for name, (policy, cell) in drivers.items()]
    driven = [attempt for attempt in attempts if attempt is not None]
    if not driven:
        return None
    return Replay(
        title=f"Policies of seed {plan.seeds[0]} with {percent(rate)} corrupt pairs",
        road=driven[0][0],
        episodes=[episode for _, episodes in driven for episode in episodes],
        note="The first episodes, and the first one in which any of these policies collides.",
    )


def _chosen(cells: list[Cell]) -> list[int]:
    """The first episodes, and the first in which somebody collides."""
    if not cells:
        return []
    collided = np.any([cell.values("collision") > 0 for cell in cells], axis=0)
    first = list(range(min(REPLAYED, len(collided))))
    return first + [int(index) for index in np.flatnonzero(collided)[:1] if index not in first]


def _drive(
    name: str, policy: Any, cell: Cell, settings: Any, chosen: list[int]
) -> tuple[dict[str, Any], list[ReplayEpisode]] | None:
    """Road and episodes, or None if this policy is not the one that was measured: the folder has another seed's."""
    from robust_bc.evaluation.evaluating import play
    from robust_bc.evaluation.rollouts import episode_seeds
    from robust_bc.report import ReplayEpisode
    from robust_bc_benchmarks.control.plan import EVALUATION_SEED
    from robust_bc_envs.lanes.replaying import replay_lane_driving

    seeds = episode_seeds(EVALUATION_SEED, max(chosen) + 1)
    road: dict[str, Any] = {}
    episodes = []
    played = play(policy, cell.key.task, [seeds[index] for index in chosen], settings=settings)
    if not np.allclose([episode.total for episode in played], cell.values("return")[chosen], rtol=SAME, atol=SAME):
        return None
    for index, episode in zip(chosen, played, strict=True):
        road, cars, poses = replay_lane_driving(settings, episode)
        value = {metric: float(numbers[index] or 0) for metric, numbers in cell.episodes.items()}
        outcome = next((words for metric, words in OUTCOMES.items() if value[metric]), "out of time")
        facts = {metric: f"{value[metric]:.4g}" for metric in ("return", "lane_deviation_rms", "progress_m")}
        episodes.append(ReplayEpisode(name, str(index), cars, poses, outcome, facts))
    return road, episodes
