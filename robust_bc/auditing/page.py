"""An audit as one page: what was found, the sources, the episodes from the worst on, and their worst moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robust_bc.auditing.moments import worst_moments
from robust_bc.auditing.pooling import Floats
from robust_bc.auditing.results import SUSPECT_BELOW, Audit, EpisodeQuality
from robust_bc.auditing.tables import episode_table, moment_table, pair_table, source_table
from robust_bc.auditing.truth import Truth
from robust_bc.auditing.wording import headline, truth_sentences
from robust_bc.report import Block, Command, Group, Lines, Page, Series, Text

ROWS = 50
"""Episodes, or single pairs, in a table."""
DOTS = 200
"""Episodes in the chart; beyond, they could not be told apart."""
CURVES = 6
"""Episodes whose score is drawn along their steps."""
MOMENTS = 12
POINTS = 200
"""Of a curve; a longer episode is drawn in means of a few steps."""
BINS = 20
MOST_COLOURS = 5
"""So many sources have a colour each; more would not be told apart."""


def audit_page(audit: Audit, facts: Mapping[str, str], truth: Truth | None = None, more: Sequence[Block] = ()) -> Page:
    """The page; `more` is what the caller adds, such as replays."""
    blocks: list[Block] = []
    if truth is not None:
        blocks.append(Text("How well the audit did", truth_sentences(audit, truth)))
    if audit.sources is not None:
        blocks.append(source_table(audit))
    blocks += _of_pairs(audit) if audit.single_pairs else _of_episodes(audit)
    blocks += more
    if "command" in facts:
        blocks.append(Command(facts["command"]))
    what = f"{len(audit)} pairs" if audit.dataset is None else audit.dataset
    return Page(f"Audit of {what}", headline(audit), facts, blocks)


def _of_pairs(audit: Audit) -> list[Block]:
    """Single pairs have no course in time."""
    return [histogram(audit.quality), pair_table(audit, ROWS)]


def _of_episodes(audit: Audit) -> list[Block]:
    moments = worst_moments(audit, MOMENTS)
    worst = audit.episode_table(CURVES)
    curves = Group(
        "Along the worst episodes",
        [
            Text("", [_along(audit, worst)]),
            *(course(audit, row) for row in worst),
        ],
    )
    return [ranking(audit), episode_table(audit, ROWS), moment_table(moments, audit.sources is not None), curves]


def _along(audit: Audit, worst: Sequence[EpisodeQuality]) -> str:
    episodes = len(audit.grouping.names)
    which = "All episodes" if len(worst) == episodes else f"The {len(worst)} worst of {episodes} episodes"
    return (
        f"{which}, from the worst on: the quality of their pairs step by step, and what speaks against them (dashed)."
    )


def ranking(audit: Audit) -> Lines:
    """A dot with its interval for each episode, from the worst to the best."""
    rows = audit.episode_table(DOTS)
    names = [_colour(audit, row) for row in rows]
    series = []
    # Colours go by the order of the names, whoever is the worst: blue is not suspect, orange is.
    for name in sorted(set(names)):
        mine = [
            (rank, row) for rank, (row, whose) in enumerate(zip(rows, names, strict=True), start=1) if whose == name
        ]
        series.append(_dots(name, mine))
    total = len(audit.grouping.names)
    note = "Each dot is an episode, its bar the 95 % interval of its quality. Below 0.5 it is rather bad than good."
    if total > len(rows):
        note += f" The {len(rows)} worst of {total} episodes are shown."
    return Lines("Episodes from the worst to the best", "rank", "quality", series, note)


def _colour(audit: Audit, row: EpisodeQuality) -> str:
    if row.source is not None and len(set(audit.sources or ())) <= MOST_COLOURS:
        return row.source
    return "suspect" if row.flagged else "not suspect"


def _dots(name: str, rows: Sequence[tuple[int, EpisodeQuality]]) -> Series:
    """Points that no line joins: between two of them there is a gap."""
    x: list[float] = []
    y: list[float | None] = []
    low: list[float | None] = []
    high: list[float | None] = []
    for rank, row in rows:
        x += [rank, rank + 0.5]
        y += [row.quality.value, None]
        low += [row.quality.low, None]
        high += [row.quality.high, None]
    return Series(name, x, y, low, high)


def course(audit: Audit, row: EpisodeQuality) -> Lines:
    """Quality, conflict and foreignness along the steps of one episode."""
    place = int(np.searchsorted(audit.grouping.names, row.episode))
    pairs = audit.grouping.pairs_of(place)
    every = -(-len(pairs) // POINTS)
    steps = _thinned(np.arange(len(pairs), dtype=np.float64), every).tolist()
    series = [
        Series("quality", steps, _thinned(audit.quality[pairs], every).tolist()),
        Series("conflict", steps, _thinned(audit.conflict[pairs], every).tolist(), dashed=True),
        Series("foreign", steps, _thinned(audit.foreign[pairs], every).tolist(), dashed=True),
    ]
    source = "" if row.source is None else f" of {row.source}"
    note = f"Quality {row.quality.value:.2f} on average, the lowest at step {row.worst_step}."
    if every > 1:
        note += f" Each point is the mean of {every} steps."
    return Lines(f"Episode {row.episode}{source}", "step", "score", series, note)


def _thinned(values: Floats, every: int) -> Floats:
    """Means of so many neighbours; the last may have fewer."""
    starts = np.arange(0, len(values), every)
    return np.asarray(np.add.reduceat(values, starts) / np.diff(np.append(starts, len(values))), np.float64)


def histogram(quality: Floats) -> Lines:
    """How many pairs have which quality, as an outline."""
    counts, edges = np.histogram(quality, BINS, (0.0, 1.0))
    suspect = edges[:-1] < SUSPECT_BELOW
    sides = (("not suspect", ~suspect), ("suspect", suspect))  # in the order of `ranking`, for the same colours
    series = []
    for name, mine in sides:
        lefts, rights, heights = edges[:-1][mine], edges[1:][mine], counts[mine].astype(float)
        x = np.stack([lefts, rights], 1).ravel()
        y = np.stack([heights, heights], 1).ravel()
        series.append(Series(name, [x[0], *x, x[-1]], [0.0, *y, 0.0]))
    note = f"Pairs in {BINS} steps of quality. Below {SUSPECT_BELOW} a pair is rather bad than good."
    return Lines("How the quality is spread", "quality", "pairs", series, note)
