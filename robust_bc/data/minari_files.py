"""A Minari dataset on disk: found by id or folder, and read episode by episode without Minari."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.data.hdf5_files import FLAGS, NUMBERS, Hdf5File, open_hdf5
from robust_bc.data.minari_metadata import (
    METADATA_FILE,
    MinariMetadata,
    RecordedEnvironment,
    SpaceInWords,
    read_metadata,
)
from robust_bc.errors import DamagedFileError, RobustBCError

if TYPE_CHECKING:
    from minari import MinariDataset

ARRAYS_FILE = "main_data.hdf5"
EPISODE = "episode_"
DEEPEST = 8
"""Levels of such folders."""
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, eq=False)
class StoredEpisode:
    """One episode of T steps, as it is on disk."""

    observations: NDArray[Any]  # (T + 1, S)
    actions: NDArray[Any]  # (T, A)
    rewards: NDArray[np.float64]  # (T,)
    terminated: bool
    """False: it was cut off."""
    about: dict[str, Any]
    """Its own metadata, names with slashes as dictionaries; empty unless it was asked for."""
    infos: dict[str, Any] | None
    """What the environment told step by step; None unless it was asked for."""

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def seed(self) -> int | None:
        """What the environment was reset with, if it is a number that one can be reset with."""
        seed = self.about.get("seed")
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed <= LARGEST_SEED:
            return None
        return int(seed)


@dataclass(frozen=True)
class RecordedDataset:
    """A dataset whose metadata is checked; its arrays are as they are read."""

    name: str
    """As the person called it."""
    folder: Path
    """That has `data`, and the hidden labels of a mix beside it."""
    data: Path
    metadata: MinariMetadata
    observation_space: spaces.Box
    action_space: spaces.Box
    chosen: tuple[int, ...] | None = None
    """Which episodes it consists of; None for all."""

    @property
    def environment(self) -> RecordedEnvironment | None:
        return self.metadata.environment

    def episodes(
        self, which: Sequence[int] | None = None, *, about: bool = False, infos: bool = False
    ) -> Iterator[StoredEpisode]:
        """The episodes in order, or those at these places; with their metadata and infos, if asked for."""
        with open_hdf5(self.data / ARRAYS_FILE) as file:
            numbers = self._numbers(file)
            for place in range(len(numbers)) if which is None else which:
                yield self._episode(file, numbers[place], about, infos)

    def about_episodes(self) -> list[dict[str, Any]]:
        """The metadata of every episode."""
        with open_hdf5(self.data / ARRAYS_FILE) as file:
            names = [f"{EPISODE}{number}" for number in self._numbers(file)]
            return [_nested(file.attributes(file.group(file.root, name), name)) for name in names]

    def _numbers(self, file: Hdf5File) -> Sequence[int]:
        """The episodes that are there; as many as the metadata says, if it says so."""
        there, told = file.root.get_num_objs(), self.metadata.told.total_episodes
        if told is not None and told != there:
            raise DamagedFileError(f"'{file.path}' has {there} episodes, but {METADATA_FILE} says {told}.")
        if not there:
            raise RobustBCError(f"dataset '{self.name}' has no episodes.")
        return range(there) if self.chosen is None else self.chosen

    def _episode(self, file: Hdf5File, number: int, about: bool, infos: bool) -> StoredEpisode:
        name = f"{EPISODE}{number}"
        group = file.group(file.root, name)
        rewards = file.array(group, "rewards", f"{name}/rewards")
        if rewards.ndim != 1 or not len(rewards):
            raise DamagedFileError(
                f"in '{file.path}' {name}/rewards has the shape {rewards.shape}, but (T,) is expected."
            )
        observed = _rows(file, group, name, "observations", len(rewards) + 1, self.observation_space)
        acted = _rows(file, group, name, "actions", len(rewards), self.action_space)
        ends = file.array(group, "terminations", f"{name}/terminations", NUMBERS + FLAGS)
        if ends.shape != rewards.shape:
            raise DamagedFileError(
                f"in '{file.path}' {name}/terminations has the shape {ends.shape}, not {rewards.shape}."
            )
        told = None
        if infos and group.links.exists(b"infos"):
            told = file.infos(file.group(group, "infos"), f"{name}/infos")
        return StoredEpisode(
            observations=observed,
            actions=acted,
            rewards=rewards.astype(np.float64),
            terminated=bool(ends[-1]),
            about=_nested(file.attributes(group, name)) if about else {},
            infos=told,
        )


def open_minari(source: str | Path | MinariDataset) -> RecordedDataset:
    """The dataset in a folder (with or without its `data` part), the local dataset of that id, or one of Minari's."""
    if not isinstance(source, str | Path) and not hasattr(source, "episode_indices"):
        kind = type(source).__name__
        raise RobustBCError(f"a dataset is an id, a folder or one that Minari has opened, but this is a {kind}.")
    if not isinstance(source, str | Path):  # one that somebody has opened: its files are read as any other's
        chosen = tuple(int(index) for index in source.episode_indices)
        return _open(Path(source.storage.data_path), str(source.spec.dataset_id), chosen)
    folder = _expanded(source)
    if folder.is_dir():
        data = folder / "data" if (folder / "data").is_dir() else folder
        if not (data / METADATA_FILE).is_file():
            raise RobustBCError(f"folder '{folder}' is not a Minari dataset: it has no data/{METADATA_FILE}.")
        return _open(data, str(source))
    data = datasets_root() / str(source) / "data"
    if not (data / METADATA_FILE).is_file():
        close = difflib.get_close_matches(str(source), local_ids(), n=1)
        meant = f" (did you mean '{close[0]}'?)" if close else ""
        raise RobustBCError(
            f"'{source}' is neither a folder nor the id of a local Minari dataset{meant};"
            " `robust-bc datasets` shows the ids."
        )
    return _open(data, str(source))


def local_ids() -> list[str]:
    """Of the datasets on this machine, whether or not they can be read."""
    return sorted(_folders(datasets_root(), DEEPEST))


def _folders(root: Path, depth: int) -> Iterator[str]:
    """Ids of the folders that have `data` in them; links may lead to a dataset, but not to more folders of them."""
    try:
        entries = sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return
    for entry in entries:
        if (entry / "data").exists():
            yield entry.name
        elif depth and not entry.is_symlink():
            yield from (f"{entry.name}/{name}" for name in _folders(entry, depth - 1))


def datasets_root() -> Path:
    """Where Minari keeps its datasets."""
    given = os.environ.get("MINARI_DATASETS_PATH")
    return Path(given) if given is not None else _expanded("~") / ".minari" / "datasets"


def _expanded(path: str | Path) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path.expanduser fails for people who are not there)


def _open(data: Path, name: str, chosen: tuple[int, ...] | None = None) -> RecordedDataset:
    try:
        metadata = read_metadata(data / METADATA_FILE)
        if chosen is not None and any(index < 0 for index in chosen):
            raise DamagedFileError(f"'{name}' has no episode {min(chosen)}.")
        return RecordedDataset(
            name=name,
            folder=data.parent if data.name == "data" else data,
            data=data,
            metadata=metadata,
            observation_space=_box(metadata.observation_space, data, "observation"),
            action_space=_box(metadata.action_space, data, "action"),
            chosen=chosen,
        )
    except DamagedFileError as problem:
        raise DamagedFileError(f"dataset '{name}' cannot be read: {problem}") from problem


def _box(told: SpaceInWords | None, data: Path, name: str) -> spaces.Box:
    """Learners take vectors: observations and actions must be Boxes with one axis. Arrays tell what is not told."""
    if told is None:
        with open_hdf5(data / ARRAYS_FILE) as file:
            array = file.array(file.group(file.root, f"{EPISODE}0"), f"{name}s", f"{EPISODE}0/{name}s")
        if array.ndim != 2 or array.shape[1] == 0:
            raise DamagedFileError(f"'{data / ARRAYS_FILE}' has {name}s of shape {array.shape}, but rows are expected.")
        kind = array.dtype.type if array.dtype.kind == "f" else np.float64
        return spaces.Box(-np.inf, np.inf, array.shape[1:], kind)
    box = told.box(f"{name}_space of {data / METADATA_FILE}")
    if box is None:
        raise RobustBCError(
            f"dataset '{data.parent}' has the {name} space {told}, but a Box with one axis is needed; flatten it first."
        )
    return box


def _rows(file: Hdf5File, group: Any, episode: str, name: str, length: int, space: spaces.Box) -> NDArray[Any]:
    """Rows (T, C) of an episode, as many and as wide as they must be."""
    array = file.array(group, name, f"{episode}/{name}")
    if array.shape != (length, *space.shape):
        raise DamagedFileError(
            f"in '{file.path}' {episode}/{name} has the shape {array.shape}, but {(length, *space.shape)} is expected."
        )
    return array


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    """Names with slashes as dictionaries within dictionaries; a name that is both stays as it is."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split("/")
        inside = nested
        for part in path:
            below = inside.setdefault(part, {})
            if not isinstance(below, dict):
                inside, last = nested, name
                break
            inside = below
        inside[last] = value
    return nested
