"""The tables of the audit benchmark: mixes down, detectors across, for the page, for Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from robust_bc.benchmark.audit_cells import (
    CORRUPT_EPISODES,
    EPISODE_AP,
    EPISODE_AUROC,
    EPISODES,
    PAIR_AP,
    PAIR_AUROC,
)
from robust_bc.benchmark.audit_plan import FILTERED, MLP, ORACLE
from robust_bc.benchmark.audit_rows import RETURN, SECONDS, SMALLER_IS_BETTER, RateRow
from robust_bc.benchmark.control_rows import SHARE, ControlRow
from robust_bc.benchmark.control_tables import NOTHING, Shown, percent
from robust_bc.report import Cell, Column, Table, table_as_markdown, text_as_markdown

FOUND = (
    Shown(PAIR_AUROC, "AUROC of corrupt pairs", digits=3),
    Shown(EPISODE_AUROC, "AUROC of corrupt episodes", digits=3),
    Shown(PAIR_AP, "average precision of corrupt pairs", digits=3),
    Shown(EPISODE_AP, "average precision of corrupt episodes", digits=3),
)
TIME = Shown(SECONDS, "seconds", digits=1)
SHARES = Shown(SHARE, "share of the oracle's return", percent=True)
RETURNS = Shown(RETURN, "return")
NAMES = {FILTERED: "mlp on what the audit keeps", MLP: "mlp on everything", ORACLE: "oracle (mlp on the clean pairs)"}
SHARE_POINTS = Shown("rate", "rate", digits=1, percent=True)


@dataclass(frozen=True)
class Heading:
    """One column of a table: whose rows, which number, and how it is written."""

    who: str
    shown: Shown
    title: str


class MixTable:
    """Rows of one task: a line for each way and rate, a column for each of the asked."""

    def __init__(
        self, rows: Sequence[ControlRow], task: str, title: str, columns: Sequence[Heading], rival: bool = True
    ) -> None:
        self.title, self.columns, self.rival = title, columns, rival
        asked = [(column.who, column.shown.metric) for column in columns]
        mine = [row for row in rows if row.task == task and (row.method, row.metric) in asked]
        self.found = {(row.how, row.rate, row.method, row.metric): row for row in mine}
        # All of this task: a line in which nobody has a number shows dashes, but clean data have nothing to be found.
        places = dict.fromkeys((row.how, row.rate) for row in rows if row.task == task)
        self.places = [
            place for place in places if place[1] > 0 or any((how, rate) == place for how, rate, _, _ in self.found)
        ]
        self.asked = max([row.asked for row in mine], default=0)
        self.of_episodes = any(column.shown.metric in (EPISODE_AUROC, EPISODE_AP) for column in columns)
        counts = [row for row in rows if row.task == task and row.metric in (EPISODES, CORRUPT_EPISODES)]
        self.counts = {(row.how, row.rate, row.metric): row.mean for row in counts}

    def row(self, place: tuple[str, float], column: Heading) -> ControlRow | None:
        return self.found.get((*place, column.who, column.shown.metric))

    def as_table(self) -> Table:
        """For the page and for Markdown."""
        lines = []
        for place in self.places:
            best = self._best(place)
            cells = [_cell(self.row(place, column), column.shown, best) for column in self.columns]
            lines.append([_mix(*place, note=self._episodes(place)), *cells])
        columns = [Column("mix"), *(Column(column.title, "number", _better(column)) for column in self.columns)]
        return Table(self.title, columns, lines, self._note())

    def as_lines(self) -> list[list[str]]:
        """For the terminal: the mean, and the worst seed in brackets."""
        lines = []
        for place in self.places:
            line = [_mix(*place).text]
            for column in self.columns:
                row, number = self.row(place, column), column.shown.number
                line.append(
                    NOTHING if row is None else number(row.mean) + (f" ({number(row.worst)})" if row.seeds > 1 else "")
                )
            lines.append(line)
        return lines

    def _best(self, place: tuple[str, float]) -> float | None:
        """The best mean where several can be compared."""
        rows = [row for column in self.columns if (row := self.row(place, column)) is not None]
        if not self.rival or len(rows) < 2:
            return None
        return (min if rows[0].metric in SMALLER_IS_BETTER else max)(row.mean for row in rows)

    def _episodes(self, place: tuple[str, float]) -> str:
        """How many there are to be found, in a table about them."""
        corrupt, total = (self.counts.get((*place, metric)) for metric in (CORRUPT_EPISODES, EPISODES))
        if not self.of_episodes or corrupt is None or total is None:
            return ""
        return f"{corrupt:.3g} of {total:.3g} episodes"

    def _note(self) -> str:
        few = (
            " Beside a mix stands how many of its episodes are corrupt, mean over seeds. With a corrupt and b clean"
            " ones a single wrong order costs 1/(ab) of AUROC, so few episodes tell little."
            if self.of_episodes
            else ""
        )
        if self.asked < 2:
            return "One seed, so there is no interval." + few
        strong = " The best mean is strong." if self.rival else ""
        return f"Mean over {self.asked} seeds, its 95 % interval by resampling seeds, and the worst seed.{strong}{few}"


def detection_tables(rows: Sequence[ControlRow], task: str, detectors: Sequence[str]) -> list[MixTable]:
    """One for each number of finding that anybody has, and one of the time."""
    tables = [
        MixTable(rows, task, shown.title, [Heading(detector, shown, detector) for detector in detectors])
        for shown in (*FOUND, TIME)
    ]
    return [table for table in tables if table.found]


def training_table(rows: Sequence[ControlRow], task: str) -> MixTable | None:
    """Shares of the oracle's return, and the returns themselves."""
    columns = [Heading(who, SHARES, f"share: {NAMES[who]}") for who in (FILTERED, MLP)]
    columns += [Heading(who, RETURNS, f"return: {NAMES[who]}") for who in (FILTERED, MLP, ORACLE)]
    trained = [row for row in rows if row.metric in (SHARE, RETURN)]
    table = MixTable(trained, task, "Filter, then train: share of the oracle's return", columns, rival=False)
    return table if table.found else None


def rate_table(rows: Sequence[RateRow], task: str) -> Table | None:
    """Estimated against true rates."""
    mine = [row for row in rows if row.task == task]
    if not mine:
        return None
    several = len({row.detector for row in mine}) > 1
    number = SHARE_POINTS.number
    lines = []
    for row in mine:
        name = _mix(row.how, row.rate)
        lines.append(
            [
                Cell(f"{name.text}, {row.detector}", name.value) if several else name,
                Cell(number(row.true), row.true),
                Cell(number(row.estimated), row.estimated, f"{number(row.low)} to {number(row.high)}"),
                Cell(_points(row.error), row.error),
                Cell(_points(row.largest), row.largest),
                Cell(f"{row.within} of {row.seeds}", row.within / row.seeds),
                Cell(f"{row.covered} of {row.seeds}", row.covered / row.seeds),
                Cell(_points(row.width), row.width),
            ]
        )
    columns = [
        Column("mix"),
        Column("true rate", "number"),
        Column("estimated", "number"),
        Column("mean error, points", "number", "low"),
        Column("largest", "number", "low"),
        Column("within 5 points", "number", "high"),
        Column("its interval holds the truth", "number", "high"),
        Column("width of that, points", "number", "low"),
    ]
    note = "Means over seeds; the interval of the mean estimate is by resampling seeds. An error is |estimated − true|."
    return Table("Estimated against true rate", columns, lines, note)


def all_tables(
    rows: Sequence[ControlRow], rates: Sequence[RateRow], task: str, detectors: Sequence[str]
) -> list[Table]:
    """Everything about one task, in reading order."""
    trained = training_table(rows, task)
    estimated = rate_table(rates, task)
    tables = [table.as_table() for table in detection_tables(rows, task, detectors)]
    tables += [] if estimated is None else [estimated]
    return tables + ([] if trained is None else [trained.as_table()])


def tables_as_markdown(tables: Sequence[Table]) -> str:
    """Titles, tables and notes."""
    parts: list[str] = []
    for table in tables:
        parts += [f"**{text_as_markdown(table.title)}**", table_as_markdown(table), text_as_markdown(table.note)]
    return "\n\n".join(parts) + "\n"


def table_as_lines(table: Table) -> list[list[str]]:
    """The words of a table, without notes."""
    return [[cell.text for cell in row] for row in table.rows]


def _mix(how: str, rate: float, note: str = "") -> Cell:
    name = f"{how} {percent(rate)}"
    return Cell(name, name, note)


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _better(column: Heading) -> Literal["high", "low"]:
    return "low" if column.shown.metric in SMALLER_IS_BETTER else "high"


def _cell(row: ControlRow | None, shown: Shown, best: float | None) -> Cell:
    if row is None:
        return Cell(NOTHING)
    number = shown.number
    parts = []
    if row.seeds > 1:
        if row.low is not None and row.high is not None:
            parts.append(f"{number(row.low)} to {number(row.high)}")
        parts.append(f"worst {number(row.worst)}")
    if row.seeds < row.asked:
        parts.append(f"{row.seeds} of {row.asked} seeds")
    return Cell(number(row.mean), row.mean, ", ".join(parts), strong=row.mean == best)
