"""The housing benchmark's table and figure, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from robust_bc_benchmarks.contenders import ORACLE
from robust_bc_benchmarks.dot_plots import HERO, NEUTRAL, REFERENCE, Dot, Panel, dot_figure
from robust_bc_benchmarks.rows import Row

# Choi et al., CVPR 2020, Table "The RMSEs of compared methods on the Boston Housing Dataset".
PAPER_RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
PAPER = {
    "ChoiceNet": (3.29, 3.99, 4.77, 5.94, 6.80),
    "L2": (3.22, 5.97, 7.51, 9.04, 9.88),
    "L1": (3.26, 5.72, 7.16, 8.65, 9.69),
    "RL": (4.28, 6.36, 8.08, 10.54, 10.94),
    "LeakyRL": (3.36, 5.71, 7.08, 8.67, 9.68),
    "MDN": (3.46, 6.5, 8.62, 8.97, 10.44),
}
HERO_METHOD = "choicenet"


def paper_error(name: str, rate: float) -> float | None:
    """The paper's number at this rate, if it has one."""
    return dict(zip(PAPER_RATES, PAPER[name], strict=True)).get(rate)


def housing_cells(rows: Sequence[Row], interval: bool) -> list[list[str]]:
    """Lines of cells: methods down, rates across, then the paper's methods; the first line is the head."""
    rates = list(dict.fromkeys(row.rate for row in rows))
    found = {(row.method, row.rate): row for row in rows}
    lines = [["RMSE in 1000 $", *(f"{rate:.0%}" for rate in rates)]]
    for method in dict.fromkeys(row.method for row in rows):
        mine = [found[method, rate] for rate in rates]
        shown = [
            f"{row.mean:.2f} [{row.low:.2f}, {row.high:.2f}] {row.worst:.2f}"
            if interval
            else f"{row.mean:.2f} ({row.worst:.2f})"
            for row in mine
        ]
        lines.append([method, *shown])
    for name in PAPER:
        numbers = [paper_error(name, rate) for rate in rates]
        if any(number is not None for number in numbers):
            lines.append([f"paper: {name}", *("–" if number is None else f"{number:.2f}" for number in numbers)])
    return lines


def housing_markdown(rows: Sequence[Row]) -> str:
    """`mean [low, high] worst` in each cell."""
    head, *lines = housing_cells(rows, interval=True)
    text = [
        f"**{rows[0].task}**, {rows[0].how} corruption, RMSE on the clean test split in 1000 $:"
        f" mean [95 % interval] worst of {rows[0].n} seeds\n",
        "| method | " + " | ".join(head[1:]) + " |",
        "| --- |" + " --- |" * (len(head) - 1),
    ]
    text += ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join(text) + "\n"


def housing_figure(rows: Sequence[Row]) -> Figure:
    """A panel for each rate; who is best at the largest rate stands at the top."""
    rates = list(dict.fromkeys(row.rate for row in rows))
    last = {row.method: row.mean for row in rows if row.rate == rates[-1]}
    methods = sorted(last, key=lambda method: last[method])
    colours = {HERO_METHOD: HERO, ORACLE: REFERENCE}
    panels = [
        Panel(
            title=f"{rate:.0%} wrong prices",
            label="RMSE, 1000 $",
            dots={
                row.method: Dot(row.mean, row.low, row.high, colours.get(row.method, NEUTRAL))
                for row in rows
                if row.rate == rate
            },
            reference=paper_error("ChoiceNet", rate),
        )
        for rate in rates
    ]
    return dot_figure(panels, methods, columns=len(panels), note="dashed: ChoiceNet in the paper")
