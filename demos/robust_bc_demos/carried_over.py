"""What a part of a dataset still says: infos step by step, who made it, and of what it is a part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from robust_bc.data.minari_files import RecordedDataset

PEOPLE = ("author", "author_email")
"""Sets of words in Minari's metadata."""
OF_ANY_PART = (
    *PEOPLE,
    "code_permalink",
    "requirements",
    "eval_env_spec",
    "ref_min_score",
    "ref_max_score",
    "num_episodes_average_score",
)
"""Entries that hold for a part as for the whole: they are about who made it, and about the environment. Whatever else
somebody may have added, such as a mean, may hold for the whole only."""
PART_OF = "part_of"
OF_THE_WHOLE = ("dataset_id", "algorithm_name", PART_OF)
"""What is said of the whole in an entry of its own: its id and maker, and of what it is a part itself."""


def origin(dataset: RecordedDataset) -> dict[str, Any]:
    """Of the dataset's metadata, what is true of its parts too, as Minari takes it; and how the whole was made."""
    told = dataset.metadata.entries
    kept = {name: told[name] for name in OF_ANY_PART if told.get(name) is not None}
    for name in PEOPLE:
        if name in kept:  # files of old have one author as a word, and a set of it would be a set of letters
            kept[name] = {kept[name]} if isinstance(kept[name], str) else set(kept[name])
    whole = {name: told[name] for name in OF_THE_WHOLE if told.get(name) is not None}
    return {**kept, PART_OF: whole}


def history(dataset: RecordedDataset) -> str:
    """How the whole was described, to end a sentence about its part; empty if nobody said."""
    description = dataset.metadata.told.description
    return f"; the whole was described as: {description}" if description else ""


def infos_between(infos: Mapping[str, Any], begin: int, end: int, steps: int) -> dict[str, Any]:
    """Infos of the steps from `begin` to before `end`, of an episode of so many steps.

    Entries that Minari collects are (steps + 1, ...), as observations are: what a reset told comes first. Others may be
    (steps, ...), as actions are. What is neither holds for the whole episode and goes with nothing less. Length is all
    there is to tell by: a goal of 8 numbers in an episode of 8 steps would be cut.
    """
    found: dict[str, Any] = {}
    for name, values in infos.items():
        if isinstance(values, Mapping):
            found[name] = infos_between(values, begin, end, steps)
        elif isinstance(values, str | bytes) or np.shape(values)[:1] == (0,):
            continue  # Minari cannot write a single word, or an array without rows
        elif np.ndim(values) and len(values) in (steps, steps + 1):
            found[name] = values[begin : end + len(values) - steps]
        elif (begin, end) == (0, steps):
            found[name] = values
    return found
