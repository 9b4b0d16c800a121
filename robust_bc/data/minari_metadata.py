"""What a Minari dataset says about itself in metadata.json: words and numbers, none of which is imported or called.

Minari itself makes the environment that a file names by an entry point, where the file leaves a space out. So its files
are read here, and spaces come from the metadata or from the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from robust_bc.data.json_files import as_typed, parse_json, read_json
from robust_bc.errors import DamagedFileError, RobustBCError

METADATA_FILE = "metadata.json"
VERSIONS = ("0.4.", "0.5.")
"""Of Minari, whose files are read."""
LARGEST_SIZE = 1 << 20
"""Numbers of an observation or an action."""
TYPES = ("float16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
MOST_STEPS = 10_000_000
"""Of an episode: a limit beyond it is none."""


@dataclass(frozen=True)
class RecordedWrapper:
    """A wrapper that the environment had when the episodes were recorded."""

    name: str
    entry_point: str | None = None
    kwargs: dict[str, Any] | None = None


@dataclass(frozen=True)
class RecordedEnvironment:
    """What a dataset says about the environment it came from: words, to be shown and compared."""

    id: str
    entry_point: str | None = None
    vector_entry_point: str | None = None
    max_episode_steps: int | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    additional_wrappers: list[RecordedWrapper] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.max_episode_steps is not None and not 0 < self.max_episode_steps <= MOST_STEPS:
            raise RobustBCError(f"max_episode_steps is {self.max_episode_steps}, but at most {MOST_STEPS} are allowed.")


@dataclass(frozen=True)
class _Told:
    """The entries of metadata.json that are used here; all may be missing."""

    dataset_id: str | None = None
    minari_version: str | None = None
    data_format: str = "hdf5"
    total_episodes: int | None = None
    total_steps: int | None = None
    description: str | None = None
    algorithm_name: str | None = None
    author: tuple[str, ...] | str | None = None
    author_email: tuple[str, ...] | str | None = None
    code_permalink: str | None = None
    dataset_size: float | None = None
    requirements: tuple[str, ...] | None = None
    observation_space: str | None = None
    action_space: str | None = None
    env_spec: str | None = None
    eval_env_spec: str | None = None


@dataclass(frozen=True)
class MinariMetadata:
    """metadata.json, checked."""

    told: _Told
    entries: dict[str, Any]
    """All of them as they are in the file."""
    observation_space: SpaceInWords | None
    action_space: SpaceInWords | None
    environment: RecordedEnvironment | None


@dataclass(frozen=True)
class SpaceInWords:
    """A space as a file tells it."""

    type: Literal["Box", "Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple", "Text"]
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    low: Any = None
    high: Any = None

    def __str__(self) -> str:
        return self.type if self.shape is None else f"{self.type}{self.shape}"

    def box(self, name: str) -> spaces.Box | None:
        """The Box with one axis that is told of; None if it is no such Box."""
        if self.type != "Box" or self.shape is None or len(self.shape) != 1:
            return None
        if self.dtype not in TYPES or not 0 < self.shape[0] <= LARGEST_SIZE:
            raise DamagedFileError(f"'{name}' is a Box of {self.shape} numbers of type {str(self.dtype)[:20]}.")
        kind = np.dtype(self.dtype)
        try:
            low, high = (np.asarray(side, np.float64) for side in (self.low, self.high))
        except (TypeError, ValueError, OverflowError):
            raise DamagedFileError(f"'{name}' has bounds that are not {self.dtype} numbers.") from None
        limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        above, below = (np.inf, -np.inf) if kind.kind == "f" else (limits.max, limits.min)
        fits = low.shape == high.shape == self.shape and (low <= high).all()
        if not fits or not ((below <= low) & (low <= limits.max) & (limits.min <= high) & (high <= above)).all():
            raise DamagedFileError(f"'{name}' does not have {self.shape[0]} bounds of type {self.dtype} on each side.")
        return spaces.Box(low.astype(kind), high.astype(kind), self.shape, kind.type)


def read_metadata(path: Path) -> MinariMetadata:
    """The metadata in a file, every entry that is used of its type."""
    entries = read_json(path, infinite=True)
    told = as_typed(_Told, entries, str(path), others=True)
    version = told.minari_version
    if version is not None and not version.startswith(VERSIONS):
        known = " and ".join(f"{each}x" for each in VERSIONS)
        raise DamagedFileError(f"'{path}' is of Minari {version[:20]}, but {known} are read.")
    if told.data_format != "hdf5":
        raise DamagedFileError(f"'{path}' has the data format '{told.data_format[:20]}', but only hdf5 is read.")
    if told.total_episodes == 0:
        raise RobustBCError(f"dataset '{path.parent}' has no episodes.")
    return MinariMetadata(
        told=told,
        entries=entries,
        observation_space=_space(told.observation_space, f"observation_space of {path}"),
        action_space=_space(told.action_space, f"action_space of {path}"),
        environment=_environment(told.env_spec, f"env_spec of {path}"),
    )


def _space(text: str | None, name: str) -> SpaceInWords | None:
    if text is None:
        return None
    return as_typed(SpaceInWords, parse_json(text, name, infinite=True), name, others=True)


def _environment(text: str | None, name: str) -> RecordedEnvironment | None:
    if text is None:
        return None
    return as_typed(RecordedEnvironment, parse_json(text, name, infinite=True), name, others=True)
