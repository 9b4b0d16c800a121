"""Who made each episode of a Minari dataset, where its metadata tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.system.plain_text import writable

if TYPE_CHECKING:
    from robust_bc.data.minari_files import RecordedDataset

UNKNOWN = "unknown"
NO_SOURCE = {"mix", UNKNOWN}
"""What a dataset says whose episodes were mixed on purpose, or whose makers nobody wrote down."""


def read_sources(dataset: RecordedDataset, episodes: NDArray[np.int64]) -> tuple[str, ...] | None:
    """The source of each episode that has pairs; None if no episode tells one.

    `episodes` (N,) is that of the demonstrations: the place of each pair's episode in the dataset.
    """
    told = dataset.about_episodes()
    sources = tuple(source_of(told[place]) for place in np.unique(episodes).tolist())
    return None if set(sources) <= NO_SOURCE else sources


def source_of(about: Mapping[str, Any]) -> str:
    """Who made an episode, by its own metadata."""
    return writable(str(about.get("source", UNKNOWN)))
