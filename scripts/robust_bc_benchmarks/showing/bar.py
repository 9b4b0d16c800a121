"""The bar: in how many places a method keeps its oracle's return, and in how many it is behind plain cloning."""

from __future__ import annotations

from collections.abc import Sequence

import pandas

from robust_bc.report import Cell, Column, Table
from robust_bc_benchmarks.core.contenders import PLAIN
from robust_bc_benchmarks.core.summaries import FEWEST_SEEDS, SHARE, differences, summarise
from robust_bc_benchmarks.showing.grids import NOTHING, percent

MEAN, WORST = 0.95, 0.7
"""Of the oracle's return: what the mean over seeds must keep, and what the worst seed must."""
TITLE = "Who reaches the bar"
NOTE = (
    f"A place is a task, a kind and a rate. Counted are places in which the mean over seeds keeps {percent(MEAN)} of"
    f" the return of the method's own oracle, in which every seed keeps {percent(WORST)} of what its oracle has with"
    f" the same seed, and in which the return is below that of {PLAIN} beyond the 95 % interval of the paired"
    f" difference, which takes {FEWEST_SEEDS} seeds. Random actions count as 0. What failed keeps nothing."
)


def bar_table(table: pandas.DataFrame, kinds: Sequence[str], methods: Sequence[str] = ()) -> Table:
    """A line for each method, out of the long table of a run."""
    summary = summarise(table, kinds, methods=methods)
    summary = summary[summary.rate > 0]
    shares, places = summary[summary.metric == SHARE], len(summary[["task", "kind", "rate"]].drop_duplicates())
    compared = differences(table[table.metric == "return"], kinds, PLAIN, methods)
    dirty = compared[compared.rate > 0]
    clean = compared[compared.rate == 0].drop_duplicates(["task", "method"])  # the same for all kinds
    enough = table.seed.nunique() >= FEWEST_SEEDS

    def behind(found: pandas.DataFrame, method: str) -> Cell:
        mine = found[found.method == method]
        return _count(mine.verdict == "worse", len(mine)) if enough else Cell(NOTHING)

    lines = []
    for method in methods or list(dict.fromkeys(shares.method)):
        mine = shares[shares.method == method]
        every = (mine.worst >= WORST) & (mine.seeds == shares.seeds.max())
        kept = [_count(mine["mean"] >= MEAN, places), _count(every, places)]
        lines.append([Cell(method, method), *kept, behind(dirty, method), behind(clean, method)])
    kept_heads = (f"mean ≥ {percent(MEAN)}", f"worst seed ≥ {percent(WORST)}")
    heads = (*kept_heads, f"behind {PLAIN}", f"behind {PLAIN} without bad pairs")
    return Table(TITLE, [Column("method"), *(Column(head, "number") for head in heads)], lines, NOTE)


def _count(flags: pandas.Series, places: int) -> Cell:
    return Cell(f"{int(flags.sum())} of {places}", float(flags.sum())) if places else Cell(NOTHING)
