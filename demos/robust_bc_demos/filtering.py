"""Filtering: a new dataset without the pairs or episodes that an audit found to be bad."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.pooling import PARTLY_BAD, worth_keeping
from robust_bc.auditing.results import Audit
from robust_bc.auditing.sources import UNKNOWN, source_of
from robust_bc.data.minari_demonstrations import has_labels, read_labels, read_minari, read_noise
from robust_bc.data.minari_files import RecordedDataset, StoredEpisode, open_minari
from robust_bc.demonstrations import MINIMUM_PAIRS
from robust_bc.errors import RobustBCError
from robust_bc.rollouts import Episode
from robust_bc.training.checkpoint import pairs_digest
from robust_bc_demos.carried_over import history, infos_between, origin
from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, write_dataset
from robust_bc_envs.tasks import CARDS

Unit = Literal["auto", "episode", "pair"]
UNITS = ("auto", "episode", "pair")
OWN_ENTRIES = {"id", "seed", "total_steps", "source", "teacher"}
"""Of an episode's metadata; the others, such as its return, hold for the whole episode only."""


@dataclass(frozen=True)
class FilterRequest:
    """What to keep: the best share of all pairs, or what is above a quality; one of the two."""

    keep: float | None = None
    above: float | None = None
    unit: Unit = "auto"
    """Whole episodes by their pooled quality, or single pairs; auto takes episodes where they have several steps, and
    with `above` leaves out the bad pairs of those that are partly bad."""

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.above is None):
            raise RobustBCError(
                "say what to keep by --keep, a share of the pairs, or by --above, a quality; one of them."
            )
        if self.keep is not None and not 0 < self.keep <= 1:
            raise RobustBCError(f"--keep is a share above 0 and at most 1, but it is {self.keep}.")
        if self.above is not None and not 0 <= self.above < 1:
            raise RobustBCError(f"--above is a quality from 0 to below 1, but it is {self.above}.")
        if self.unit not in UNITS:
            raise RobustBCError(f"there is no unit '{self.unit}'; the units are {', '.join(UNITS)}.")

    def unit_for(self, audit: Audit) -> Literal["episode", "pair"]:
        """The unit, once the episodes are known."""
        if self.unit == "auto":
            return "pair" if audit.single_pairs else "episode"
        return self.unit

    def words(self, audit: Audit) -> str:
        """The rule as a person would say it."""
        units = f"{self.unit_for(audit)}s"
        if self.keep is not None:
            return f"the best {units} that make up {self.keep:.4g} of the pairs"
        partly = ", without the bad pairs of those that are partly bad" if self._cuts(audit) else ""
        return f"{units} with a quality above {self.above:g}{partly}"

    def _cuts(self, audit: Audit) -> bool:
        """Whether an episode that stays may lose pairs."""
        cuts = self.unit == "auto" and self.above is not None and self.above < PARTLY_BAD
        return cuts and not audit.single_pairs


@dataclass(frozen=True)
class SourceCount:
    """What became of one source's episodes and pairs."""

    source: str
    episodes: int
    dropped_episodes: int
    """Of which nothing is left."""
    pairs: int
    dropped_pairs: int


@dataclass(frozen=True)
class Filtered:
    """The new dataset and what it left out."""

    folder: Path
    kept: NDArray[np.bool_]  # (N,)
    unit: Literal["episode", "pair"]
    sources: list[SourceCount]
    """One for each source; a dataset without sources has the one `unknown`, a mix has `mix`."""
    cut_episodes: int
    """Of which a part is left."""
    pieces: int
    """Episodes of the new dataset."""


def kept_pairs(audit: Audit, request: FilterRequest) -> NDArray[np.bool_]:
    """(N,) which pairs stay."""
    grouping = audit.grouping
    if request.unit == "auto" and request.above is not None:
        return worth_keeping(grouping, audit.quality, request.above)
    if request.unit_for(audit) == "pair":
        if request.above is not None:
            return audit.quality > request.above
        kept = np.zeros(len(audit), np.bool_)
        kept[np.argsort(-audit.quality, kind="stable")[: _nearest(request.keep, len(audit))]] = True
        return kept
    means = audit.episode_quality[0]
    if request.above is not None:
        stays = means > request.above
    else:
        # As many of the best as come nearest to the share; one more at a tie, since data is dear.
        best = np.argsort(-means, kind="stable")
        passed = np.concatenate([[0], np.cumsum(grouping.lengths[best])])  # (E + 1,)
        misses = np.abs(passed - _nearest(request.keep, len(audit)))
        count = len(best) - int(np.argmin(misses[::-1]))
        stays = np.zeros(len(means), np.bool_)
        stays[best[:count]] = True
    kept = np.zeros(len(audit), np.bool_)
    kept[grouping.order] = np.repeat(stays, grouping.lengths)
    return kept


def _nearest(share: float | None, pairs: int) -> int:
    return math.floor((share or 0.0) * pairs + 0.5)


def filter_dataset(
    source: str | Path,
    audit: Audit,
    name: str,
    request: FilterRequest,
    *,
    overwrite: bool = False,
    command: str = "robust_bc_demos.filtering",
) -> Filtered:
    """Write what stays of a Minari dataset as a new one; what is known of it, its pairs and episodes goes along.

    Pairs that are dropped out of the middle of an episode split it: each piece is an episode that ends, cut off as by a
    time limit, in the observation that truly came next.
    """
    folder = check_free(name, overwrite)
    dataset = open_minari(source)
    if folder.resolve() == dataset.folder.resolve():
        raise RobustBCError(f"'{name}' is the dataset to be filtered; take another id, and nothing is lost.")
    demonstrations = read_minari(dataset)
    same = pairs_digest([demonstrations]) == audit.pairs_sha256
    if not same or not np.array_equal(audit.episodes, demonstrations.episodes):
        raise RobustBCError(
            f"this audit is of other pairs{f' ({audit.dataset})' if audit.dataset else ''} than those of '{source}';"
            " audit this dataset first."
        )
    kept = kept_pairs(audit, request)
    left = int(kept.sum())
    if left < MINIMUM_PAIRS:
        raise RobustBCError(
            f"of {len(kept)} pairs {left} would be left, but at least {MINIMUM_PAIRS} are needed; keep more."
        )
    hidden = _hidden(dataset, kept) if has_labels(dataset) else None
    made_in = dataset.environment  # it may be one that is not installed here, or none that anybody knows
    plan = DatasetPlan(
        name=name,
        task=next((card for card in CARDS.values() if made_in and card.environment == made_in.id), None),
        observation_space=dataset.observation_space,
        action_space=dataset.action_space,
        description=(
            f"{left} of {len(kept)} pairs of {source}: {request.words(audit)} in its audit by {audit.method},"
            f" seed {audit.seed}{history(dataset)}"
        ),
        command=command,
        environment=dataset.metadata.told.env_spec,
        origin=origin(dataset),
    )
    pieces = _Pieces(dataset, kept)
    written = write_dataset(plan, pieces, overwrite=overwrite, hidden=hidden)
    return Filtered(written, kept, request.unit_for(audit), pieces.counts(), pieces.cut, pieces.written)


def _hidden(dataset: RecordedDataset, kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """What was known about the pairs that are kept."""
    hidden: dict[str, NDArray[Any]] = {"corrupt": read_labels(dataset, len(kept))[kept].astype(np.uint8)}
    noise = read_noise(dataset, len(kept))
    return hidden if noise is None else hidden | {"noise": noise[kept]}


class _Pieces:
    """What stays of each episode, one after the other, and how much that is."""

    def __init__(self, dataset: RecordedDataset, kept: NDArray[np.bool_]) -> None:
        self.dataset, self.kept = dataset, kept
        self.cut = self.written = 0
        self._counts: dict[str, list[int]] = {}

    def __iter__(self) -> Iterator[Recorded]:
        first = 0
        for episode in self.dataset.episodes(about=True, infos=True):
            mine = self.kept[first : first + len(episode)]
            first += len(episode)
            self._count(source_of(episode.about), mine)
            for begin, end in _runs(mine):
                self.written += 1
                yield _piece(episode, begin, end)

    def _count(self, source: str, mine: NDArray[np.bool_]) -> None:
        here = self._counts.setdefault(source, [0, 0, 0, 0])
        dropped = int((~mine).sum())
        here[0] += 1
        here[1] += dropped == len(mine)
        here[2] += len(mine)
        here[3] += dropped
        self.cut += 0 < dropped < len(mine)

    def counts(self) -> list[SourceCount]:
        return [SourceCount(source, *numbers) for source, numbers in sorted(self._counts.items())]


def _runs(kept: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The stretches (begin, end) of what stays, the end not included."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def _piece(episode: StoredEpisode, begin: int, end: int) -> Recorded:
    whole, about = (begin, end) == (0, len(episode)), episode.about
    return Recorded(
        Episode(
            seed=episode.seed if whole else None,
            observations=episode.observations[begin : end + 1],
            actions=episode.actions[begin:end],
            rewards=episode.rewards[begin:end],
            terminated=end == len(episode) and episode.terminated,
        ),
        source=source_of(about),
        teacher=str(about.get("teacher", UNKNOWN)),
        more={key: value for key, value in about.items() if key not in OWN_ENTRIES} if whole else {},
        infos=None if episode.infos is None else infos_between(episode.infos, begin, end, len(episode)),
    )
