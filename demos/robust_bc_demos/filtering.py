"""Filtering: a new dataset without the episodes, or pairs, that an audit found to be bad."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.audit import Audit
from robust_bc.auditing.showing.wording import reason
from robust_bc.auditing.sources import UNKNOWN, source_of
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.fingerprints import pairs_digest
from robust_bc.data.minari_demonstrations import has_labels, read_labels, read_noise
from robust_bc.data.minari_files import RecordedDataset, StoredEpisode, open_minari
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.carried_over import history, infos_between, origin
from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, write_dataset
from robust_bc_envs.tasks import CARDS

OWN_ENTRIES = {"id", "seed", "total_steps", "source", "teacher"}
"""Of an episode's metadata; the others, such as its return, hold for the whole episode only."""
SINGLE_PAIRS = "single bad pairs"


@dataclass(frozen=True)
class LeftOut:
    """An episode of which something was left out."""

    episode: int
    source: str
    pairs: int
    dropped_pairs: int
    why: str
    """Its verdict's reason, or that of its single bad pairs."""


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
    left_out: list[LeftOut]
    """In the order of the dataset."""
    why_kept: str | None
    """Why nothing was left out, although something is bad or nobody can tell; else None."""
    sources: list[SourceCount]
    """One for each source; a dataset without sources has the one `unknown`, a mix has `mix`."""
    cut_episodes: int
    """Of which a part is left."""
    pieces: int
    """Episodes of the new dataset."""


def filter_dataset(
    source: str | Path,
    audit: Audit,
    name: str,
    *,
    cut: bool = False,
    overwrite: bool = False,
    command: str = "robust_bc_demos.filtering",
) -> Filtered:
    """Write what `audit.keep(cut)` says of a Minari dataset as a new one; what is known of it goes along.

    Pairs that are dropped out of the middle of an episode split it: each piece is an episode that ends, cut off as by a
    time limit, in the observation that truly came next.
    """
    folder = check_free(name, overwrite)
    dataset = open_minari(source)
    if folder.resolve() == dataset.folder.resolve():
        raise RobustBCError(f"'{name}' is the dataset to be filtered; take another id, and nothing is lost.")
    demonstrations = Demonstrations.from_minari(dataset)
    same = pairs_digest([demonstrations]) == audit.pairs_sha256
    if not same or not np.array_equal(audit.episodes, demonstrations.episodes):
        raise RobustBCError(
            f"this audit is of other pairs{f' ({audit.dataset})' if audit.dataset else ''} than those of '{source}';"
            " audit this dataset first."
        )
    kept = audit.keep(cut)
    left = int(kept.sum())
    hidden = _hidden(dataset, kept) if has_labels(dataset) else None
    made_in = dataset.environment  # it may be one that is not installed here, or none that anybody knows
    plan = DatasetPlan(
        name=name,
        task=next((card for card in CARDS.values() if made_in and card.environment == made_in.id), None),
        observation_space=dataset.observation_space,
        action_space=dataset.action_space,
        description=(
            f"{left} of {len(kept)} pairs of {source}: {_rule(cut)} by its audit, seed {audit.seed}{history(dataset)}"
        ),
        command=command,
        environment=dataset.metadata.told.env_spec,
        origin=origin(dataset),
    )
    pieces = _Pieces(dataset, kept)
    written = write_dataset(plan, pieces, overwrite=overwrite, hidden=hidden)
    left_out = [] if kept.all() else _left_out(audit, kept, pieces.sources)
    return Filtered(written, kept, left_out, audit.why_kept(cut), pieces.counts(), pieces.cut, pieces.written)


def _rule(cut: bool) -> str:
    return f"all but bad episodes{' and single bad pairs' * cut}"


def _left_out(audit: Audit, kept: NDArray[np.bool_], sources: dict[int, str]) -> list[LeftOut]:
    dropped = audit.grouping.sums((~kept).astype(np.float64))
    found = []
    for row in sorted(audit.episode_rows(), key=lambda row: row.episode):
        gone = int(dropped[np.searchsorted(audit.grouping.names, row.episode)])
        if gone:
            why = reason(audit, row) if row.verdict == "bad" else SINGLE_PAIRS
            found.append(LeftOut(row.episode, sources.get(row.episode, UNKNOWN), row.pairs, gone, why))
    return found


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
        self.sources: dict[int, str] = {}
        self._counts: dict[str, list[int]] = {}

    def __iter__(self) -> Iterator[Recorded]:
        first = 0
        for place, episode in enumerate(self.dataset.episodes(about=True, infos=True)):
            self.sources[place] = source_of(episode.about)
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
