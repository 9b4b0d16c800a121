"""The lines of a page as PNG, for pages that cannot hold a script or a stylesheet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robust_bc.report.blocks import Lines
from robust_bc.report.charts import MARKED, SOME
from robust_bc.report.frames import Frame
from robust_bc.report.palette import COLOURS, SHAPES, Style, styles_of
from robust_bc.report.ticks import tick_label
from robust_bc.system.extras import extras_named
from robust_bc.system.files import write_whole
from robust_bc.system.plain_text import visible

if TYPE_CHECKING:  # Matplotlib takes a moment to import, which a page does not need.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
"""Panels side by side; more begin a new row."""
DOTS_PER_INCH = 150


def lines_png(path: Path, groups: Sequence[Lines]) -> Path:
    """Draw the lines as panels side by side, and write them as one PNG, whole or not at all."""
    image = io.BytesIO()
    figure(groups).savefig(image, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    write_whole(path, image.getvalue())
    return path


def figure(groups: Sequence[Lines]) -> Figure:
    """One panel each, and one legend for all: a name has the same colour in every panel."""
    with extras_named():
        from matplotlib.figure import Figure

    styles = styles_of(series.name for lines in groups for series in lines.series)
    columns = min(len(groups), COLUMNS) or 1
    rows = -(-len(groups) // columns) or 1
    drawn = Figure(figsize=(4.3 * columns, 3.3 * rows + 0.4), layout="constrained")
    panels = drawn.subplots(rows, columns, squeeze=False).flatten()
    handles = {}
    for panel, lines in zip(panels, groups, strict=False):
        _draw(panel, lines, styles)
        handles.update(dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True)))
    for panel in panels[len(groups) :]:
        panel.axis("off")
    if handles:
        drawn.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=min(8, 3 * columns), frameon=False
        )
    return drawn


def _draw(panel: Axes, lines: Lines, styles: dict[str, Style]) -> None:
    panel.set_title(_plain(lines.title), fontsize="medium", fontweight="bold", loc="left")
    panel.set(xlabel=_plain(lines.x_label), ylabel=_plain(lines.y_label))
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(left=False)
    points = [series.points for series in lines.series]
    everything = [p for each in points for p in each]
    if not any(p.x is not None and p.y is not None for p in everything):
        panel.set(xticks=[], yticks=[])
        panel.text(0.5, 0.5, "no data", ha="center", va="center", transform=panel.transAxes, color=COLOURS[-1])
        return
    for series, each in zip(lines.series, points, strict=True):
        style = styles[series.name]
        colour = COLOURS[style.slot]
        nan = float("nan")
        x = [nan if p.x is None else p.x for p in each]
        low, high = (
            [nan if v is None else v for v in side] for side in ([p.low for p in each], [p.high for p in each])
        )
        panel.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        panel.plot(
            x,
            [nan if p.y is None else p.y for p in each],
            linestyle=":" if style.dotted else "--" if series.dashed else "-",
            marker=SHAPES[style.slot],
            markevery=1 if len(each) <= MARKED else -(-len(each) // SOME),
            markersize=5,
            markeredgecolor="white",
            color=colour,
            label=_plain(series.name),
        )
    frame = Frame.around(everything)
    panel.set_ylim(frame.y_range)
    panel.set_xticks(frame.x_ticks, [tick_label(value, frame.x_step, lines.percent_x) for value in frame.x_ticks])
    panel.set_yticks(frame.y_ticks, [tick_label(value, frame.y_step) for value in frame.y_ticks])
    panel.grid(axis="y", color="#E6E8EB")
    panel.set_axisbelow(True)


def _plain(text: str) -> str:
    """Nothing hidden, and a dollar that begins no mathematics."""
    return visible(text).replace("$", r"\$")
