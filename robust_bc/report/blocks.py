"""What a page is made of: texts, commands, tables, charts, matrices, replays, and groups of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from robust_bc.errors import RobustBCError

Numbers: TypeAlias = Sequence[float | None]
Pose: TypeAlias = Sequence[float]

ROAD_FIELDS = ("lanes", "lane_width", "dt", "pieces")
PIECE_FIELDS = ("start", "length", "curvature")
Tone: TypeAlias = Literal["good", "bad", "unsure"]


@dataclass(frozen=True)
class Text:
    """Paragraphs under a title, which may be empty; what stands between `backticks` is shown as code."""

    title: str
    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Command:
    """A command line, to be copied."""

    text: str


@dataclass(frozen=True)
class Column:
    """The head of a column; `better` says which end of it is good, and is sorted to the top first."""

    name: str
    kind: Literal["text", "number"] = "text"
    better: Literal["high", "low"] | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("text", "number"):
            raise RobustBCError(f"a column is of kind 'text' or 'number', but '{self.name}' is '{self.kind}'.")
        if self.better not in ("high", "low", None):
            raise RobustBCError(f"better is 'high', 'low' or None, but in column '{self.name}' it is '{self.better}'.")


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it is sorted by, a small note such as the interval, and whether it is the best.

    With a tone it is a verdict, and its row is marked by it.
    """

    text: str
    value: float | str | None = None
    note: str = ""
    strong: bool = False
    tone: Tone | None = None


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column names the row."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise RobustBCError(
                    f"row {number} of the table '{self.title}' has {len(row)} cells for {len(self.columns)} columns."
                )


@dataclass(frozen=True)
class Series:
    """Points of one name, with an interval if there is one; None and NaN are gaps."""

    name: str
    x: Sequence[float]
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    dashed: bool = False

    def __post_init__(self) -> None:
        for name in ("y", "low", "high"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.x):
                raise RobustBCError(f"the series '{self.name}' has {len(self.x)} x but {len(values)} {name}.")

    @property
    def points(self) -> list[Point]:
        """One per x, in order."""
        lows = self.low if self.low is not None else [None] * len(self.x)
        highs = self.high if self.high is not None else [None] * len(self.x)
        return [
            Point(finite(x), finite(y), finite(low), finite(high))
            for x, y, low, high in zip(self.x, self.y, lows, highs, strict=True)
        ]


@dataclass(frozen=True)
class Point:
    """One point of a series, in which every number is finite or None."""

    x: float | None
    y: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Lines:
    """Lines with bands; with `percent_x` an x of 0.3 reads 30 %, and `marked` is a range of x to look at."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    note: str = ""
    percent_x: bool = False
    marked: tuple[float, float] | None = None


@dataclass(frozen=True)
class Scatter:
    """Points, e.g. ρ over the data, the corrupt and the clean pairs as two series."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    note: str = ""


@dataclass(frozen=True)
class MatrixGroup:
    """Rows that follow each other."""

    name: str
    rows: int


@dataclass(frozen=True)
class Matrix:
    """A square of values as a picture, with a colour bar; rows and columns have the same names and groups."""

    title: str
    names: Sequence[str]  # (C,)
    values: Sequence[Numbers]  # (C, C); None is left blank
    groups: Sequence[MatrixGroup]
    value_label: str
    suspects: Sequence[bool] = ()
    """(C,) rows whose names are marked; none if empty."""
    note: str = ""

    def __post_init__(self) -> None:
        size = len(self.names)
        if len(self.values) != size or any(len(row) != size for row in self.values):
            raise RobustBCError(f"the matrix '{self.title}' must have {size} rows of {size} values, one for each name.")
        if sum(group.rows for group in self.groups) != size or any(group.rows < 1 for group in self.groups):
            raise RobustBCError(f"the groups of the matrix '{self.title}' must have {size} rows together.")
        if len(self.suspects) not in (0, size):
            raise RobustBCError(f"the matrix '{self.title}' has {len(self.suspects)} suspects for {size} names.")


@dataclass(frozen=True)
class ReplayEpisode:
    """What one policy did in one episode: standing cars and driven poses as x, y, heading; one pose per step of dt."""

    policy: str
    episode: str
    cars: Sequence[Pose]
    poses: Sequence[Pose]
    outcome: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Replay:
    """Episodes on one road, to be played: `road` has lanes, lane_width, dt and pieces (start, length, curvature)."""

    title: str
    road: Mapping[str, Any]
    episodes: Sequence[ReplayEpisode]
    note: str = ""

    def __post_init__(self) -> None:
        for name in ROAD_FIELDS:
            if name not in self.road:
                raise RobustBCError(f"the road of the replay '{self.title}' has no '{name}'.")
        for piece in self.road["pieces"]:
            for name in PIECE_FIELDS:
                if name not in piece:
                    raise RobustBCError(f"a piece of the road of the replay '{self.title}' has no '{name}'.")
        if not self.road["pieces"]:
            raise RobustBCError(f"the road of the replay '{self.title}' has no pieces.")
        seen = set()
        for one in self.episodes:
            if (one.policy, one.episode) in seen:
                raise RobustBCError(
                    f"the replay '{self.title}' has episode '{one.episode}' of policy '{one.policy}' twice."
                )
            seen.add((one.policy, one.episode))


@dataclass(frozen=True)
class Group:
    """A section of its own, e.g. one task; its charts stand side by side where there is room."""

    title: str
    blocks: Sequence[Block]


Block: TypeAlias = Text | Command | Table | Lines | Scatter | Matrix | Replay | Group


@dataclass(frozen=True)
class Page:
    """A title, one or two sentences that say what was found, facts about the run, and the blocks.

    With a tone, these sentences are a verdict and stand out.
    """

    title: str
    lead: str
    facts: Mapping[str, str]
    blocks: Sequence[Block]
    tone: Tone | None = None


def finite(value: float | None) -> float | None:
    """The value as a plain float, or None if it is no number that can be drawn."""
    return None if value is None or not math.isfinite(value) else float(value)


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """All blocks in reading order, also those inside groups."""
    for block in blocks:
        yield block
        if isinstance(block, Group):
            yield from walk(block.blocks)
