"""Figures of docs/ out of tables: lines against the rate, or dots."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from robust_bc.report import lines_png
from robust_bc.system.files import write_whole
from robust_bc_benchmarks.core.contenders import is_reference, shown_name
from robust_bc_benchmarks.core.summaries import SHARE
from robust_bc_benchmarks.showing.grids import Grid, percent

MOST_LINES = 8
"""More methods than these are drawn as dots, a line for each, because nobody can tell their curves apart."""
OURS = "choicenet"
COLUMNS = 4


def draw(found: Sequence[Grid], metrics: Sequence[str], path: Path) -> None:
    """Lines against the rate where there are several rates and few methods, else dots."""
    if max(len(grid.methods) for grid in found) <= MOST_LINES and max(len(grid.rates) for grid in found) > 1:
        lines_png(path, [grid.as_chart(_title(grid, metrics)) for grid in found])
    else:
        save(dots(found, metrics), path)


def save(figure: Figure, path: Path) -> None:
    """As PNG, whole or not at all."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130, metadata={"Software": None})
    write_whole(path, image.getvalue())


def dots(found: Sequence[Grid], metrics: Sequence[str]) -> Figure:
    """A panel for each table and rate, methods in their order; ours is blue, oracle and expert are black."""
    panels = [(grid, rate) for grid in found for rate in grid.rates]
    names = list(dict.fromkeys(name for grid in found for name in grid.methods))
    rates = len(found[0].rates)  # a row for each table, unless it is a single panel
    columns = rates if len(found) > 1 and rates > 1 else min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    size = (2.6 + 1.9 * columns, rows * (0.21 * len(names) + 0.9) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).flatten()
    for axis, (grid, rate) in zip(axes, panels, strict=False):
        _dots_of(axis, grid, rate, names)
        axis.set_title(f"{_title(grid, metrics)} {percent(rate)}", fontsize=8)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    return figure


def _dots_of(axis: Axes, grid: Grid, rate: float, names: list[str]) -> None:
    factor = 100 if grid.shown.percent else 1
    for row in grid.rows[grid.rows.rate == rate].itertuples():
        colour = "#0072B2" if row.method == OURS else "#000000" if is_reference(row.method) else "#777777"
        place = names.index(row.method)
        axis.plot([factor * row.low, factor * row.high], [place, place], color=colour, lw=1.6)
        axis.plot(factor * row.mean, place, marker="o", ms=4, color=colour)
    axis.set_yticks(range(len(names)), [shown_name(name) for name in names], fontsize=8)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.set_xlabel("%" if grid.shown.percent or grid.shown.metric == SHARE else grid.shown.title, fontsize=8)
    axis.tick_params(axis="x", labelsize=7.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(color="#EEEEEE")
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)


def _title(grid: Grid, metrics: Sequence[str]) -> str:
    return f"{grid.task}, {grid.kind}" + (f": {grid.shown.title}" if len(metrics) > 1 else "")
