"""The figure of the audit benchmark: estimated against true rates, and how well each detector finds what is corrupt."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robust_bc.benchmark.audit_cells import EPISODE_AUROC, ESTIMATED, PAIR_AUROC, TRUE
from robust_bc.benchmark.audit_headlines import WANTED, WANTED_RATE
from robust_bc.benchmark.audit_rows import POINTS, AuditResults
from robust_bc.benchmark.control_rows import ControlRow
from robust_bc.benchmark.control_tables import percent
from robust_bc.benchmark.dot_plots import LINE_HEIGHT, Dot, Panel, draw_panel
from robust_bc.report.palette import COLOURS, INK, SHAPES, Style, styles_of

RATE_PANEL, WIDTH = 3.4, 4.2
"""Inches: the height of a panel of rates, and the width of all."""
CHANCE = 0.5
"""AUROC of a detector that sees nothing."""


def audit_figure(results: AuditResults, rows: Sequence[ControlRow]) -> Figure:
    """A column for each task: rates above; below, AUROC of pairs and of episodes at the rate that is looked at."""
    plan = results.plan
    rate = shown_rate(results)
    dots = [] if rate is None else [metric for metric in (PAIR_AUROC, EPISODE_AUROC) if _any(rows, metric, rate)]
    lines = [f"{how}, {detector}" for how in plan.hows for detector in plan.detectors]
    heights = [RATE_PANEL, *(LINE_HEIGHT * len(lines) + 0.9 for _ in dots)]
    figure = Figure(figsize=(WIDTH * len(plan.tasks) + 1.2, sum(heights) + 0.4), layout="constrained")
    axes = figure.subplots(
        len(heights), len(plan.tasks), squeeze=False, gridspec_kw={"height_ratios": heights}, sharey="row"
    )
    for column, task in enumerate(plan.tasks):
        _draw_rates(axes[0, column], results, task)
        for place, metric in enumerate(dots, start=1):
            assert rate is not None
            panel = _panel(rows, task, metric, rate, plan.detectors)
            if panel.dots:
                draw_panel(axes[place, column], panel, lines)
                lowest = min(CHANCE, *(dot.low for dot in panel.dots.values()))
                axes[place, column].set_xlim(lowest - 0.02, 1.02)  # the same for all, unless one is worse than chance
            else:
                axes[place, column].set_visible(False)
    return figure


def shown_rate(results: AuditResults) -> float | None:
    """The rate at which AUROC is drawn: the highest with corrupt pairs up to 30 %, or the lowest above."""
    rates = [rate for rate in results.plan.rates if rate > 0]
    return max((rate for rate in rates if rate <= WANTED_RATE), default=min(rates, default=None))


def how_styles(results: AuditResults) -> dict[str, Style]:
    """A colour for each way to corrupt, the same in the figure and on the page; clean data come first."""
    return styles_of(dict.fromkeys(how for _, how, _ in results.plan.places()))


def _any(rows: Sequence[ControlRow], metric: str, rate: float) -> bool:
    return any((row.metric, row.rate) == (metric, rate) for row in rows)


def _draw_rates(axis: Axes, results: AuditResults, task: str) -> None:
    """Every mix a point: all detectors that estimate a rate, by way to corrupt."""
    axis.axline((0, 0), slope=1, color=COLOURS[INK], lw=1, zorder=1)
    reach = 100 * max(results.plan.rates) + 10
    axis.fill_between(
        [0, reach],
        [-100 * POINTS, reach - 100 * POINTS],
        [100 * POINTS, reach + 100 * POINTS],
        color="#EEEEEE",
        zorder=0,
    )
    styles = how_styles(results)
    drawn = set()
    for _, how, rate in (place for place in results.plan.places() if place[0] == task):
        cells = [
            cell
            for detector in results.plan.detectors
            for cell in results.sound((task, how, rate), detector)
            if cell.error is not None
        ]
        true, estimated = ([100 * (cell.numbers[name] or 0.0) for cell in cells] for name in (TRUE, ESTIMATED))
        if not cells:
            continue
        style = styles[how]
        axis.scatter(
            *(true, estimated),
            s=18,
            color=COLOURS[style.slot],
            marker=SHAPES[style.slot],
            alpha=0.7,
            linewidths=0,
            label=None if how in drawn else how,
        )
        drawn.add(how)
    axis.set_title(task, fontsize=10)
    axis.set_xlabel("true rate, %", fontsize=8)
    axis.set_ylabel("estimated rate, %", fontsize=8)
    axis.set_xlim(-2, reach)
    if drawn:
        axis.legend(frameon=False, fontsize=7.5, loc="upper left")
    axis.tick_params(labelsize=7.5)
    axis.grid(color="#EEEEEE")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _panel(rows: Sequence[ControlRow], task: str, metric: str, rate: float, detectors: Sequence[str]) -> Panel:
    styles = styles_of(detectors)
    what, wanted = WANTED[metric]
    dots = {
        f"{row.how}, {row.method}": Dot(
            row.mean,
            row.mean if row.low is None else row.low,
            row.mean if row.high is None else row.high,
            COLOURS[styles[row.method].slot],
        )
        for row in rows
        if (row.task, row.metric, row.rate) == (task, metric, rate)
    }
    return Panel(f"AUROC of {what} at {percent(rate)}", f"dashed: {wanted:g}", dots, wanted)
