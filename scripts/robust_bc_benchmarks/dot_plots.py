"""Dot plots with intervals: one panel per column of a table, one line per row of it, all panels with the same lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

# Okabe and Ito's palette, which the colour-blind can tell apart.
HERO, REFERENCE, BETTER, WORSE, NEUTRAL = "#0072B2", "#000000", "#009E73", "#D55E00", "#777777"
LOGARITHMIC_FROM = 10.0
"""A panel whose numbers differ by more than this factor gets a logarithmic axis."""
LINE_HEIGHT, PANEL_WIDTH, LABEL_WIDTH = 0.21, 1.75, 2.6


@dataclass(frozen=True)
class Dot:
    """A mean, the bounds of its interval, and a colour."""

    mean: float
    low: float
    high: float
    colour: str = NEUTRAL


@dataclass(frozen=True)
class Panel:
    """Dots by the name of their line, and at most one number to compare all with."""

    title: str
    label: str
    dots: Mapping[str, Dot]
    reference: float | None = None


def dot_figure(panels: Sequence[Panel], lines: Sequence[str], columns: int, note: str = "") -> Figure:
    """Panels in rows of `columns`; lines from above in the given order."""
    rows = -(-len(panels) // columns)
    size = (LABEL_WIDTH + PANEL_WIDTH * columns, rows * (LINE_HEIGHT * len(lines) + 0.9) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axis, panel in zip(axes.flat, panels, strict=False):
        draw_panel(axis, panel, lines)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    if note:
        figure.supxlabel(note, fontsize=8.5)
    return figure


def _spans_decades(panel: Panel) -> bool:
    """Whether a logarithmic axis is needed to tell small numbers apart."""
    smallest, largest = min(dot.low for dot in panel.dots.values()), max(dot.high for dot in panel.dots.values())
    return smallest > 0 and largest > LOGARITHMIC_FROM * smallest


def draw_panel(axis: Axes, panel: Panel, lines: Sequence[str]) -> None:
    """One panel, for figures that hold other things as well."""
    places = {name: place for place, name in enumerate(lines)}
    if panel.reference is not None:
        axis.axvline(panel.reference, color=HERO, lw=1, ls="--", zorder=1)
    for name, dot in panel.dots.items():
        axis.plot([dot.low, dot.high], [places[name]] * 2, color=dot.colour, lw=1.6, solid_capstyle="butt")
        axis.plot(dot.mean, places[name], marker="o", ms=4, color=dot.colour)
    axis.set_yticks(list(places.values()), list(places), fontsize=8)
    axis.set_ylim(len(lines) - 0.4, -0.6)  # the first line is at the top
    if _spans_decades(panel):
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(numticks=5))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    else:
        axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.label, fontsize=8)
    axis.tick_params(axis="x", labelsize=7.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="both", color="#EEEEEE")
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
