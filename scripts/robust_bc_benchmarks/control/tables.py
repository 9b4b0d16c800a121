"""The tables of a control benchmark: methods down, rates across, for the page, for Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from robust_bc.report import Cell, Column, Table, table_as_markdown, text_as_markdown
from robust_bc_benchmarks import paper_numbers
from robust_bc_benchmarks.contenders import ORACLE, fair
from robust_bc_benchmarks.control.cells import EXPERT
from robust_bc_benchmarks.control.rows import SHARE, SMALLER_IS_BETTER, ControlRow

NOTHING = "–"
WHO = (
    "The oracle is least squares on the clean pairs of the same mix, the expert is the good teacher itself in the same"
    " episodes."
)


@dataclass(frozen=True)
class Shown:
    """A metric as tables show it."""

    metric: str
    title: str
    digits: int = 0
    percent: bool = False
    paper: bool = True
    """Whether the paper measured the same; if it did not, its numbers are not shown beside ours."""

    def number(self, value: float) -> str:
        """Zero has no sign."""
        scaled = round(100 * value if self.percent else value, self.digits) + 0.0
        return f"{scaled:,.{self.digits}f}".replace("-", "−") + (" %" if self.percent else "")


MUJOCO = (Shown("return", "return"), Shown(SHARE, "share of the oracle's return", percent=True))
DRIVING = (
    Shown("collision", "episodes with a collision", digits=2, percent=True),
    Shown("lane_deviation_rms", "RMS deviation from the lane's centre in metres", digits=3),
    Shown("off_road", "episodes that left the road", digits=2, percent=True),
    Shown("success", "episodes that came to the end of the road", digits=2, percent=True),
)


def without_paper(shown: Sequence[Shown]) -> tuple[Shown, ...]:
    """The same for a setting that is not the paper's."""
    return tuple(replace(metric, paper=False) for metric in shown)


class Grid:
    """The rows of one task, way and metric: methods down, rates across."""

    def __init__(self, rows: Sequence[ControlRow], task: str, how: str, shown: Shown) -> None:
        here = [row for row in rows if (row.task, row.how) == (task, how)]
        mine = [row for row in here if row.metric == shown.metric]
        self.task, self.how, self.shown = task, how, shown
        self.found = {(row.method, row.rate): row for row in mine}
        self.rates = sorted({row.rate for row in here})
        self.methods = list(dict.fromkeys(row.method for row in mine))
        self.asked = max([row.asked for row in mine], default=0)
        self.smaller_is_better = shown.metric in SMALLER_IS_BETTER
        alike = shown.paper and how == paper_numbers.HOW
        paper = paper_numbers.CHOICENET.get((task, shown.metric), {}) if alike else {}
        self.paper = {rate: paper[rate] for rate in self.rates if rate in paper}

    @property
    def heads(self) -> list[str]:
        """The names of the columns."""
        return [percent(rate) for rate in self.rates]

    def best(self, rate: float) -> set[str]:
        """The fitted methods with the best mean, all that share it; none without a rival."""
        aside = (ORACLE, EXPERT)
        rivals = [row for (name, at), row in self.found.items() if at == rate and name not in aside and fair(name)]
        if len(rivals) < 2:
            return set()
        best = (min if self.smaller_is_better else max)(row.mean for row in rivals)
        return {row.method for row in rivals if row.mean == best}

    def as_table(self) -> Table:
        """For the page and for Markdown."""
        lines = [[Cell(method, method), *(self._cell(method, rate) for rate in self.rates)] for method in self.methods]
        if self.paper:
            said = [self.paper.get(rate) for rate in self.rates]
            cells = [Cell(NOTHING) if value is None else Cell(self.shown.number(value), value) for value in said]
            lines.append([Cell(paper_numbers.NAME, paper_numbers.NAME), *cells])
        better: Literal["high", "low"] = "low" if self.smaller_is_better else "high"
        return Table(
            title=self.shown.title,
            columns=[Column("method"), *(Column(head, "number", better) for head in self.heads)],
            rows=lines,
            note=self._note(),
        )

    def as_lines(self) -> list[list[str]]:
        """For the terminal: the mean, and the worst seed in brackets."""
        lines = []
        for method in self.methods:
            line = [method]
            for rate in self.rates:
                row = self.found.get((method, rate))
                number = self.shown.number
                alone = row is not None and (method == EXPERT or row.asked == 1)
                line.append(NOTHING if row is None else number(row.mean) + ("" if alone else f" ({number(row.worst)})"))
            lines.append(line)
        if self.paper:
            said = [self.shown.number(self.paper[rate]) if rate in self.paper else NOTHING for rate in self.rates]
            lines.append([paper_numbers.NAME, *said])
        return lines

    def _cell(self, method: str, rate: float) -> Cell:
        row = self.found.get((method, rate))
        if row is None:
            return Cell(NOTHING, note=f"0 of {self.asked} seeds")
        number = self.shown.number
        parts = []
        if row.low is not None and row.high is not None and (row.seeds > 1 or method == EXPERT):
            parts.append(f"{number(row.low)} to {number(row.high)}")
        if method != EXPERT and row.seeds > 1:
            parts.append(f"worst {number(row.worst)}")
        if row.hits is not None:
            parts.append(f"{row.hits:,} of {row.episodes:,}")
        if row.seeds < row.asked:
            parts.append(f"{row.seeds} of {row.asked} seeds")
        return Cell(number(row.mean), row.mean, ", ".join(parts), strong=method in self.best(rate))

    def _note(self) -> str:
        if self.asked < 2:
            return "One seed, so there is no interval. " + WHO
        pooled = (
            " Counts are of the episodes of all seeds; where all seeds have the same rate, and for the expert, its"
            " interval is Wilson's over these episodes."
            if any(row.hits is not None for row in self.found.values())
            else ""
        )
        return (
            f"Mean over {self.asked} seeds, its 95 % interval by resampling seeds (for the expert: episodes), and the"
            f" worst seed; the best mean of the fitted methods is strong.{pooled} {WHO}"
        )


def grids(rows: Sequence[ControlRow], task: str, how: str, shown: Sequence[Shown]) -> list[Grid]:
    """One for each metric that there are numbers of."""
    made = [Grid(rows, task, how, metric) for metric in shown]
    return [grid for grid in made if grid.found]


def tables_as_markdown(rows: Sequence[ControlRow], shown: Sequence[Shown]) -> str:
    """All tables, by task and way."""
    parts = []
    for task, how in dict.fromkeys((row.task, row.how) for row in rows):
        parts.append(f"## {text_as_markdown(task)}, {text_as_markdown(how)}")
        for grid in grids(rows, task, how, shown):
            table = grid.as_table()
            parts += [f"**{text_as_markdown(table.title)}**", table_as_markdown(table), text_as_markdown(table.note)]
    return "\n\n".join(parts) + "\n"


def percent(rate: float) -> str:
    """A rate as a person writes it."""
    return f"{100 * rate:.6g} %"
