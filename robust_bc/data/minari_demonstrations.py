"""The pairs of a Minari dataset, and the hidden labels of one that was mixed on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.minari_files import RecordedDataset, open_minari
from robust_bc.data.tensor_files import Expected, read_tensors
from robust_bc.errors import DamagedFileError, RobustBCError

if TYPE_CHECKING:
    from minari import MinariDataset


LABELS_FILE = "hidden_labels.safetensors"
"""Beside the data of a dataset that was mixed on purpose: which of its pairs are corrupt."""


def minari_pairs(source: str | Path | MinariDataset | RecordedDataset, labels: bool = False) -> dict[str, Any]:
    """What `Demonstrations` is made of: all pairs of a Minari dataset.

    An episode's last observation has no action and is left out.

    With `labels`, what is known about which pairs are corrupt is read too: for the oracle and for diagnosis only.
    """
    dataset = source if isinstance(source, RecordedDataset) else open_minari(source)
    observations: list[NDArray[Any]] = []
    successors: list[NDArray[Any]] = []
    actions: list[NDArray[Any]] = []
    for episode in dataset.episodes():
        observations.append(episode.observations[:-1])
        successors.append(finite_successors(episode.observations[1:], episode.observations[:-1]))
        actions.append(episode.actions)
    lengths = [len(rows) for rows in actions]
    return {
        "observations": np.concatenate(observations),
        "actions": np.concatenate(actions),
        "episodes": np.repeat(np.arange(len(lengths)), lengths),
        "action_space": dataset.action_space,
        "corrupt": read_labels(dataset, sum(lengths)) if labels else None,
        "successors": np.concatenate(successors),
    }


def finite_successors(after: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
    """Successors; one that is not finite, as after a simulation that went wrong, leads nowhere but to where it was."""
    usable = np.isfinite(after).all(axis=1, keepdims=True)
    return after if usable.all() else np.where(usable, after, before)


def has_labels(dataset: RecordedDataset) -> bool:
    """Whether it was mixed on purpose."""
    return (dataset.folder / LABELS_FILE).exists()


def read_labels(dataset: RecordedDataset, pairs: int) -> NDArray[np.bool_]:
    """Which of so many pairs (N,) are corrupt, of a dataset that was mixed on purpose."""
    labels = _hidden(dataset)["corrupt"]
    if (labels > 1).any() or len(labels) != pairs:
        raise DamagedFileError(f"'{dataset.folder / LABELS_FILE}' does not tell a 0 or a 1 for each of {pairs} pairs.")
    return labels.astype(np.bool_)


def read_noise(dataset: RecordedDataset, pairs: int) -> NDArray[np.float64] | None:
    """(N,): how noisy the demonstrator of each of so many pairs was, of a graded mix; of any other, None."""
    noise = _hidden(dataset).get("noise")
    if noise is not None and ((noise < 0).any() or len(noise) != pairs):
        raise DamagedFileError(f"'{dataset.folder / LABELS_FILE}' does not tell the noise of each of {pairs} pairs.")
    return noise


def _hidden(dataset: RecordedDataset) -> dict[str, NDArray[Any]]:
    """What stands beside the data of a dataset that was mixed on purpose."""
    if not has_labels(dataset):
        raise RobustBCError(f"nobody knows which pairs of '{dataset.folder}' are corrupt: it has no {LABELS_FILE}.")
    found = read_tensors(dataset.folder / LABELS_FILE)
    expected = {"corrupt": Expected((-1,), np.uint8)}
    if "noise" in found.arrays:
        expected["noise"] = Expected((-1,), np.float64)
    return found.take(expected)
