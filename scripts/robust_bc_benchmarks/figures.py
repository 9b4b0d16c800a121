"""Figures of the synthetic benchmark: errors against rates, fits over the data, and correlations."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robust_bc.system.files import write_whole
from robust_bc_benchmarks.contenders import ORACLE
from robust_bc_benchmarks.rows import Row
from robust_bc_benchmarks.synthetic.correlation import FUNCTION, CorrelationCurve
from robust_bc_benchmarks.synthetic.functions import CORRUPT_REGION, get_function, grid, uniform_outliers
from robust_bc_benchmarks.synthetic.running import Fit, SyntheticResult

# Okabe and Ito's palette, which the colour-blind can tell apart; the methods keep their colours in every figure.
_COLOURS = {
    "choicenet": "#0072B2",
    "mlp": "#D55E00",
    "mdn": "#009E73",
    "gpr": "#56B4E9",
    "rgpr": "#CC79A7",
    "tukey": "#E69F00",
    ORACLE: "#000000",
}
_PALETTE = ("#882255", "#999933", "#332288", "#F0E442", "#117733", "#AA4499", "#666666", "#44AA99")
"""For methods without a colour of their own, as many as there can be lines (mostly Tol's muted colours)."""
_OTHERS = "#BBBBBB"
MOST_LINES = 8
"""Of more methods than this, those without a colour of their own are thin grey lines, and are not drawn as fits."""
_CLEAN, _CORRUPT = "#555555", "#D55E00"
SHOWN_RATE = 0.6
"""The paper draws its fits at this rate; the figure takes the closest one that was run."""


def synthetic_figure(result: SyntheticResult) -> Figure:
    """Above, RMSE against the share of outliers with intervals; below, the fits of the first seed over its data."""
    functions = list(dict.fromkeys(row.task for row in result.rows))
    rates = sorted({row.rate for row in result.rows})
    shown = min(rates, key=lambda rate: (abs(rate - SHOWN_RATE), rate))
    seed = result.fits[0].seed
    figure = Figure(figsize=(4.4 * len(functions), 7.2), layout="constrained")
    axes = figure.subplots(2, len(functions), squeeze=False)
    for column, name in enumerate(functions):
        _draw_errors(axes[0, column], [row for row in result.rows if row.task == name])
        fits = [fit for fit in result.fits if (fit.function, fit.rate, fit.seed) == (name, shown, seed)]
        _draw_fits(axes[1, column], name, shown, seed, fits)
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=8, frameon=False)
    return figure


def correlation_figure(curves: Sequence[CorrelationCurve]) -> Figure:
    """The data and the fit, and below it ρ of both mixtures, for each kind of corruption."""
    figure = Figure(figsize=(5.2 * len(curves), 6.4), layout="constrained")
    axes = figure.subplots(2, len(curves), squeeze=False, sharex=True)
    for column, curve in enumerate(curves):
        above, below = axes[:, column]
        above.scatter(*curve.pairs[~curve.corrupt].T, s=4, color=_CLEAN, label="clean pairs", linewidths=0)
        above.scatter(*curve.pairs[curve.corrupt].T, s=6, color=_CORRUPT, label="corrupt pairs", linewidths=0)
        above.plot(curve.inputs, curve.predictions[0], color=_COLOURS["choicenet"], label="ChoiceNet, K = 2")
        above.plot(curve.inputs, FUNCTION.formula(curve.inputs), "--", color="black", lw=1, label="target")
        above.set(title=f"{curve.how} corruption on 0 to 2", ylabel="y")
        below.axvspan(*CORRUPT_REGION, color=_CORRUPT, alpha=0.12, linewidth=0)
        below.axhline(1, color=_COLOURS["choicenet"], label="ρ₁ (target)")
        for seed, correlation in enumerate(curve.correlations):
            label = f"ρ₂ ({len(curve.correlations)} seeds)" if seed == 0 else None
            below.plot(curve.inputs, correlation, color=_CORRUPT, alpha=0.7, lw=1.2, label=label)
        below.set(xlabel="x", ylabel="correlation with the target", ylim=(-1.08, 1.08))
        for axis in (above, below):
            _tidy(axis)
    axes[0, 0].legend(frameon=False, fontsize="small")
    axes[1, 0].legend(frameon=False, fontsize="small", loc="center left")
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """As PNG, whole or not at all."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130, metadata={"Software": None})
    write_whole(path, image.getvalue())


def _colours_of(methods: Sequence[str]) -> dict[str, str]:
    """A colour for each method: its own, or the next of the palette that is free."""
    without = [method for method in dict.fromkeys(methods) if method not in _COLOURS]
    return {**_COLOURS, **{method: _PALETTE[place % len(_PALETTE)] for place, method in enumerate(without)}}


def _draw_errors(axis: Axes, rows: Sequence[Row]) -> None:
    methods = list(dict.fromkeys(row.method for row in rows))
    colours = _colours_of(methods)
    for method in methods:
        mine = [row for row in rows if row.method == method]
        rates = [100 * row.rate for row in mine]
        if len(methods) > MOST_LINES and method not in _COLOURS:
            axis.plot(rates, [row.mean for row in mine], color=_OTHERS, lw=0.8, zorder=1.5)
            continue
        colour = colours[method]
        axis.plot(rates, [row.mean for row in mine], marker="o", ms=4, color=colour, label=method)
        axis.fill_between(
            rates, [row.low for row in mine], [row.high for row in mine], color=colour, alpha=0.2, linewidth=0
        )
    axis.set(title=rows[0].task, xlabel="outliers, %", ylabel="RMSE", yscale="log")
    _tidy(axis)


def _draw_fits(axis: Axes, name: str, rate: float, seed: int, fits: Sequence[Fit]) -> None:
    function = get_function(name)
    data = uniform_outliers(function, rate, seed)
    inputs = grid()[:, 0]
    axis.scatter(data.observations, data.actions, s=3, color="#BBBBBB", linewidths=0, label="data")
    shown = [fit for fit in fits if len(fits) <= MOST_LINES or fit.method in _COLOURS]
    colours = _colours_of([fit.method for fit in fits])
    for fit in shown:
        style = "--" if fit.method == ORACLE else "-"
        axis.plot(inputs, fit.prediction, style, color=colours[fit.method], lw=1.6, label=fit.method)
    low, high = function.outliers
    reach = np.concatenate([function.formula(inputs), [low, high]])
    axis.set(title=f"{rate:.0%} outliers, seed {seed}", xlabel="x", ylabel="y")
    axis.set_ylim(reach.min() - 0.2, reach.max() + 0.2)
    _tidy(axis)


def _tidy(axis: Axes) -> None:
    axis.grid(color="#EEEEEE", zorder=0)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
