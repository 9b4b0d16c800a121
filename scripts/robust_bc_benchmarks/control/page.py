"""The page of a control benchmark: tables, returns against rates, learning curves, ρ over the data, replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robust_bc.report import Block, Command, Group, Lines, Page, Scatter, Series, Text
from robust_bc_benchmarks.contenders import ORACLE
from robust_bc_benchmarks.control.cells import EXPERT, Cell
from robust_bc_benchmarks.control.rows import ControlRow, Results
from robust_bc_benchmarks.control.sentences import SHOWN_RATE
from robust_bc_benchmarks.control.tables import Grid, Shown, grids, percent

HOWS = {
    "rollout": "corrupt pairs are states and actions from the bad teacher's own episodes, as in the paper",
    "relabel": "a corrupt pair is a state of the good teacher with the action that the bad one would take there",
    "flip": "a corrupt pair is a state of the good teacher with its action mirrored",
    "uniform": "a corrupt pair is a state of the good teacher with a random action",
}


def make_page(
    title: str,
    command: str,
    results: Results,
    rows: Sequence[ControlRow],
    shown: Sequence[Shown],
    sentences: Sequence[str],
    facts: Mapping[str, str],
    extra: Mapping[str, Sequence[Block]] | None = None,
) -> Page:
    """`extra` has blocks that go to the end of a way's group, by way."""
    blocks: list[Block] = []
    for task in results.plan.tasks:
        for how in results.plan.hows:
            inner: list[Block] = [Text("", [f"In `{how}`, {HOWS[how]}."])] if how in HOWS else []
            inner += [grid.as_table() for grid in grids(rows, task, how, shown)]
            inner += [against_rate(grid) for grid in grids(rows, task, how, shown) if len(grid.rates) > 1]
            if (rate := shown_rate(results)) is not None:
                inner += _curves(results, task, how, rate) + _correlations(results, task, how, rate)
            inner += (extra or {}).get(how, [])
            blocks.append(Group(f"{task}, {how}", inner))
    if failures := results.failures():
        blocks.append(Text("What failed", failures))
    blocks += [
        Text("To make this again", ["Finished cells are kept, so this goes on where it stopped:"]),
        Command(command),
    ]
    return Page(title=title, lead=" ".join(sentences), facts=dict(facts), blocks=blocks)


def shown_rate(results: Results) -> float | None:
    """The rate at which single fits are looked at: the highest up to 30 %."""
    return max((rate for rate in results.plan.rates if rate <= SHOWN_RATE), default=None)


def against_rate(grid: Grid, title: str | None = None) -> Lines:
    """A metric over all rates, with the intervals as bands."""
    factor = 100 if grid.shown.percent else 1
    series = []
    for method in grid.methods:
        found = [grid.found.get((method, rate)) for rate in grid.rates]

        def part(name: str, found: Sequence[ControlRow | None] = found) -> list[float | None]:
            values = [None if row is None else getattr(row, name) for row in found]
            return [None if value is None else factor * value for value in values]

        series.append(
            Series(method, grid.rates, part("mean"), part("low"), part("high"), dashed=method in (ORACLE, EXPERT))
        )
    return Lines(
        title=title or f"{grid.shown.title} against the share of corrupt pairs",
        x_label="corrupt pairs",
        y_label=grid.shown.title + (" in %" if grid.shown.percent else ""),
        series=series,
        note="Bands are 95 % intervals over seeds.",
        percent_x=True,
    )


def _curves(results: Results, task: str, how: str, rate: float) -> list[Block]:
    """The total loss of each method, mean over seeds, with the lowest and the highest of them."""
    series = []
    for method in (*results.plan.methods, ORACLE):
        found = [cell.history for cell in results.sound(task, how, rate, method).values() if cell.history]
        histories = [history for history in found if history.steps == found[0].steps]  # others cannot be averaged
        if not histories:
            continue
        total = np.array([history.values[0] for history in histories], np.float64)  # (seeds, points), None is NaN
        middle, low, high = total.mean(0), total.min(0), total.max(0)
        series.append(
            Series(method, histories[0].steps, middle.tolist(), low.tolist(), high.tolist(), dashed=method == ORACLE)
        )
    if not series:
        return []
    return [
        Lines(
            title=f"Learning curves with {percent(rate)} corrupt pairs",
            x_label="optimiser steps",
            y_label="loss",
            series=series,
            note="Mean over seeds, and from the lowest to the highest. Each method has its own loss, so that only the"
            " shapes can be compared.",
        )
    ]


def _correlations(results: Results, task: str, how: str, rate: float) -> list[Block]:
    """What ρ says of the pairs that the first seed learnt from."""
    blocks: list[Block] = []
    for method in results.plan.methods:
        cell = results.cell(task, how, rate, method, results.plan.seeds[0])
        if cell is None or cell.correlation is None:
            continue
        blocks.append(_scatter(cell, method, rate))
    return blocks


def _scatter(cell: Cell, method: str, rate: float) -> Scatter:
    assert cell.correlation is not None
    series = []
    for label, name in (("0", "clean pairs"), ("1", "corrupt pairs")):
        mine = [index for index, mark in enumerate(cell.correlation.corrupt) if mark == label]
        x = [np.nan if away is None else away for away in (cell.correlation.distance[index] for index in mine)]
        y = [cell.correlation.rho[index] for index in mine]
        if mine:
            series.append(Series(name, x, y))
    return Scatter(
        title=f"ρ of {method} over its data with {percent(rate)} corrupt pairs",
        x_label="distance of the shown action from the policy's",
        y_label="ρ",
        series=series,
        note=f"The pairs of seed {cell.key.seed}. ρ is the correlation with the target of the mixture that a pair"
        " belongs to (the mean over mixtures, weighted by how probable each is for the pair); the distance is in units"
        " of the actions' deviation. Which pairs are corrupt was hidden from the method.",
    )
