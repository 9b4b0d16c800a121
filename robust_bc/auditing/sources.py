"""Who made each episode of a Minari dataset, where its metadata tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from minari import MinariDataset

UNKNOWN = "unknown"
NO_SOURCE = {"mix", UNKNOWN}
"""What a dataset says whose episodes were mixed on purpose, or whose makers nobody wrote down."""


def read_sources(dataset: MinariDataset, episodes: NDArray[np.int64]) -> tuple[str, ...] | None:
    """The source of each episode that has pairs; None if no episode tells one.

    `episodes` (N,) is that of the demonstrations: the place of each pair's episode in the dataset.
    """
    told = list(dataset.storage.get_episode_metadata(dataset.episode_indices))
    sources = tuple(str(told[place].get("source", UNKNOWN)) for place in np.unique(episodes).tolist())
    return None if set(sources) <= NO_SOURCE else sources
