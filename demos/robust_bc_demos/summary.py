"""What is in a dataset: episodes, returns by source, and how its actions are spread."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.sources import source_of
from robust_bc.data.minari_demonstrations import has_labels, read_labels
from robust_bc.data.minari_files import StoredEpisode, open_minari
from robust_bc.errors import RobustBCError
from robust_bc.system.files import write_whole
from robust_bc_demos.teachers import limits

BINS = 24
LARGEST_EDGE = 1e150
NARROWEST = 1e-9
"""Range of a histogram as a share of its edges."""
NO_METRICS = {"id", "seed", "total_steps", "return"}
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class SourceSummary:
    """The episodes of one demonstrator."""

    source: str
    episodes: int
    pairs: int
    return_mean: float
    return_std: float
    length_mean: float
    metrics: dict[str, float]
    """Means of the numbers in the episodes' metadata, such as the metrics of a task."""


@dataclass(frozen=True)
class DatasetSummary:
    """All that `robust-bc show` tells."""

    dataset: str
    environment: str | None
    description: str
    made_by: str
    episodes: int
    pairs: int
    observation_size: int
    action_size: int
    corrupt_known: int | None
    """Pairs that the hidden labels call corrupt; None if nobody knows."""
    sources: list[SourceSummary]
    edges: NDArray[np.float64]  # (A, BINS + 1)
    counts: NDArray[np.int64]  # (A, BINS)


def summarise(name: str) -> DatasetSummary:
    """Read a dataset once and count."""
    dataset = open_minari(name)
    told = dataset.metadata.told
    episodes = list(dataset.episodes(about=True))
    sources: dict[str, list[StoredEpisode]] = {}
    for episode in episodes:
        sources.setdefault(source_of(episode.about), []).append(episode)
    actions = np.concatenate([episode.actions for episode in episodes])
    edges, counts = histograms(actions, *limits(dataset.action_space))
    return DatasetSummary(
        dataset=name,
        environment=None if dataset.environment is None else dataset.environment.id,
        description=told.description or "",
        made_by=told.algorithm_name or "",
        episodes=len(episodes),
        pairs=len(actions),
        observation_size=dataset.observation_space.shape[0],
        action_size=actions.shape[1],
        corrupt_known=int(read_labels(dataset, len(actions)).sum()) if has_labels(dataset) else None,
        sources=[_of_source(source, mine) for source, mine in sorted(sources.items())],
        edges=edges,
        counts=counts,
    )


def histograms(
    actions: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Edges (A, BINS + 1) and counts (A, BINS) over the action space, or over the data where that has no bounds.

    What is not finite is in no bin.
    """
    edges = np.zeros((actions.shape[1], BINS + 1))
    counts = np.zeros((actions.shape[1], BINS), np.int64)
    for column, given in enumerate(actions.T.astype(np.float64)):
        values = given[np.isfinite(given)]
        bounded = np.isfinite(low[column]) and np.isfinite(high[column])
        seen = values if len(values) else np.zeros(1)
        first, last = (low[column], high[column]) if bounded else (seen.min(), seen.max())
        unit = max(1.0, abs(first) / LARGEST_EDGE, abs(last) / LARGEST_EDGE)  # or the width of a bin would overflow
        first, last = float(first / unit), float(last / unit)
        if last - first < NARROWEST * max(abs(first), abs(last)):  # or bins would have no width
            first, last = first - abs(first) * NARROWEST, last + abs(last) * NARROWEST
        counts[column], edges[column] = np.histogram(np.clip(values / unit, first, last), BINS, (first, last))
        edges[column] *= unit
    return edges, counts


def _of_source(source: str, episodes: Sequence[StoredEpisode]) -> SourceSummary:
    returns = np.array([float(np.sum(episode.rewards)) for episode in episodes])
    lengths = np.array([len(episode) for episode in episodes])
    told = [
        name
        for name in episodes[0].about
        if name not in NO_METRICS and all(isinstance(episode.about.get(name), np.number) for episode in episodes)
    ]
    return SourceSummary(
        source=source,
        episodes=len(episodes),
        pairs=int(lengths.sum()),
        return_mean=float(returns.mean()),
        return_std=float(returns.std()),
        length_mean=float(lengths.mean()),
        metrics={name: float(np.mean([episode.about[name] for episode in episodes])) for name in told},
    )


def check_picture(path: Path) -> None:
    """Before anything is computed: whether it can be a picture."""
    if path.suffix not in PICTURES:
        raise RobustBCError(f"'{path}' must end in {', '.join(PICTURES)}.")


def draw_summary(summary: DatasetSummary, path: Path) -> None:
    """The action histograms as a picture."""
    check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(3, summary.action_size)
    rows = -(-summary.action_size // columns)
    figure = Figure(figsize=(3.2 * columns + 0.6, 2.2 * rows + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    for index, axis in enumerate(axes.flat):
        axis.set_visible(index < summary.action_size)
        if index < summary.action_size:
            axis.stairs(summary.counts[index], summary.edges[index], fill=True, color="#3b6ea5")
            axis.set_title(f"action {index}", fontsize=9, loc="left")
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=8)
            axis.locator_params(axis="x", nbins=5)
    figure.suptitle(f"{summary.dataset}: {summary.pairs} pairs of {summary.episodes} episodes", fontsize=10)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format=path.suffix[1:])
    write_whole(path, picture.getvalue())
