"""Tables and figures of an ablation: every cell, and each variant in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from robust_bc_benchmarks import dot_plots as dots
from robust_bc_benchmarks.ablation.running import BETTER, DIFFERENCE, ERROR, WORSE, Column, verdict
from robust_bc_benchmarks.ablation.variants import DEFAULT
from robust_bc_benchmarks.dot_plots import Dot, Panel, dot_figure
from robust_bc_benchmarks.rows import Row

Found = dict[tuple[str, Column], tuple[Row, Row]]  # (variant, column) -> error, difference


@dataclass(frozen=True)
class Standing:
    """A variant over all columns: the geometric mean of its errors' ratios to the defaults', and its verdicts."""

    label: str
    ratio: float
    better: int
    worse: int


def by_place(rows: Sequence[Row]) -> Found:
    """The two rows of each cell."""
    both = {(row.method, Column(row.task, row.how, row.rate), row.metric): row for row in rows}
    return {
        (label, column): (row, both[label, column, DIFFERENCE])
        for (label, column, metric), row in both.items()
        if metric == ERROR
    }


def standings(rows: Sequence[Row]) -> list[Standing]:
    """One for each variant, in the order of the rows."""
    found = by_place(rows)
    labels, columns = _lines(found)
    defaults = {column: found[DEFAULT, column][0].mean for column in columns}
    standing = []
    for label in labels:
        mine = {column: found[label, column] for column in columns}
        ratios = [error.mean / defaults[column] for column, (error, _) in mine.items()]
        verdicts = [verdict(difference) for _, difference in mine.values()]
        ratio = float(np.exp(np.mean(np.log(ratios))))
        standing.append(Standing(label, ratio, verdicts.count(BETTER), verdicts.count(WORSE)))
    return standing


def ablation_markdown(rows: Sequence[Row]) -> str:
    """Variants down, columns across: `mean [low, high] worst`, then `better` or `worse` than the defaults."""
    found = by_place(rows)
    labels, columns = _lines(found)
    lines = ["| variant | " + " | ".join(column.name for column in columns) + " |", "| --- |" + " --- |" * len(columns)]
    lines += [
        f"| {label} | " + " | ".join(_cell(*found[label, column]) for column in columns) + " |" for label in labels
    ]
    return "\n".join(lines) + "\n"


def standings_markdown(suites: dict[str, list[Standing]]) -> str:
    """Variants down; for each suite the ratio and the numbers of better and worse columns."""
    first = next(iter(suites.values()))
    head = [f"{name}: error / default's | better | worse" for name in suites]
    lines = ["| variant | " + " | ".join(head) + " |", "| --- |" + " --- | --- | --- |" * len(suites)]
    for place, standing in enumerate(first):
        cells = [suite[place] for suite in suites.values()]
        shown = [f"{cell.ratio:.2f} | {cell.better} | {cell.worse}" for cell in cells]
        lines.append(f"| {standing.label} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def ablation_figure(rows: Sequence[Row]) -> Figure:
    """A panel for each column; the dashed line is the defaults' mean."""
    found = by_place(rows)
    labels, columns = _lines(found)
    colours = {BETTER: dots.BETTER, WORSE: dots.WORSE}

    def dot(label: str, column: Column) -> Dot:
        error, difference = found[label, column]
        colour = dots.HERO if label == DEFAULT else colours.get(verdict(difference), dots.NEUTRAL)
        return Dot(error.mean, error.low, error.high, colour)

    panels = [
        Panel(
            title=column.name,
            label="RMSE",
            dots={label: dot(label, column) for label in labels},
            reference=found[DEFAULT, column][0].mean,
        )
        for column in columns
    ]
    note = (
        "dashed: the defaults' mean; orange: worse than the defaults beyond the interval of the paired difference;"
        " green: better; grey: neither"
    )
    return dot_figure(panels, labels, columns=len(panels), note=note)


def _lines(found: Found) -> tuple[list[str], list[Column]]:
    """Variants and columns, in the order of the rows."""
    return list(dict.fromkeys(label for label, _ in found)), list(dict.fromkeys(column for _, column in found))


def _cell(error: Row, difference: Row) -> str:
    return f"{error.mean:.3f} [{error.low:.3f}, {error.high:.3f}] {error.worst:.3f} {verdict(difference)}".rstrip()
