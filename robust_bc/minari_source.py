"""Reading demonstrations from a Minari dataset, by id or by folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError

if TYPE_CHECKING:
    from minari import MinariDataset


def read_minari(source: str | Path | MinariDataset) -> Demonstrations:
    """All pairs of a Minari dataset; an episode's last observation has no action and is left out."""
    dataset = open_minari(source) if isinstance(source, str | Path) else source
    action_space = dataset.action_space
    if not isinstance(action_space, spaces.Box):
        raise RobustBCError(f"dataset '{source}' has the action space {action_space}, but a Box is needed.")
    observations: list[NDArray[Any]] = []
    actions: list[NDArray[Any]] = []
    try:
        for episode in dataset.iterate_episodes():
            observations.append(_rows(episode.observations, f"observations of dataset '{source}'")[: len(episode)])
            actions.append(_rows(episode.actions, f"actions of dataset '{source}'"))
    except (OSError, KeyError, RuntimeError) as problem:
        raise RobustBCError(f"dataset '{source}' cannot be read: {_first_line(problem)}.") from problem
    if not observations:
        raise RobustBCError(f"dataset '{source}' has no episodes.")
    lengths = [len(rows) for rows in actions]
    size = int(np.prod(action_space.shape))
    flat_space = action_space if action_space.shape == (size,) else spaces.utils.flatten_space(action_space)
    assert isinstance(flat_space, spaces.Box)
    return Demonstrations(
        observations=np.concatenate(observations),
        actions=np.concatenate(actions),
        episodes=np.repeat(np.arange(len(lengths)), lengths),
        action_space=flat_space,
    )


def open_minari(source: str | Path) -> MinariDataset:
    """The dataset in a folder (with or without its `data` part), or the local dataset of that id."""
    import minari

    folder = Path(source).expanduser()
    try:
        if folder.is_dir():
            return _open_folder(folder)
        return minari.load_dataset(str(source))
    except RobustBCError:
        raise
    except FileNotFoundError as problem:
        raise RobustBCError(
            f"'{source}' is neither a folder nor the id of a local Minari dataset; `minari list local` shows the ids."
        ) from problem
    except (OSError, ValueError, TypeError, KeyError, AssertionError, ImportError) as problem:
        raise RobustBCError(f"dataset '{source}' cannot be read: {_first_line(problem)}.") from problem


def _open_folder(folder: Path) -> MinariDataset:
    from minari import MinariDataset

    data = folder / "data" if (folder / "data").is_dir() else folder
    if not (data / "metadata.json").is_file():
        raise RobustBCError(f"folder '{folder}' is not a Minari dataset: it has no data/metadata.json.")
    try:
        json.loads((data / "metadata.json").read_text())
    except ValueError as problem:
        raise RobustBCError(f"'{data / 'metadata.json'}' is not valid JSON: {_first_line(problem)}.") from problem
    return MinariDataset(data)


def _rows(values: Any, name: str) -> NDArray[Any]:
    """One flat row per step; structured spaces are refused by name."""
    if not isinstance(values, np.ndarray):
        raise RobustBCError(f"{name} are a {type(values).__name__}, but one array of numbers per step is needed.")
    return values.reshape(len(values), -1)


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")
