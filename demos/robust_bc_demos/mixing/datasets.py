"""Mixed datasets: a mix in memory, and writing it with its hidden labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, write_dataset
from robust_bc_demos.mixing.corrupting import Corrupter
from robust_bc_demos.mixing.pairs import EXECUTED, GRADED, Mix, mix_graded, mix_pairs
from robust_bc_demos.mixing.requests import MixRequest as MixRequest
from robust_bc_demos.mixing.requests import check_request
from robust_bc_demos.mixing.sources import Pool
from robust_bc_demos.mixing.sources import Rollouts as Rollouts
from robust_bc_demos.mixing.sources import read_episodes as read_episodes
from robust_bc_demos.mixing.whole_episodes import mix_episodes


@dataclass(frozen=True)
class MadeMix:
    """A mix in memory, and what its dataset must say about the environment."""

    mix: Mix
    observation_space: spaces.Box
    action_space: spaces.Box
    settings: dict[str, Any]


def make_mix(
    request: MixRequest, progress: Callable[[float, str], None] | None = None, rollouts: Rollouts | None = None
) -> MadeMix:
    """Mix, in memory. Whoever makes many mixes of the same teachers and seed passes `rollouts` to keep episodes in."""
    check_request(request)
    pool = Pool(request, progress, {} if rollouts is None else rollouts)
    return MadeMix(_mixed(request, pool), pool.observation_space, pool.action_space, pool.settings)


def _mixed(request: MixRequest, pool: Pool) -> Mix:
    if request.kind == GRADED:
        return mix_graded(*pool.graded(), request.seed)
    good, bad = pool.good(), []
    single_misaligned = request.kind == "misaligned" and request.pairs is not None
    if (request.kind in EXECUTED or single_misaligned) and request.share > 0:
        bad = pool.bad(good)
    relabels = request.kind == "relabel" and request.share > 0
    bad_teacher = pool.teacher(request.bad or request.task.bad) if relabels else None
    stream = np.random.default_rng(np.random.SeedSequence(request.seed, spawn_key=(4,)))
    corrupter = Corrupter(request.kind, pool.action_space, stream, bad_teacher)
    if request.pairs is None:
        return mix_episodes(good, bad, request.share, request.seed, corrupter)
    return mix_pairs(good, bad, request.share, request.pairs, request.seed, corrupter)


def mix(
    request: MixRequest,
    dataset: str,
    *,
    overwrite: bool = False,
    command: str = "robust_bc_demos.mix",
    progress: Callable[[float, str], None] | None = None,
) -> tuple[Path, Mix]:
    """Mix and write; which pairs are corrupt goes into a file beside the data."""
    check_free(dataset, overwrite)
    made = make_mix(request, progress)
    mixed, labels = made.mix, made.mix.labels
    form = "whole episodes" if request.pairs is None else "single pairs"
    plan = DatasetPlan(
        name=dataset,
        task=request.task,
        observation_space=made.observation_space,
        action_space=made.action_space,
        description=(
            f"{len(labels)} pairs of {request.task.name} ({form}), {labels.mean():.1%} corrupt by {request.kind},"
            f" seed {request.seed}{_shaken(request)}"
        ),
        command=command,
        settings=made.settings,
    )
    recorded = (Recorded(episode, source="mix", teacher="mix") for episode in mixed.episodes)
    hidden: dict[str, NDArray[Any]] = {"corrupt": labels.astype(np.uint8)}
    if mixed.noise is not None:
        hidden["noise"] = mixed.noise
    folder = write_dataset(plan, recorded, overwrite=overwrite, hidden=hidden)
    return folder, mixed


def _shaken(request: MixRequest) -> str:
    """An action may not be what led to the next observation: that must be said."""
    if not request.shaken:
        return ""
    return f", actions as meant by a teacher whose hand was shaken by {request.shaken:g}"
