"""Mixed datasets: where the good and bad episodes come from, and writing the mix with its hidden labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.minari_source import open_minari
from robust_bc.rollouts import Episode, batch_size, episode_seeds, roll_out
from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, write_dataset
from robust_bc_demos.mixing import Corrupter, Mix, check_mix, corrupt_count, mix_episodes, mix_pairs
from robust_bc_demos.teachers import Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import Task

GOOD_STREAM, BAD_STREAM = 0, 1
MOST_ROUNDS = 12
"""Each round doubles the episodes; a teacher whose episodes are still too short then is beyond help."""


@dataclass(frozen=True)
class MixRequest:
    """What to mix. Episodes come from teachers of the task, or from the datasets `clean` and `corrupt`."""

    task: Task
    how: str
    rate: float
    pairs: int | None = 500
    """None keeps whole episodes."""
    seed: int = 0
    episodes: int | None = None
    """Episodes of each teacher; without, those of the task's card. More if that is too few for the pairs."""
    good: str | None = None
    bad: str | None = None
    """Teachers by name or path; without, those of the task's card."""
    clean: str | None = None
    corrupt: str | None = None
    """Datasets to take episodes from instead."""
    trust_pickle: bool = False
    settings: dict[str, Any] | None = None
    """Of the environment."""


def make_mix(request: MixRequest, progress: Callable[[float, str], None] | None = None) -> tuple[Mix, Any, Any]:
    """The mix and its two spaces, in memory."""
    check_mix(request.how, request.rate, request.pairs)
    if request.episodes is not None and request.episodes < 1:
        raise RobustBCError(f"episodes must be at least 1, but it is {request.episodes}.")
    if request.corrupt is not None and request.clean is None:
        raise RobustBCError("--corrupt names bad episodes for the good ones of --clean; give both or neither.")
    pool = _Pool(request, progress)
    good, bad = pool.good(), []
    if request.how == "rollout" and request.rate > 0:
        bad = pool.bad(good)
    bad_teacher = pool.teacher(request.bad or request.task.bad) if request.how == "relabel" and request.rate else None
    stream = np.random.default_rng(np.random.SeedSequence(request.seed, spawn_key=(4,)))
    corrupter = Corrupter(request.how, pool.action_space, stream, bad_teacher)
    if request.pairs is None:
        mixed = mix_episodes(good, bad, request.how, request.rate, request.seed, corrupter)
    else:
        mixed = mix_pairs(good, bad, request.how, request.rate, request.pairs, request.seed, corrupter)
    return mixed, pool.observation_space, pool.action_space


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
    mixed, observation_space, action_space = make_mix(request, progress)
    labels = mixed.labels
    kind = "whole episodes" if request.pairs is None else "single pairs"
    plan = DatasetPlan(
        name=dataset,
        task=request.task,
        observation_space=observation_space,
        action_space=action_space,
        description=(
            f"{len(labels)} pairs of {request.task.name} ({kind}), {request.rate:.1%} corrupt by {request.how},"
            f" seed {request.seed}"
        ),
        command=command,
        settings=dict(request.settings or {}),
    )
    recorded = (Recorded(episode, source="mix", teacher="mix") for episode in mixed.episodes)
    folder = write_dataset(plan, recorded, overwrite=overwrite, hidden={"corrupt": labels.astype(np.uint8)})
    return folder, mixed


class _Pool:
    """Good and bad episodes, from teachers or from datasets."""

    def __init__(self, request: MixRequest, progress: Callable[[float, str], None] | None) -> None:
        self.request, self.progress = request, progress
        if request.clean is None:
            worlds = make_batch(request.task, 1, **(request.settings or {}))
            self.observation_space, self.action_space = boxes(worlds)
            worlds.close()
        else:
            dataset = open_minari(request.clean)
            self.observation_space, self.action_space = dataset.observation_space, dataset.action_space

    def teacher(self, name: str) -> Teacher:
        spaces_ = self.observation_space, self.action_space
        return find_teacher(self.request.task, name, *spaces_, trust_pickle=self.request.trust_pickle)

    def good(self) -> list[Episode]:
        request = self.request
        if request.clean is not None:
            return read_episodes(request.clean, self.observation_space, self.action_space)
        needed = 0 if request.pairs is None else request.pairs
        return self._roll_out(request.good or request.task.good, GOOD_STREAM, needed)

    def bad(self, good: list[Episode]) -> list[Episode]:
        request = self.request
        if request.corrupt is not None:
            return read_episodes(request.corrupt, self.observation_space, self.action_space)
        if request.clean is not None and request.bad is None:
            raise RobustBCError("rollout takes the bad teacher's own episodes; name them with --corrupt or --bad.")
        if request.pairs is not None:
            needed = corrupt_count(request.rate, request.pairs)
        else:
            # At most: all good episodes but the share that is left out, times the odds.
            total = sum(len(episode) for episode in good)
            needed = total if request.rate == 1 else int(np.ceil(total * request.rate / (1 - request.rate)))
        return self._roll_out(request.bad or request.task.bad, BAD_STREAM, needed)

    def _roll_out(self, name: str, stream: int, needed: int) -> list[Episode]:
        """At least the episodes and pairs asked for; the first ones do not depend on how many follow."""
        request, teacher = self.request, self.teacher(name)
        episodes: list[Episode] = []
        count = request.task.episodes if request.episodes is None else request.episodes
        for _ in range(MOST_ROUNDS):
            seeds = episode_seeds(request.seed, count, stream)[len(episodes) :]
            worlds = make_batch(request.task, batch_size(len(seeds)), **(request.settings or {}))
            for done, episode in enumerate(roll_out(worlds, teacher, seeds), 1):
                episodes.append(episode)
                if self.progress is not None:
                    self.progress(done / len(seeds), f"{name}: {done} of {len(seeds)} episodes")
            worlds.close()
            if sum(len(episode) for episode in episodes) >= needed:
                return episodes
            count *= 2
        raise RobustBCError(f"teacher '{name}' made only {len(episodes)} short episodes; ask for fewer pairs.")


def read_episodes(source: str, observation_space: spaces.Box, action_space: spaces.Box) -> list[Episode]:
    """All episodes of a Minari dataset, if they have these spaces."""
    dataset = open_minari(source)
    for what, mine, wanted in (
        ("observation", dataset.observation_space, observation_space),
        ("action", dataset.action_space, action_space),
    ):
        if not isinstance(mine, spaces.Box) or mine.shape != wanted.shape or len(mine.shape) != 1:
            raise RobustBCError(f"dataset '{source}' has the {what} space {mine}, but {wanted} is needed.")
    metadata = dataset.storage.get_episode_metadata(dataset.episode_indices)
    return [
        Episode(
            seed=about.get("seed"),
            observations=_array(episode.observations, observation_space),
            actions=_array(episode.actions, action_space),
            rewards=np.asarray(episode.rewards, np.float64),
            terminated=bool(episode.terminations[-1]),
        )
        for episode, about in zip(dataset.iterate_episodes(), metadata, strict=True)
    ]


def _array(values: Any, space: spaces.Box) -> NDArray[Any]:
    return np.asarray(values, space.dtype)
