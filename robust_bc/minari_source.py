"""Reading demonstrations from a Minari dataset, by id or by folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError

if TYPE_CHECKING:
    from minari import MinariDataset


LABELS_FILE = "hidden_labels.safetensors"
"""Beside the data of a dataset that was mixed on purpose: which of its pairs are corrupt."""


def read_minari(source: str | Path | MinariDataset, labels: bool = False) -> Demonstrations:
    """All pairs of a Minari dataset; an episode's last observation has no action and is left out.

    With `labels`, what is known about which pairs are corrupt is read too: for the oracle and for diagnosis only.
    """
    dataset = open_minari(source) if isinstance(source, str | Path) else source
    check_spaces(dataset, source)
    observations: list[NDArray[Any]] = []
    successors: list[NDArray[Any]] = []
    actions: list[NDArray[Any]] = []
    try:
        for episode in dataset.iterate_episodes():
            observations.append(episode.observations[: len(episode)])
            successors.append(_finite(episode.observations[1 : len(episode) + 1], observations[-1]))
            actions.append(episode.actions)
    except (OSError, KeyError, RuntimeError) as problem:
        raise RobustBCError(f"dataset '{source}' cannot be read: {_first_line(problem)}.") from problem
    if not observations:
        raise RobustBCError(f"dataset '{source}' has no episodes.")
    lengths = [len(rows) for rows in actions]
    return Demonstrations(
        observations=np.concatenate(observations),
        actions=np.concatenate(actions),
        episodes=np.repeat(np.arange(len(lengths)), lengths),
        action_space=dataset.action_space,
        corrupt=read_labels(dataset) if labels else None,
        successors=np.concatenate(successors),
    )


def _finite(after: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
    """Successors; one that is not finite, as after a simulation that went wrong, leads nowhere but to where it was."""
    usable = np.isfinite(after).all(axis=1, keepdims=True)
    return after if usable.all() else np.where(usable, after, before)


def check_spaces(dataset: MinariDataset, source: object) -> None:
    """Learners take vectors: observations and actions must be Boxes with one axis."""
    for name in ("observation", "action"):
        space = getattr(dataset, f"{name}_space")
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise RobustBCError(
                f"dataset '{source}' has the {name} space {space}, but a Box with one axis is needed; flatten it first."
            )


def read_labels(dataset: MinariDataset) -> NDArray[np.bool_]:
    """Which pairs (N,) are corrupt, of a dataset that was mixed on purpose."""
    path = Path(dataset.storage.data_path).parent / LABELS_FILE
    try:
        return load_file(path)["corrupt"].astype(np.bool_)
    except FileNotFoundError:
        raise RobustBCError(
            f"nobody knows which pairs of '{path.parent}' are corrupt: it has no {LABELS_FILE}."
        ) from None
    except (OSError, SafetensorError, KeyError) as problem:
        raise RobustBCError(f"'{path}' cannot be read: {_first_line(problem)}.") from problem


def open_minari(source: str | Path) -> MinariDataset:
    """The dataset in a folder (with or without its `data` part), or the local dataset of that id."""
    import minari

    try:
        folder = Path(source).expanduser()
        if folder.is_dir():
            return _open_folder(folder)
        return minari.load_dataset(str(source))
    except RobustBCError:
        raise
    except FileNotFoundError as problem:
        raise RobustBCError(
            f"'{source}' is neither a folder nor the id of a local Minari dataset; `minari list local` shows the ids."
        ) from problem
    except (OSError, ValueError, TypeError, KeyError, AssertionError, ImportError, RuntimeError) as problem:
        raise RobustBCError(f"dataset '{source}' cannot be read: {_first_line(problem)}.") from problem


def _open_folder(folder: Path) -> MinariDataset:
    from minari import MinariDataset

    data = folder / "data" if (folder / "data").is_dir() else folder
    if not (data / "metadata.json").is_file():
        raise RobustBCError(f"folder '{folder}' is not a Minari dataset: it has no data/metadata.json.")
    try:
        metadata = json.loads((data / "metadata.json").read_text())
    except ValueError as problem:
        raise RobustBCError(f"'{data / 'metadata.json'}' is not valid JSON: {_first_line(problem)}.") from problem
    if not isinstance(metadata, dict):
        raise RobustBCError(f"'{data / 'metadata.json'}' does not describe a dataset.")
    return MinariDataset(data)


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")
