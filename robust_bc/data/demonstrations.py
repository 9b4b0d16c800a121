"""Demonstrations: the validated pairs of observation and action that every learner takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from robust_bc.errors import RobustBCError
from robust_bc.system.extras import extras_named

if TYPE_CHECKING:
    from minari import MinariDataset

    from robust_bc.data.minari_files import RecordedDataset

MINIMUM_PAIRS = 2
LARGEST = 1e300
"""Observations and actions beyond this are refused. It leaves room for sums and differences of a hundred million pairs,
and for actions beyond those that were shown, before double precision ends at 1.8e308."""


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """N pairs of observation and action, of unknown quality.

    Build one with `from_arrays` or `from_minari`; both check everything that a learner relies on.
    """

    observations: NDArray[np.floating[Any]]  # (N, S)
    actions: NDArray[np.floating[Any]]  # (N, A)
    episodes: NDArray[np.int64]  # (N,), which episode a pair belongs to
    action_space: spaces.Box | None = None
    corrupt: NDArray[np.bool_] | None = field(default=None, repr=False)
    """(N,) ground truth for diagnosis and for the oracle. No learner ever reads it."""
    successors: NDArray[np.floating[Any]] | None = field(default=None, repr=False)
    """(N, S) the observation that followed each pair, where that is known: it tells which pairs lead to which."""
    timestamps: NDArray[np.float64] | None = field(default=None, repr=False)
    """(N,) when each pair was recorded, in any unit, where that is known: an audit looks for gaps."""

    def __post_init__(self) -> None:
        for name, shape in (("observations", "(N, S)"), ("actions", "(N, A)")):
            object.__setattr__(self, name, _bounded(getattr(self, name), name, shape, self.episodes))
        pairs = len(self.observations)
        _same_length("actions", len(self.actions), pairs)
        if pairs < MINIMUM_PAIRS:
            raise RobustBCError(
                f"observations has {pairs} pairs, but at least {MINIMUM_PAIRS} are needed to learn from."
            )
        object.__setattr__(self, "episodes", _episode_index(self.episodes, pairs))
        if self.corrupt is not None:
            object.__setattr__(self, "corrupt", _labels(self.corrupt, pairs))
        if self.successors is not None:
            object.__setattr__(self, "successors", _numbers(self.successors, "successors", "(N, S)", self.episodes))
            if self.successors.shape != self.observations.shape:
                raise RobustBCError(
                    f"successors has the shape {self.successors.shape}, but observations has"
                    f" {self.observations.shape}; they must be the same."
                )
        if self.timestamps is not None:
            column = _numbers(np.asarray(self.timestamps).reshape(-1, 1), "timestamps", "(N,)")
            _same_length("timestamps", len(column), pairs)
            object.__setattr__(self, "timestamps", _read_only(column[:, 0].astype(np.float64)))
        if self.action_space is not None:
            _check_action_space(self.action_space, self.actions.shape[1])

    @classmethod
    def from_arrays(
        cls,
        observations: ArrayLike,
        actions: ArrayLike,
        episodes: ArrayLike | None = None,
        *,
        action_space: spaces.Box | None = None,
        corrupt: ArrayLike | None = None,
        successors: ArrayLike | None = None,
        timestamps: ArrayLike | None = None,
    ) -> Demonstrations:
        """Demonstrations from an (N, S) and an (N, A) array.

        `episodes` (N,) says which pairs were recorded together; left out, every pair stands alone. With an
        `action_space`, a policy that is fitted to these demonstrations clips its actions to it. `successors` (N, S),
        the observation after each pair, and `timestamps` (N,) go along for those who ask.
        """
        observed = as_numbers(observations, "observations")
        alone = np.arange(len(observed) if observed.ndim else 0)
        return cls(
            observations=observed,
            actions=as_numbers(actions, "actions"),
            episodes=alone if episodes is None else np.asarray(episodes),
            action_space=action_space,
            corrupt=None if corrupt is None else np.asarray(corrupt),
            successors=None if successors is None else as_numbers(successors, "successors"),
            timestamps=None if timestamps is None else np.asarray(as_numbers(timestamps, "timestamps"), np.float64),
        )

    @classmethod
    def from_minari(cls, dataset: str | Path | MinariDataset | RecordedDataset, labels: bool = False) -> Demonstrations:
        """Demonstrations from a Minari dataset: its id, its folder, or the dataset itself.

        `labels` also reads which pairs of a mix are corrupt, for the oracle and for diagnosis; learners do without.
        """
        with extras_named():
            from robust_bc.data.minari_demonstrations import minari_pairs

        return cls(**minari_pairs(dataset, labels))

    def __len__(self) -> int:
        return len(self.observations)

    @property
    def observation_size(self) -> int:
        return int(self.observations.shape[1])

    @property
    def action_size(self) -> int:
        return int(self.actions.shape[1])

    def select(self, keep: ArrayLike) -> Demonstrations:
        """The pairs that a boolean mask or an index array picks."""
        chosen = np.asarray(keep)
        return Demonstrations(
            observations=self.observations[chosen],
            actions=self.actions[chosen],
            episodes=self.episodes[chosen],
            action_space=self.action_space,
            corrupt=None if self.corrupt is None else self.corrupt[chosen],
            successors=None if self.successors is None else self.successors[chosen],
            timestamps=None if self.timestamps is None else self.timestamps[chosen],
        )

    def clean(self) -> Demonstrations:
        """Only the pairs known to be good: what the oracle learns from."""
        if self.corrupt is None:
            raise RobustBCError("corrupt is not known for these demonstrations, so the clean pairs cannot be told.")
        return self.select(~self.corrupt)


def as_numbers(values: ArrayLike, name: str) -> NDArray[np.floating[Any]]:
    """An array of real numbers as float32 or float64, or one sentence that names it."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise RobustBCError(f"{name} must be an array of real numbers, but its rows differ in length.") from None
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind not in "iuf":
        raise RobustBCError(f"{name} must be an array of real numbers, but its type is {array.dtype}.")
    return array.astype(np.float64)


def _numbers(
    values: NDArray[Any], name: str, shape: str, episodes: NDArray[Any] | None = None
) -> NDArray[np.floating[Any]]:
    """A read-only two-dimensional float array with finite entries only."""
    array = as_numbers(values, name)
    if array.ndim != 2:
        hint = f"; reshape it with {name}.reshape(-1, 1)" if array.ndim == 1 else ""
        raise RobustBCError(f"{name} must have the shape {shape}, but its shape is {array.shape}{hint}.")
    if array.shape[1] == 0:
        raise RobustBCError(f"{name} must have at least one column, but its shape is {array.shape}.")
    finite = np.isfinite(array)
    if not finite.all():
        row, column = (int(index) for index in np.argwhere(~finite)[0])
        raise RobustBCError(
            f"{name} must be finite, but row {row}, column {column} is {array[row, column]}"
            f" ({_step(row, episodes)}{int((~finite).sum())} such entries in all); drop those pairs first."
        )
    return _read_only(array)


def _step(row: int, episodes: NDArray[Any] | None) -> str:
    """Which step of which episode a row is; nothing where that is not known, or every pair stands alone."""
    index = np.asarray(episodes)
    if index.ndim != 1 or row >= len(index) or len(np.unique(index)) == len(index):
        return ""
    return f"step {int((index[:row] == index[row]).sum())} of episode {index[row]}; "


def _bounded(values: NDArray[Any], name: str, shape: str, episodes: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Numbers that are not too large to reckon with."""
    array = _numbers(values, name, shape, episodes)
    if len(array) and max(float(array.max()), -float(array.min())) > LARGEST:
        row, column = (int(index) for index in np.argwhere(np.abs(array) > LARGEST)[0])
        at = _step(row, episodes).rstrip("; ")
        raise RobustBCError(
            f"{name} must lie between -{LARGEST:g} and {LARGEST:g}, but row {row}, column {column} is"
            f" {array[row, column]}{at and f' ({at})'}; drop such pairs, or use a larger unit."
        )
    return array


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _same_length(name: str, length: int, pairs: int) -> None:
    if length != pairs:
        raise RobustBCError(f"{name} has {length} rows, but observations has {pairs}; they must be the same.")


def _episode_index(episodes: NDArray[Any], pairs: int) -> NDArray[np.int64]:
    index = np.asarray(episodes)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise RobustBCError(
            "episodes must be one whole number per pair, below 2^63,"
            f" but it has type {index.dtype} and shape {index.shape}."
        )
    _same_length("episodes", len(index), pairs)
    return _read_only(episode_numbers(index))


def episode_numbers(index: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Whole numbers (N,) as int64; a larger one would come out as another, and two episodes could become one."""
    too_large = np.flatnonzero(index > np.iinfo(np.int64).max)
    if len(too_large):
        row = int(too_large[0])
        raise RobustBCError(
            f"episodes must be below 2^63, but that of pair {row} is {index[row]};"
            " number them anew with numpy.unique(episodes, return_inverse=True)[1]."
        )
    return index.astype(np.int64)


def _labels(corrupt: NDArray[Any], pairs: int) -> NDArray[np.bool_]:
    labels = np.asarray(corrupt)
    if labels.ndim != 1 or not (labels.dtype.kind == "b" or np.isin(labels, (0, 1)).all()):
        raise RobustBCError(f"corrupt must be one true or false per pair, but its shape is {labels.shape}.")
    _same_length("corrupt", len(labels), pairs)
    return _read_only(labels.astype(np.bool_))


def _check_action_space(space: spaces.Box, action_size: int) -> None:
    if not isinstance(space, spaces.Box):
        raise RobustBCError(f"action_space must be a gymnasium Box, but it is {space}.")
    if space.dtype.kind != "f":
        raise RobustBCError(f"action_space must be of real numbers, but its type is {space.dtype}.")
    if space.shape != (action_size,):
        raise RobustBCError(f"action_space has the shape {space.shape}, but an action has {action_size} numbers.")
