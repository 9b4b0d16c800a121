"""The cells of a control benchmark: what each is, what it depends on, and how finished ones are kept on disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.cell_cache import CellCache

FORMAT = 1
"""Of a cell's file. Whoever changes what a cell means, in its file or by code that no setting tells of (a loss, a head,
a metric of a task), counts it up, and all cells are computed anew."""
CLEAN = "clean"
"""The way of cells that no corrupt pair has a part in: those of rate 0, the oracle's and the expert's."""
EXPERT = "expert"
"""The good teacher itself, in the same episodes."""

Numbers = list[float | None]


@dataclass(frozen=True, order=True)
class Key:
    """Which cell: one policy, or the expert."""

    task: str
    how: str
    rate: float
    method: str
    seed: int

    @property
    def folder(self) -> Path:
        """Where all seeds of this cell's unit are kept, inside of the cache."""
        return Path(self.task, self.how, f"{self.rate:.12g}", self.method)

    @property
    def path(self) -> Path:
        return self.folder / f"{self.seed}.json"


@dataclass(frozen=True)
class LearningCurve:
    """A thinned one: values[name][step]."""

    names: list[str]
    steps: list[int]
    values: list[Numbers]

    def __post_init__(self) -> None:
        if not self.names or len(self.values) != len(self.names) or _lengths(self.values) != {len(self.steps)}:
            raise RobustBCError("a learning curve has a value for each name and step.")


@dataclass(frozen=True)
class PairCorrelations:
    """What ρ says about each training pair: see `control_units.correlations`."""

    rho: Numbers
    distance: Numbers
    corrupt: str
    """A 1 for each corrupt pair, a 0 for each clean one."""

    def __post_init__(self) -> None:
        if _lengths([self.rho, self.distance]) != {len(self.corrupt)} or not set(self.corrupt) <= {"0", "1"}:
            raise RobustBCError("each pair has a ρ, a distance, and a 0 or a 1.")


def _lengths(lists: Iterable[Numbers]) -> set[int]:
    return {len(numbers) for numbers in lists}


@dataclass(frozen=True)
class Cell:
    """What was measured of one policy, one entry per episode; an episode that failed has None."""

    key: Key
    episodes: dict[str, Numbers] = field(repr=False)
    """By name: return, length and every metric of the task. Empty if there was no policy to measure."""
    failure: str | None = None
    """One sentence if the fit or any episode failed; such a cell counts in no mean."""
    history: LearningCurve | None = field(default=None, repr=False)
    correlation: PairCorrelations | None = field(default=None, repr=False)
    """For methods with ρ."""
    fit_seconds: float = 0.0
    """This cell's part of the time of its fleet."""
    evaluate_seconds: float = 0.0
    finished: str = ""
    """When, in UTC."""

    def __post_init__(self) -> None:
        if len(_lengths(self.episodes.values())) > 1:
            raise RobustBCError("each episode has a number for each metric.")
        if self.failure is None and None in (self.episodes.get("return") or [None]):
            raise RobustBCError("a cell without a failure has the return of every episode.")

    def values(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """One number for each episode."""
        return np.array([np.nan if value is None else value for value in self.episodes.get(name, [])], np.float64)

    def mean(self, name: str) -> float:
        """Mean over the episodes."""
        return float(self.values(name).mean())


class Cache(CellCache[Key, Cell]):
    """Finished cells of a control benchmark."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Cell)
