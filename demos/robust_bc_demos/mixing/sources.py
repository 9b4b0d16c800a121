"""Where the good and bad episodes of a mix come from: teachers of the task, or datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from robust_bc.data.minari_demonstrations import has_labels
from robust_bc.data.minari_files import RecordedDataset, open_minari
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Actor, Episode, batch_size, episode_seeds, roll_out
from robust_bc.system.progress import Progress
from robust_bc_demos.mixing.corrupting import cut, misaligned
from robust_bc_demos.mixing.disturbing import ShakenHand
from robust_bc_demos.mixing.faults import Delayed, Noisy, Stuck, draw_actuator, graded_noise
from robust_bc_demos.mixing.requests import MixRequest
from robust_bc_demos.teachers import MEDIUM, Teacher, find_teacher
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.recorded import make_recorded, recorded_settings
from robust_bc_envs.tasks import Task

GOOD_STREAM, BAD_STREAM = 0, 1
MOST_ROUNDS = 12
"""Each round doubles the episodes; a teacher whose episodes are still too short then is beyond help."""

Rollouts = dict[tuple[object, ...], list[Episode]]
"""Episodes of teachers by all that they depend on."""


class Pool:
    """Good and bad episodes, from teachers or from datasets."""

    def __init__(self, request: MixRequest, progress: Progress | None, rollouts: Rollouts) -> None:
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
        """The teacher of that name or path."""
        spaces_ = self.observation_space, self.action_space
        return find_teacher(self.request.task, name, *spaces_, trust_pickle=self.request.trust_pickle)

    def good(self) -> list[Episode]:
        """What the good teacher shows, or the dataset `clean`."""
        request = self.request
        if self.dataset is not None:
            return [cut(episode, request.steps) for episode in read_episodes(self.dataset)]
        needed = 0 if request.pairs is None else request.pairs
        return self._known(self.good_name, "", GOOD_STREAM, needed)

    def bad(self, good: list[Episode]) -> list[Episode]:
        """Episodes of the kind of corruption that is asked for, where it has any of its own."""
        request = self.request
        if request.corrupt is not None:
            return [cut(episode, request.steps) for episode in read_episodes(self._open_corrupt(request.corrupt))]
        if request.clean is not None and request.kind == "misaligned":
            return [misaligned(episode) for episode in good]
        if request.clean is not None and request.kind == "rollout" and request.bad is None:
            raise RobustBCError("rollout takes the bad teacher's own episodes; name them with --corrupt or --bad.")
        if request.pairs is not None:
            needed = request.pairs  # not only those of this rate: the pool, and so the draw, is that of all rates
        else:  # at most, with an episode more than are left out
            lengths = [len(episode) for episode in good]
            needed = int(np.ceil(request.share * (sum(lengths) + max(lengths)))) + 1
        if request.kind == "misaligned":
            episodes = self._known(self.good_name, "", BAD_STREAM, 2 * needed)  # each loses a row, of two at least
            return [misaligned(episode) for episode in episodes if len(episode) > 1]
        if request.kind in ("rollout", MEDIUM):
            name = MEDIUM if request.kind == MEDIUM else request.bad or request.task.bad
            return self._known(name, "", BAD_STREAM, needed)
        return self._known(self.good_name, request.kind, BAD_STREAM, needed)

    def graded(self) -> tuple[list[Episode], NDArray[np.float64]]:
        """Episodes of demonstrators of rising noise, and the noise of each (E,); those without any are good ones."""
        request, teacher = self.request, self.teacher(self.good_name)
        seeds = episode_seeds(request.seed, self.count, GOOD_STREAM)
        noise = graded_noise(len(seeds))
        made: dict[int, Episode] = {}
        for level in np.unique(noise).tolist():
            chosen = np.flatnonzero(noise == level).tolist()
            actor = Noisy(teacher, self.action_space, level) if level > 0 else teacher
            label = f"{self.good_name} with noise {level:.2f}"
            made |= dict(zip(chosen, self._act(actor, [seeds[index] for index in chosen], label), strict=True))
        return [made[index] for index in range(len(seeds))], noise

    @property
    def good_name(self) -> str:
        """The good teacher."""
        return self.request.good or self.request.task.good

    @property
    def count(self) -> int:
        """Episodes of each teacher."""
        return self.request.task.episodes if self.request.episodes is None else self.request.episodes

    def _known(self, name: str, fault: str, stream: int, needed: int) -> list[Episode]:
        request, settings = self.request, sorted(self.settings.items())
        asked = (request.task.name, request.episodes, request.disturbance, request.seed, request.steps)
        key = (*asked, str(settings), name, fault, stream, needed)
        if key not in self.rollouts:
            self.rollouts[key] = self._roll_out(name, fault, stream, needed)
        return self.rollouts[key]

    def _roll_out(self, name: str, fault: str, stream: int, needed: int) -> list[Episode]:
        """At least the episodes and pairs asked for; the first ones do not depend on how many follow."""
        actor = self._faulty(self.teacher(name), fault)
        label = f"{name}, {fault}" if fault else name
        episodes: list[Episode] = []
        count = self.count
        for _ in range(MOST_ROUNDS):
            seeds = episode_seeds(self.request.seed, count, stream)[len(episodes) :]
            episodes += self._act(actor, seeds, label)
            if sum(len(episode) for episode in episodes) >= needed:
                return episodes
            count *= 2
        raise RobustBCError(f"teacher '{name}' made only {len(episodes)} short episodes; ask for fewer pairs.")

    def _faulty(self, teacher: Teacher, fault: str) -> Actor:
        if fault == "noisy":
            return Noisy(teacher, self.action_space)
        if fault == "delayed":
            return Delayed(teacher)
        if fault == "stuck":
            return Stuck(teacher, self.action_space, draw_actuator(self.action_space, self.request.seed))
        return teacher

    def _act(self, actor: Actor, seeds: list[int], label: str) -> list[Episode]:
        """One episode for each seed, with what the actor meant to do."""
        episodes: list[Episode] = []
        worlds = self._worlds(batch_size(len(seeds)))
        shaken = ShakenHand(worlds, self.request.shaken) if self.request.shaken else worlds
        try:
            for episode in roll_out(shaken, actor, seeds):
                episodes.append(cut(episode, self.request.steps))
                if self.progress is not None:
                    self.progress(len(episodes) / len(seeds), f"{label}: {len(episodes)} of {len(seeds)} episodes")
        finally:
            worlds.close()
        return episodes

    def _open_corrupt(self, source: str) -> RecordedDataset:
        bad = _open(source, self.request.task)
        sizes = bad.observation_space.shape, bad.action_space.shape
        if sizes != (self.observation_space.shape, self.action_space.shape):
            raise RobustBCError(f"datasets '{self.request.clean}' and '{source}' have other spaces.")
        return bad

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
