"""A matrix as SVG: a square of coloured cells in groups, the names of its rows, a colour bar and a legend."""

from __future__ import annotations

from itertools import groupby

from robust_bc.report.blocks import Matrix, finite
from robust_bc.report.escaping import as_content, as_text
from robust_bc.report.frames import LETTER, WIDTH, place
from robust_bc.report.ticks import number_label, tick_label, ticks_within, widened

LEVELS = 10
"""Colours; assets/figures.css has one for each."""
NAMED = 40
"""Up to so many rows have their names; more would not be read."""
TOLD = 40
"""Up to so many rows, each cell tells its value under the pointer."""
LONGEST_NAME = 12
SLOTS = (1, 4, 5, 3, 6, 8)
"""Colours of the palette for the groups: none of them is near the colours of the cells."""
TOP, SIDE, GAP = 14.0, 6.0, 5.0
"""Room above, the thickness of the bars that mark the groups, and the space between two groups."""
BAR, BAR_GAP, BAR_LABELS = 14.0, 26.0, 44.0
TALL = 60.0
"""Height of a name that is turned, at the most."""


def matrix_chart(matrix: Matrix) -> str:
    """Legend of the groups, the square and its colour bar."""
    values = [[finite(value) for value in row] for row in matrix.values]
    told = [value for row in values for value in row if value is not None]
    if not told:
        return '<p class="empty">no data</p>'
    low, high = widened(min(told), max(told))
    names = [_short(name) for name in matrix.names] if len(matrix.names) <= NAMED else []
    left = SIDE + GAP + (8 + LETTER * max(map(len, names)) if names else 4)
    side = WIDTH - left - BAR_GAP - BAR - BAR_LABELS
    starts = _starts(matrix, left, side)
    cell = (side - GAP * (len(matrix.groups) - 1)) / len(matrix.names)
    below = (22 if len(names) * cell >= LETTER * sum(map(len, names)) else TALL) if names else 6
    parts = [
        _sides(matrix, starts, cell, left),
        _cells(matrix, values, starts, cell, left, (low, high)),
        _names(matrix, names, starts, cell, left, side),
        _colour_bar(matrix, left + side + BAR_GAP, side, (low, high)),
    ]
    groups = ", ".join(f"{group.name} ({group.rows})" for group in matrix.groups)
    label = f"{matrix.title}: {matrix.value_label} of {len(matrix.names)} rows with each other; {groups}"
    return _legend(matrix) + (
        f'<svg class="chart" viewBox="0 0 {place(WIDTH)} {place(TOP + side + below)}" role="img" '
        f'aria-label="{as_text(label)}">{"".join(parts)}</svg>'
    )


def level(value: float, low: float, high: float) -> int:
    """Which of the colours a value has."""
    return min(LEVELS - 1, max(0, int(LEVELS * (value - low) / (high - low))))


def _starts(matrix: Matrix, left: float, side: float) -> list[float]:
    """(C,) where each column begins, with some space between the groups."""
    cell = (side - GAP * (len(matrix.groups) - 1)) / len(matrix.names)
    spaces = [GAP * number for number, group in enumerate(matrix.groups) for _ in range(group.rows)]
    return [left + cell * number + space for number, space in enumerate(spaces)]


def _sides(matrix: Matrix, starts: list[float], cell: float, left: float) -> str:
    """A bar above and beside each group."""
    parts, first = [], 0
    for number, group in enumerate(matrix.groups):
        begin, length = starts[first], cell * group.rows
        down = begin - left + TOP
        across = f"M{place(begin)} {place(TOP - SIDE - 3)}h{place(length)}v{place(SIDE)}h{place(-length)}z"
        beside = f"M{place(left - SIDE - 3)} {place(down)}v{place(length)}h{place(SIDE)}v{place(-length)}z"
        parts.append(f'<path class="side s{SLOTS[number % len(SLOTS)]}" d="{across}{beside}"/>')
        first += group.rows
    return f'<g class="heat">{"".join(parts)}</g>'


def _cells(
    matrix: Matrix,
    values: list[list[float | None]],
    starts: list[float],
    cell: float,
    left: float,
    ends: tuple[float, float],
) -> str:
    """One path for each cell that tells its value; of many, one for neighbours of the same colour."""
    told = len(starts) <= TOLD
    parts = []
    for row, across in enumerate(values):
        down = starts[row] - left + TOP
        keys = [
            None if value is None else (level(value, *ends), starts[column] - cell * column, column if told else None)
            for column, value in enumerate(across)
        ]
        for key, run in groupby(range(len(keys)), keys.__getitem__):
            columns = list(run)
            if key is None:
                continue
            length = cell * len(columns)
            shape = f"M{_exact(starts[columns[0]])} {_exact(down)}h{_exact(length)}v{_exact(cell)}h{_exact(-length)}z"
            value = across[columns[0]]
            tip = ""
            if told and value is not None:
                names = f"{matrix.names[row]} and {matrix.names[columns[0]]}"
                tip = f"<title>{as_text(f'{names}: {number_label(value)}')}</title>"
            parts.append(f'<path class="cell h{key[0]}" d="{shape}">{tip}</path>')
    return f'<g class="heat" shape-rendering="crispEdges">{"".join(parts)}</g>'


def _names(matrix: Matrix, names: list[str], starts: list[float], cell: float, left: float, side: float) -> str:
    """Beside the rows, and below the columns; turned where there is no room."""
    turned = len(names) * cell < LETTER * sum(map(len, names))
    parts = []
    for number, name in enumerate(names):
        suspect = " suspect" if matrix.suspects and matrix.suspects[number] else ""
        middle = starts[number] + cell / 2
        at = f'x="{place(left - SIDE - GAP - 5)}" y="{place(middle - left + TOP + 4)}"'
        parts.append(f'<text class="end{suspect}" {at}>{as_text(name)}</text>')
        if turned:
            at = f'transform="translate({place(middle + 4)} {place(TOP + side + 6)}) rotate(-90)"'
            parts.append(f'<text class="end{suspect}" {at}>{as_text(name)}</text>')
        else:
            at = f'x="{place(middle)}" y="{place(TOP + side + 16)}"'
            parts.append(f'<text class="middle{suspect}" {at}>{as_text(name)}</text>')
    return f'<g aria-hidden="true">{"".join(parts)}</g>'


def _colour_bar(matrix: Matrix, left: float, side: float, ends: tuple[float, float]) -> str:
    low, high = ends
    step = side / LEVELS
    colours = "".join(
        f'<path class="h{number}" d="M{place(left)} {_exact(TOP + side - step * (number + 1))}'
        f'h{place(BAR)}v{_exact(step)}h{place(-BAR)}z"/>'
        for number in range(LEVELS)
    )
    ticks = ticks_within(low, high)
    between = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    labels = "".join(
        f'<text x="{place(left + BAR + 6)}" y="{place(TOP + side - (tick - low) / (high - low) * side + 4)}">'
        f"{tick_label(tick, between)}</text>"
        for tick in ticks
    )
    return f'<g class="heat" shape-rendering="crispEdges">{colours}</g><g aria-hidden="true">{labels}</g>'


def _legend(matrix: Matrix) -> str:
    items = [
        f'<li class="s{SLOTS[number % len(SLOTS)]}"><svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">'
        f'<path class="swatch" d="M1 4h12v6h-12z"/></svg><span>{as_content(group.name)}</span></li>'
        for number, group in enumerate(matrix.groups)
    ]
    scale = (
        '<li><svg class="heat" width="40" height="14" viewBox="0 0 40 14" aria-hidden="true">'
        + "".join(f'<path class="h{number}" d="M{4 * number} 3h4v8h-4z"/>' for number in range(LEVELS))
        + f"</svg><span>{as_content(matrix.value_label)}</span></li>"
    )
    return f'<ul class="legend">{"".join(items)}{scale}</ul>'


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _exact(number: float) -> str:
    """A length to a hundredth: cells are small, and rounding would add up."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
