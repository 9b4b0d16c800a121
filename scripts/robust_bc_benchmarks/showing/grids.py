"""The table of one task, kind and metric: methods down, rates across, for the page, for Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas

from robust_bc.report import Cell, Column, Lines, Series, Table
from robust_bc_benchmarks import paper
from robust_bc_benchmarks.core.contenders import EXPERT, SHARED_ORACLE, fair, is_reference, shown_name
from robust_bc_benchmarks.core.summaries import ANY, SHARE, SMALLER_IS_BETTER

NOTHING = "–"
WHO = "The oracle of a method is the same method, with the same settings, on only the good pairs of the same mix."
WHO_SHARED = "The oracle is `mlp` on the good pairs of the same mix."


@dataclass(frozen=True)
class Shown:
    """A metric as tables show it."""

    metric: str
    title: str
    digits: int = 0
    percent: bool = False

    def number(self, value: float) -> str:
        """Zero has no sign."""
        scaled = round(100 * value if self.percent else value, self.digits) + 0.0
        return f"{scaled:,.{self.digits}f}".replace("-", "−") + (" %" if self.percent else "")


RETURNS = (Shown("return", "return"), Shown(SHARE, "share of the oracle's return", percent=True))
DRIVING = (
    Shown("collision", "episodes with a collision", digits=2, percent=True),
    Shown("lane_deviation_rms", "RMS deviation from the lane's centre in metres", digits=3),
    Shown("off_road", "episodes that left the road", digits=2, percent=True),
    Shown("success", "episodes that came to the end of the road", digits=2, percent=True),
    RETURNS[1],
)
ERRORS = (
    Shown("rmse", "RMSE", digits=3),
    Shown("held_out", "median distance of held-out pairs", digits=3),
    Shown("rho_2_max", "largest ρ of the second mixture in the corrupt region", digits=3),
)


@dataclass(frozen=True, eq=False)
class Grid:
    """A part of a summary."""

    rows: pandas.DataFrame
    """Of one task, kind and metric."""
    task: str
    kind: str
    shown: Shown
    paper: bool
    """Whether the paper measured the same."""

    @property
    def rates(self) -> list[float]:
        return sorted({float(rate) for rate in self.rows.rate})

    @property
    def methods(self) -> list[str]:
        """The methods as they come, then the oracles and the expert."""
        names = list(dict.fromkeys(self.rows.method))
        return sorted(names, key=lambda name: (name == EXPERT, is_reference(name)))

    @property
    def seeds(self) -> int:
        return int(self.rows.seeds.max())

    @property
    def lower(self) -> bool:
        """Whether a smaller number is better."""
        return self.shown.metric in SMALLER_IS_BETTER

    def best(self, rate: float) -> set[str]:
        """The fair methods with the best mean, all that share it; none without a rival."""
        rivals = self.rows[(self.rows.rate == rate) & self.rows.method.map(fair)]
        if len(rivals) < 2:
            return set()
        return set(rivals[rivals["mean"] == (rivals["mean"].min() if self.lower else rivals["mean"].max())].method)

    def as_table(self) -> Table:
        """For a page and for Markdown."""
        found = {(row.method, row.rate): row for row in self.rows.itertuples()}
        best = {rate: self.best(rate) for rate in self.rates}

        def cell(method: str, rate: float) -> Cell:
            row = found.get((method, rate))
            if row is None:
                return Cell(NOTHING)
            text = self.shown.number(row.mean)
            return Cell(text, row.mean, self._note(row), strong=method in best[rate])

        lines = [
            [Cell(shown_name(method), shown_name(method)), *(cell(method, rate) for rate in self.rates)]
            for method in self.methods
        ]
        for name, numbers in self.from_paper().items():
            cells = [numbers.get(rate) for rate in self.rates]
            said = [Cell(NOTHING) if number is None else Cell(self.shown.number(number), number) for number in cells]
            lines.append([Cell(name, name), *said])
        better: Literal["high", "low"] = "low" if self.lower else "high"
        columns = [Column("method"), *(Column(percent(rate), "number", better) for rate in self.rates)]
        over = f"Mean of {self.seeds} seeds [its 95 % interval, worst seed]. " if self.seeds > 1 else "One seed. "
        return Table(self.shown.title, columns, lines, over + self.who)

    @property
    def who(self) -> str:
        """What an oracle is; older results have one for all."""
        return WHO_SHARED if SHARED_ORACLE in set(self.rows.method) else WHO

    def _note(self, row: tuple[float, ...]) -> str:
        if row.seeds < 2:  # type: ignore[attr-defined]
            return ""
        number, parts = self.shown.number, []
        if np.isfinite(row.low) and np.isfinite(row.high):  # type: ignore[attr-defined]
            parts.append(f"{number(row.low)} to {number(row.high)}")  # type: ignore[attr-defined]
        if np.isfinite(row.worst):  # type: ignore[attr-defined]
            parts.append(f"worst {number(row.worst)}")  # type: ignore[attr-defined]
        if row.seeds < self.seeds:  # type: ignore[attr-defined]
            parts.append(f"{row.seeds} of {self.seeds} seeds")  # type: ignore[attr-defined]
        return ", ".join(parts)

    def as_lines(self) -> list[list[str]]:
        """For the terminal: the mean, and the worst seed in brackets."""
        table, worst = self.as_table(), {(row.method, row.rate): row for row in self.rows.itertuples()}
        lines = []
        for place, cells in enumerate(table.rows):
            method = self.methods[place] if place < len(self.methods) else None  # then the paper's rows
            line = [cells[0].text]
            for rate, cell in zip(self.rates, cells[1:], strict=True):
                row = worst.get((method, rate))
                worse = "" if row is None or row.seeds < 2 else f" ({self.shown.number(row.worst)})"
                line.append(cell.text + worse)
            lines.append(line)
        return lines

    def from_paper(self) -> dict[str, dict[float, float]]:
        """The paper's rows at these rates."""
        said = paper.NUMBERS.get((self.task, self.kind, self.shown.metric), {}) if self.paper else {}
        return {name: numbers for name, numbers in said.items() if set(numbers) & set(self.rates)}

    def as_chart(self, title: str | None = None) -> Lines:
        """The metric against the share of bad pairs, with the intervals as bands."""
        factor = 100 if self.shown.percent else 1
        series = []
        for method in self.methods:
            mine = self.rows[self.rows.method == method].sort_values("rate")
            middle, low, high = ((factor * mine[name]).tolist() for name in ("mean", "low", "high"))
            dashed, name = is_reference(method), shown_name(method)
            series.append(Series(name, mine.rate.tolist(), middle, low, high, dashed=dashed))
        return Lines(
            title=title or self.shown.title,
            x_label="bad pairs",
            y_label=self.shown.title + (" in %" if self.shown.percent else ""),
            series=series,
            note="Bands are 95 % intervals over seeds.",
            percent_x=True,
        )


def grids(
    summary: pandas.DataFrame, shown: Sequence[Shown], paper: bool, task: str | None = None, kind: str | None = None
) -> Iterator[Grid]:
    """One for each task, kind and metric that there are numbers of."""
    chosen = summary[summary.task.eq(task or summary.task) & summary.kind.eq(kind or summary.kind)]
    for (one, way), here in chosen.groupby(["task", "kind"], sort=False):
        for metric in shown:
            rows = here[here.metric == metric.metric]
            if len(rows):
                yield Grid(rows, str(one), str(way), metric, paper)


def percent(rate: float) -> str:
    """A rate as a person writes it."""
    return "graded" if rate == ANY else f"{100 * rate:.6g} %"
