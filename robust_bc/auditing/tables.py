"""The tables of an audit, for the page and the console: sources, episodes, moments, and single pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robust_bc.auditing.moments import EACH, STEPS, Moment, reason
from robust_bc.auditing.results import SUSPECT_BELOW, Audit, EpisodeQuality, Estimate
from robust_bc.report import Cell, Column, Table

SUSPECT = "suspect"
REASONS = (
    "Conflict: how much the actions differ from what the others do in such states. Foreign: how likely the states"
    " belong to another source than most pairs."
)


def source_table(audit: Audit) -> Table:
    """A row for each source, worst first."""
    columns = [Column("source"), Column("quality", "number", "high"), *_reasons()]
    columns += [Column(name, "number") for name in ("episodes", "suspect episodes", "pairs", "suspect pairs")]
    if audit.single_pairs:  # an episode is a pair
        columns = [column for column in columns if "episodes" not in column.name]
    rows = []
    for row in audit.source_table():
        cells = [Cell(row.source, row.source), estimate_cell(row.quality), score(row.conflict), score(row.foreign)]
        episodes = [] if audit.single_pairs else [count(row.episodes), count(row.flagged_episodes)]
        rows.append([*cells, *episodes, count(row.pairs), count(row.suspect_pairs)])
    return Table("Sources", columns, rows, f"Quality with its 95 % interval, by drawing whole episodes. {REASONS}")


def episode_table(audit: Audit, most: int) -> Table:
    """A row for each of the worst episodes."""
    rows = audit.episode_table(most)
    columns = [Column("episode"), *_source_column(audit), Column("quality", "number", "high"), *_reasons()]
    columns += [Column("pairs", "number"), Column("worst step", "number"), Column("verdict")]
    note = f"Quality: the mean over the episode's pairs, with its 95 % interval. {REASONS} {_rest(audit, rows)}"
    return Table("Episodes, worst first", columns, [_episode(audit, row) for row in rows], note.strip())


def _episode(audit: Audit, row: EpisodeQuality) -> list[Cell]:
    source = [] if row.source is None else [Cell(row.source, row.source)]
    verdict = SUSPECT if row.flagged else ""
    return [
        Cell(str(row.episode), float(row.episode)),
        *source,
        estimate_cell(row.quality),
        score(row.conflict),
        score(row.foreign),
        count(row.pairs),
        count(row.worst_step),
        Cell(verdict, verdict),
    ]


def _rest(audit: Audit, shown: Sequence[EpisodeQuality]) -> str:
    more = len(audit.grouping.names) - len(shown)
    if more == 0:
        return ""
    flagged = int((audit.episode_quality[0] < SUSPECT_BELOW).sum()) - sum(row.flagged for row in shown)
    suspect = f", {flagged} of them suspect" if flagged else ", none of them suspect"
    return f"{more} more episodes are better than these{suspect}; all are in `audit.json`."


def moment_table(moments: Sequence[Moment], with_source: bool) -> Table:
    """A row for each moment, worst first."""
    columns = [Column("episode"), *([Column("source")] if with_source else []), Column("steps", "number")]
    columns += [Column("quality", "number", "high"), *_reasons(), Column("why")]
    rows = [
        [
            Cell(str(moment.episode), float(moment.episode)),
            *([Cell(str(moment.source), str(moment.source))] if with_source else []),
            Cell(f"{moment.first}–{moment.last}", float(moment.first)),
            score(moment.quality),
            score(moment.conflict),
            score(moment.foreign),
            Cell(moment.why, moment.why),
        ]
        for moment in moments
    ]
    note = (
        f"The {STEPS} steps in a row, or all of a shorter episode, whose mean quality is the lowest; at most {EACH}"
        " moments of an episode."
    )
    return Table("Worst moments", columns, rows, note)


def pair_table(audit: Audit, most: int) -> Table:
    """A row for each of the worst pairs, of a dataset of single pairs."""
    columns = [Column("pair"), *_source_column(audit), Column("quality", "number", "high"), *_reasons(), Column("why")]
    means, lows, highs = audit.episode_quality
    rows = []
    for place in np.argsort(means, kind="stable")[:most].tolist():
        (pair,) = audit.grouping.pairs_of(place).tolist()
        conflict, foreign = float(audit.conflict[pair]), float(audit.foreign[pair])
        quality = Estimate(float(means[place]), float(lows[place]), float(highs[place]))
        source = [] if audit.sources is None else [Cell(audit.sources[place], audit.sources[place])]
        why = reason(quality.value, conflict, foreign)
        rows.append(
            [
                Cell(str(pair), float(pair)),
                *source,
                estimate_cell(quality),
                score(conflict),
                score(foreign),
                Cell(why, why),
            ]
        )
    more = len(audit) - len(rows)
    rest = f" {more} more pairs are better than these; all are in `pairs.safetensors`." if more else ""
    note = f"The interval is that of the networks that judged the pair. {REASONS}{rest}"
    return Table("Pairs, worst first", columns, rows, note)


def _source_column(audit: Audit) -> list[Column]:
    return [] if audit.sources is None else [Column("source")]


def _reasons() -> list[Column]:
    return [Column("conflict", "number", "low"), Column("foreign", "number", "low")]


def estimate_cell(estimate: Estimate) -> Cell:
    """A score with its interval below."""
    return Cell(f"{estimate.value:.2f}", estimate.value, f"[{estimate.low:.2f}, {estimate.high:.2f}]")


def score(value: float) -> Cell:
    """A score between 0 and 1."""
    return Cell(f"{value:.2f}", value)


def count(number: int) -> Cell:
    """A whole number."""
    return Cell(str(number), float(number))
