"""Writing episodes as a Minari dataset that appears whole or not at all, and finding the datasets there are."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage
from numpy.typing import NDArray
from safetensors.numpy import save

from robust_bc.data.minari_demonstrations import LABELS_FILE
from robust_bc.data.minari_files import datasets_root, local_ids
from robust_bc.data.minari_metadata import METADATA_FILE, read_metadata
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode
from robust_bc.system.files import write_whole
from robust_bc.system.interrupts import interrupts_held
from robust_bc_envs.tasks import Task

AUTHOR = "robust-bc"
OURS = {"author": {AUTHOR}, "author_email": {AUTHOR}, "code_permalink": AUTHOR}
ALLOWED = (
    "an id looks like mine/demos-v0: a namespace of at least two characters and a slash, or neither, then a name and a"
    " version such as -v0, all of letters, digits, - and _."
)
"""The rule is Minari's."""
SPARE_BYTES = 4 << 20
"""Room on the disk beyond what an episode takes by itself."""
NAMESPACE_FILE = "namespace_metadata.json"
"""By which Minari knows that a folder has datasets in it."""
ROOM_CHECKS = 10
"""Episodes between two looks at the disk; one-step episodes are many, and small."""


@dataclass(frozen=True)
class Recorded:
    """An episode and who made it."""

    episode: Episode
    source: str
    """Which demonstrator, as a person would say it: expert, careless, human ..."""
    teacher: str
    """The very teacher: the name of a shipped one, or a path."""
    more: dict[str, Any] = field(default_factory=dict)
    """Further entries of the episode's metadata: numbers and words, or dictionaries of them."""
    infos: Mapping[str, Any] | None = None
    """What the environment told step by step, (T + 1, ...) each as observations are, or dictionaries of such."""


@dataclass(frozen=True)
class DatasetPlan:
    """What a dataset is, before its episodes are there."""

    name: str
    """Minari id."""
    task: Task | None
    """None for episodes of an environment that has no card, or that nobody knows."""
    observation_space: spaces.Box
    action_space: spaces.Box
    description: str
    command: str
    """What makes it again."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the environment, where they differ from its defaults."""
    environment: str | None = None
    """What the dataset says about its environment, word for word; without, what the task and the settings say."""
    origin: Mapping[str, Any] | None = None
    """Who made it and further entries of Minari's metadata, for episodes that are others'; without, robust-bc did."""


def check_free(name: str, overwrite: bool) -> Path:
    """The folder of a dataset that may be written; an existing one only with `overwrite`."""
    try:
        parse_dataset_id(name)
    except (ValueError, TypeError) as problem:  # TypeError: the version is missing
        raise RobustBCError(f"'{name}' is not the id of a dataset; {ALLOWED}") from problem
    folder = datasets_root() / name
    if folder.exists() and not (folder / "data" / METADATA_FILE).is_file():
        raise RobustBCError(f"'{folder}' is there, but it is not a dataset; take another id.")
    if folder.exists() and not overwrite:
        raise RobustBCError(f"dataset '{name}' is there already; take another id, or --overwrite to replace it.")
    return folder


def write_dataset(
    plan: DatasetPlan,
    episodes: Iterable[Recorded],
    *,
    overwrite: bool = False,
    hidden: dict[str, NDArray[Any]] | None = None,
) -> Path:
    """All episodes aside, then one rename. `hidden` arrays go beside the data, where no learner looks."""
    folder = check_free(plan.name, overwrite)
    root = datasets_root()
    aside, replaced = (root / f".{plan.name.replace('/', '.')}.{os.getpid()}.{kind}" for kind in ("part", "replaced"))
    shutil.rmtree(aside, ignore_errors=True)
    try:
        (aside / "data").mkdir(parents=True)
        _fill(aside / "data", plan, episodes)
        if hidden is not None:
            write_whole(aside / LABELS_FILE, save({name: np.ascontiguousarray(a) for name, a in hidden.items()}))
        folder.parent.mkdir(parents=True, exist_ok=True)
        for namespace in list(folder.relative_to(root).parents)[:-1]:  # so that Minari lists it
            if not (root / namespace / NAMESPACE_FILE).exists():
                write_whole(root / namespace / NAMESPACE_FILE, "{}")
        with interrupts_held():
            _put_in_place(aside, folder, replaced)
    except (OSError, RuntimeError, ValueError, TypeError, IndexError) as problem:  # h5py and Minari tell in many ways
        reason = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise RobustBCError(f"dataset '{plan.name}' cannot be written: {reason}; nothing was changed.") from problem
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return folder


def _put_in_place(aside: Path, folder: Path, replaced: Path) -> None:
    """The old dataset goes only when the new one stands, and comes back if that fails."""
    if not folder.exists():
        aside.rename(folder)
        return
    folder.rename(replaced)
    try:
        aside.rename(folder)
    except OSError:
        replaced.rename(folder)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


@dataclass(frozen=True)
class LocalDatasets:
    """What is kept where Minari keeps its datasets."""

    rows: list[dict[str, Any]]
    """Id, environment, episodes, pairs, size in MB and description of every dataset."""
    damaged: list[str]
    """A sentence for each folder that is none."""


def local_datasets() -> LocalDatasets:
    """All datasets on this machine; one that is damaged takes no other down."""
    rows, damaged = [], []
    root = datasets_root()
    for name in local_ids():
        try:
            about = read_metadata(root / name / "data" / METADATA_FILE)
        except RobustBCError as problem:
            damaged.append(f"'{name}' is not a dataset: {problem}")
            continue
        rows.append(
            {
                "dataset": name,
                "environment": None if about.environment is None else about.environment.id,
                "episodes": about.told.total_episodes,
                "pairs": about.told.total_steps,
                "megabytes": about.told.dataset_size,
                "description": about.told.description or "",
            }
        )
    return LocalDatasets(rows, damaged)


def _spec(plan: DatasetPlan) -> EnvSpec | None:
    """What makes the environment of the task again, if that is known and can be said in words."""
    if plan.environment is not None or plan.task is None:
        return None
    spec = copy.deepcopy(gym.spec(plan.task.environment))
    settings = {**plan.task.settings, **plan.settings}
    spec.max_episode_steps = settings.pop("max_episode_steps", spec.max_episode_steps)  # a wrapper's, not its own
    spec.kwargs |= settings
    made_by: Any = spec.entry_point
    if callable(made_by):
        spec.entry_point = f"{made_by.__module__}:{made_by.__qualname__}"
    spec.vector_entry_point = spec.vector_entry_point if isinstance(spec.vector_entry_point, str) else None
    try:
        spec.to_json()
    except (TypeError, ValueError):
        return None
    return spec


def _check_room(data: Path, recorded: Recorded) -> None:
    """HDF5 does not survive a full disk, so it must not meet one."""
    episode = recorded.episode
    arrays = [episode.observations, episode.actions, episode.rewards, *_flat(recorded.infos or {}).values()]
    needed = sum(np.asarray(array).nbytes for array in arrays) + SPARE_BYTES
    if shutil.disk_usage(data).free < needed:
        raise RobustBCError(f"the disk of '{data.parent.parent}' is full; nothing was written.")


def _flat(entries: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Dictionaries within dictionaries as names with slashes: so Minari reads them back, and HDF5 takes no others."""
    flat: dict[str, Any] = {}
    for name, value in entries.items():
        flat |= _flat(value, f"{before}{name}/") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return flat


def _fill(data: Path, plan: DatasetPlan, episodes: Iterable[Recorded]) -> None:
    storage = MinariStorage.new(
        data, observation_space=plan.observation_space, action_space=plan.action_space, env_spec=_spec(plan)
    )
    storage.update_metadata(
        {
            "dataset_id": plan.name,
            "minari_version": minari.__version__,
            "algorithm_name": plan.command,
            "description": plan.description,
            **(OURS if plan.origin is None else plan.origin),
        }
    )
    if plan.environment is not None:
        storage.update_metadata({"env_spec": plan.environment})
    if plan.task is not None:
        storage.update_metadata({"task": plan.task.name})
    about: list[dict[str, Any]] = []

    def buffers() -> Iterator[EpisodeBuffer]:
        for number, recorded in enumerate(episodes):
            episode = recorded.episode
            if number % ROOM_CHECKS == 0:
                _check_room(data, recorded)
            ends = np.zeros(len(episode), np.bool_)
            ends[-1] = True
            about.append({"source": recorded.source, "teacher": recorded.teacher, **_flat(recorded.more)})
            yield EpisodeBuffer(
                id=number,
                seed=episode.seed,
                observations=episode.observations,
                actions=episode.actions,
                rewards=episode.rewards,
                terminations=ends & episode.terminated,
                truncations=ends & (not episode.terminated),
                infos=None if recorded.infos is None else dict(recorded.infos),
            )

    storage.update_episodes(buffers())
    storage.update_episode_metadata(about)
