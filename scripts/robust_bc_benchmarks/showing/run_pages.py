"""The page of a run: for each task and kind its tables, its charts against the rate, and replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from robust_bc.report import Block, Cell, Column, Command, Group, Page, Table, Text
from robust_bc_benchmarks.core.summaries import differences
from robust_bc_benchmarks.showing.grids import Shown, grids, percent

if TYPE_CHECKING:
    import pandas

    from robust_bc_benchmarks.core.running import Results

KINDS = {
    "rollout": "bad pairs are states and actions from the bad teacher's own episodes, as in the paper",
    "relabel": "a bad pair is a state of the good teacher with the action that the bad one would take there",
    "flip": "a bad pair is a state of the good teacher with its action mirrored",
    "uniform": "a bad pair is a state of the good teacher with a random action",
    "medium": "bad pairs are from a teacher whose training was stopped half-way",
    "noisy": "bad pairs are from the good teacher with much noise on what it does",
    "delayed": "bad pairs are from the good teacher, who does what it wanted four steps ago",
    "stuck": "bad pairs are from the good teacher, one of whose actuators does not move",
    "misaligned": "a bad pair is a state of the good teacher with the action of the step before",
    "duplicated": "bad pairs are right and stand there three times",
    "graded": "there are demonstrators of rising noise, of whom the oracles have the three best, and no rate",
}
MOST_LINES = 8
"""Nobody can tell more curves apart."""


def make_page(
    title: str,
    command: str,
    results: Results,
    summary: pandas.DataFrame,
    shown: Sequence[Shown],
    paper: bool,
    facts: Mapping[str, str],
    extra: Callable[[Results, str], Sequence[Block]],
    first: Sequence[Block] = (),
) -> Page:
    """Everything about a run; `first` comes first, and `extra` gives more blocks for a kind of corruption."""
    plan = results.plan
    blocks = [*first]
    for task, kind in summary[["task", "kind"]].drop_duplicates().itertuples(index=False):
        found = list(grids(summary, shown, paper, task, kind))
        inner: list[Block] = [Text("", [f"In `{kind}`, {KINDS[kind]}."])] if kind in KINDS else []
        inner += [grid.as_table() for grid in found]
        inner += [grid.as_chart() for grid in found if len(grid.rates) > 1 and len(grid.methods) <= MOST_LINES]
        inner += extra(results, kind)
        blocks.append(Group(f"{task}, {kind}", inner))
    blocks += difference_tables(results.table(), plan.kinds, plan.methods, shown)
    if failures := results.failures():
        blocks.append(Text("What failed", failures))
    blocks += [
        Text("To make this again", ["Finished cells are kept, so this goes on where it stopped:"]),
        Command(command),
    ]
    lead = f"{len(plan.methods)} methods on {', '.join(plan.tasks)}, with up to {percent(max(plan.rates))} bad pairs."
    return Page(title, lead, dict(facts), blocks)


def difference_tables(
    table: pandas.DataFrame, kinds: Sequence[str], methods: Sequence[str], shown: Sequence[Shown]
) -> list[Block]:
    """Every method less the first one, seed by seed: one table for each metric."""
    first = methods[0]
    found = differences(table, kinds, first, methods)
    blocks: list[Block] = []
    for metric in shown:
        mine = found[found.metric == metric.metric]
        if mine.empty:
            continue
        rows = []
        for row in mine.itertuples():
            interval = f"{metric.number(row.low)} to {metric.number(row.high)}"
            words = (row.task, row.kind, percent(row.rate), row.method)
            number = Cell(metric.number(row.mean), row.mean, interval)
            rows.append([*(Cell(word, word) for word in words), number, Cell(row.verdict, row.verdict)])
        columns = [*map(Column, ("task", "kind", "rate", "method")), Column("difference", "number"), Column("verdict")]
        note = "Paired by seed, with the 95 % interval of the mean. With fewer than 5 seeds there is no verdict."
        blocks.append(Table(f"{metric.title}: less that of {first}", columns, rows, note))
    return blocks
