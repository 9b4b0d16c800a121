"""What is in a dataset: episodes, returns by source, and how its actions are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.minari_source import open_minari, read_labels, read_minari

BINS = 24


@dataclass(frozen=True)
class SourceSummary:
    """The episodes of one demonstrator."""

    source: str
    episodes: int
    pairs: int
    return_mean: float
    return_std: float
    length_mean: float


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
    pairs = read_minari(dataset)
    about = dict(dataset.storage.metadata)
    try:
        corrupt = int(read_labels(dataset).sum())
    except RobustBCError:
        corrupt = None
    returns = np.array([float(np.sum(episode.rewards)) for episode in dataset.iterate_episodes()])
    lengths = np.bincount(pairs.episodes)
    sources = np.array(
        [str(told.get("source", "unknown")) for told in dataset.storage.get_episode_metadata(dataset.episode_indices)]
    )
    edges, counts = histograms(pairs.actions, dataset.action_space.low, dataset.action_space.high)
    spec = dataset.env_spec
    return DatasetSummary(
        dataset=name,
        environment=None if spec is None else spec.id,
        description=str(about.get("description", "")),
        made_by=str(about.get("algorithm_name", "")),
        episodes=len(returns),
        pairs=len(pairs),
        observation_size=pairs.observation_size,
        action_size=pairs.action_size,
        corrupt_known=corrupt,
        sources=[
            _of_source(source, returns[sources == source], lengths[sources == source]) for source in np.unique(sources)
        ],
        edges=edges,
        counts=counts,
    )


def histograms(
    actions: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Edges (A, BINS + 1) and counts (A, BINS) over the action space, or over the data where that has no bounds."""
    edges = np.zeros((actions.shape[1], BINS + 1))
    counts = np.zeros((actions.shape[1], BINS), np.int64)
    for column, values in enumerate(actions.T.astype(np.float64)):
        bounded = np.isfinite(low[column]) and np.isfinite(high[column])
        first, last = (float(low[column]), float(high[column])) if bounded else (values.min(), values.max())
        counts[column], edges[column] = np.histogram(np.clip(values, first, last), BINS, (first, last))
    return edges, counts


def _of_source(source: str, returns: NDArray[np.float64], lengths: NDArray[np.int64]) -> SourceSummary:
    return SourceSummary(
        source=str(source),
        episodes=len(returns),
        pairs=int(lengths.sum()),
        return_mean=float(returns.mean()),
        return_std=float(returns.std()),
        length_mean=float(lengths.mean()),
    )


def draw_summary(summary: DatasetSummary, path: Any) -> None:
    """The action histograms as a picture."""
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
    figure.suptitle(f"{summary.dataset}: {summary.pairs} pairs of {summary.episodes} episodes", fontsize=10)
    figure.savefig(path, dpi=120)
