"""Mixed datasets: where the good and bad episodes come from, and writing the mix with its hidden labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from robust_bc.data.minari_demonstrations import has_labels
from robust_bc.data.minari_files import RecordedDataset, open_minari
from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode, batch_size, episode_seeds, roll_out
from robust_bc.seeding import check_seed
from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, write_dataset
from robust_bc_demos.disturbing import Disturbed, check_disturbance
from robust_bc_demos.mixing import Corrupter, Mix, check_mix, mix_episodes, mix_pairs
from robust_bc_demos.teachers import Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.recorded import make_recorded, recorded_settings
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
    disturbance: float | None = None
    """How much the teachers' hands are shaken, as a share of half the action space; without, what the card says."""
    trust_pickle: bool = False
    trust_dataset: str | None = None
    """The dataset `clean`, if its environment may be made as its file says: that can run code."""
    settings: dict[str, Any] | None = None
    """Of the environment."""


@dataclass(frozen=True)
class MadeMix:
    """A mix in memory, and what its dataset must say about the environment."""

    mix: Mix
    observation_space: spaces.Box
    action_space: spaces.Box
    settings: dict[str, Any]


Rollouts = dict[tuple[object, ...], list[Episode]]
"""Episodes of teachers by all that they depend on."""


def make_mix(
    request: MixRequest, progress: Callable[[float, str], None] | None = None, rollouts: Rollouts | None = None
) -> MadeMix:
    """Mix, in memory. Whoever makes many mixes of the same teachers and seed passes `rollouts` to keep episodes in."""
    check_mix(request.how, request.rate, request.pairs)
    check_seed(request.seed)
    if request.episodes is not None and request.episodes < 1:
        raise RobustBCError(f"episodes must be at least 1, but it is {request.episodes}.")
    if request.disturbance is not None:
        check_disturbance(request.disturbance)
    _check_sources(request)
    pool = _Pool(request, progress, {} if rollouts is None else rollouts)
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
    return MadeMix(mixed, pool.observation_space, pool.action_space, pool.settings)


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
    kind = "whole episodes" if request.pairs is None else "single pairs"
    plan = DatasetPlan(
        name=dataset,
        task=request.task,
        observation_space=made.observation_space,
        action_space=made.action_space,
        description=(
            f"{len(labels)} pairs of {request.task.name} ({kind}), {request.rate:.1%} corrupt by {request.how},"
            f" seed {request.seed}{_shaken(request)}"
        ),
        command=command,
        settings=made.settings,
    )
    recorded = (Recorded(episode, source="mix", teacher="mix") for episode in mixed.episodes)
    folder = write_dataset(plan, recorded, overwrite=overwrite, hidden={"corrupt": labels.astype(np.uint8)})
    return folder, mixed


class _Pool:
    """Good and bad episodes, from teachers or from datasets."""

    def __init__(self, request: MixRequest, progress: Callable[[float, str], None] | None, rollouts: Rollouts) -> None:
        self.request, self.progress, self.rollouts = request, progress, rollouts
        self.dataset: RecordedDataset | None = None
        """Where good episodes come from, if not from a teacher."""
        if request.clean is None:
            self.settings = dict(request.settings or {})
            worlds = make_batch(request.task, 1, settings=self.settings)
            self.observation_space, self.action_space = boxes(worlds)
            worlds.close()
        else:
            self.dataset = _open(request.clean, request.task)
            self.observation_space, self.action_space = self.dataset.observation_space, self.dataset.action_space
            made_in = self.dataset.environment
            self.settings = {} if made_in is None else recorded_settings(made_in)

    def teacher(self, name: str) -> Teacher:
        spaces_ = self.observation_space, self.action_space
        return find_teacher(self.request.task, name, *spaces_, trust_pickle=self.request.trust_pickle)

    def good(self) -> list[Episode]:
        request = self.request
        if self.dataset is not None:
            return read_episodes(self.dataset)
        needed = 0 if request.pairs is None else request.pairs
        return self._known(request.good or request.task.good, GOOD_STREAM, needed)

    def bad(self, good: list[Episode]) -> list[Episode]:
        request = self.request
        if request.corrupt is not None:
            bad = _open(request.corrupt, request.task)
            sizes = bad.observation_space.shape, bad.action_space.shape
            if sizes != (self.observation_space.shape, self.action_space.shape):
                raise RobustBCError(f"datasets '{request.clean}' and '{request.corrupt}' have other spaces.")
            return read_episodes(bad)
        if request.clean is not None and request.bad is None:
            raise RobustBCError("rollout takes the bad teacher's own episodes; name them with --corrupt or --bad.")
        if request.pairs is not None:
            needed = request.pairs  # not only those of this rate: the pool, and so the draw, is that of all rates
        else:
            # At most: all good episodes but the share that is left out, times the odds.
            total = sum(len(episode) for episode in good)
            needed = total if request.rate == 1 else int(np.ceil(total * request.rate / (1 - request.rate)))
        return self._known(request.bad or request.task.bad, BAD_STREAM, needed)

    def _known(self, name: str, stream: int, needed: int) -> list[Episode]:
        request, settings = self.request, sorted(self.settings.items())
        asked = (request.task.name, request.episodes, request.disturbance, request.seed)
        key = (*asked, str(settings), name, stream, needed)
        if key not in self.rollouts:
            self.rollouts[key] = self._roll_out(name, stream, needed)
        return self.rollouts[key]

    def _roll_out(self, name: str, stream: int, needed: int) -> list[Episode]:
        """At least the episodes and pairs asked for; the first ones do not depend on how many follow."""
        request, teacher = self.request, self.teacher(name)
        episodes: list[Episode] = []
        count = request.task.episodes if request.episodes is None else request.episodes
        shaken = self._disturbed(teacher)
        for _ in range(MOST_ROUNDS):
            seeds = episode_seeds(request.seed, count, stream)[len(episodes) :]
            worlds = self._worlds(batch_size(len(seeds)))
            for done, episode in enumerate(roll_out(worlds, shaken or teacher, seeds), 1):
                episodes.append(shaken.meant(episode) if shaken else episode)
                if self.progress is not None:
                    self.progress(done / len(seeds), f"{name}: {done} of {len(seeds)} episodes")
            worlds.close()
            if sum(len(episode) for episode in episodes) >= needed:
                return episodes
            count *= 2
        raise RobustBCError(f"teacher '{name}' made only {len(episodes)} short episodes; ask for fewer pairs.")

    def _worlds(self, count: int) -> VectorEnv[Any, Any, Any]:
        request, recorded = self.request, None if self.dataset is None else self.dataset.environment
        if self.dataset is None or recorded is None:
            return make_batch(request.task, count, settings=self.settings)
        trusted = request.trust_dataset is not None
        worlds = make_recorded(request.task, recorded, self.dataset.name, count, trusted=trusted)
        if tuple(box.shape for box in boxes(worlds)) != (self.observation_space.shape, self.action_space.shape):
            worlds.close()
            raise RobustBCError(f"dataset '{self.dataset.name}' has other spaces than its environment {recorded.id}.")
        return worlds

    def _disturbed(self, teacher: Teacher) -> Disturbed | None:
        disturbance = _disturbance(self.request)
        return Disturbed(teacher, self.action_space, disturbance) if disturbance else None


def _disturbance(request: MixRequest) -> float:
    """Of the teachers' hands; episodes of a dataset are as they are."""
    if request.clean is not None:
        return 0.0
    return request.task.disturbance if request.disturbance is None else request.disturbance


def _shaken(request: MixRequest) -> str:
    """An action may not be what led to the next observation: that must be said."""
    disturbance = _disturbance(request)
    return f", actions as meant by a teacher whose hand was shaken by {disturbance:g}" if disturbance else ""


def _check_sources(request: MixRequest) -> None:
    """What would be ignored is refused."""
    unused = {
        "--good": request.good is not None and request.clean is not None,
        "--bad": request.bad is not None and (request.how in ("flip", "uniform") or request.corrupt is not None),
        "--corrupt": request.corrupt is not None and request.how != "rollout",
        "--env": bool(request.settings) and request.clean is not None,
        "--disturbance": request.disturbance is not None and request.clean is not None,
    }
    for option, given in unused.items():
        if given:
            raise RobustBCError(f"{option} has no part in this mix (--how {request.how}); leave it out.")
    if request.trust_dataset is not None and request.trust_dataset != request.clean:
        raise RobustBCError(f"--trust-dataset names '{request.trust_dataset}', but --clean is '{request.clean}'.")
    if request.corrupt is not None and request.clean is None:
        raise RobustBCError("--corrupt names bad episodes for the good ones of --clean; give both or neither.")


def _open(source: str, task: Task) -> RecordedDataset:
    """A dataset that is fit for a mix of this task."""
    dataset = open_minari(source)
    if has_labels(dataset):
        raise RobustBCError(
            f"dataset '{source}' is a mix itself, so its pairs are not all of one kind; name its parts."
        )
    made_in = dataset.environment
    if made_in is not None and made_in.id != task.environment:
        raise RobustBCError(f"dataset '{source}' is of {made_in.id}, but task '{task.name}' is {task.environment}.")
    return dataset


def read_episodes(dataset: RecordedDataset) -> list[Episode]:
    """All episodes of a Minari dataset; what is not finite could not be learned from."""
    episodes = [
        Episode(
            seed=episode.seed,
            observations=np.asarray(episode.observations, dataset.observation_space.dtype),
            actions=np.asarray(episode.actions, dataset.action_space.dtype),
            rewards=episode.rewards,
            terminated=episode.terminated,
        )
        for episode in dataset.episodes(about=True)
    ]
    for number, episode in enumerate(episodes):
        if not (np.isfinite(episode.observations[:-1]).all() and np.isfinite(episode.actions).all()):
            raise RobustBCError(f"episode {number} of dataset '{dataset.name}' has numbers that are not finite.")
    return episodes
