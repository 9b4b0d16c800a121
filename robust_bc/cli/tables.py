"""Tables as the terminal shows them: words to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from robust_bc.cli.console import OUTPUT, Output, plain
from robust_bc.system.plain_text import isolated

UNBOUNDED = 10_000
LONGEST_WORD = 24
"""A longer one is folded where there is no room."""
BETWEEN = 3
"""Blanks between two columns."""


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> None:
    """A plain table. In a file or a pipe it is as wide as it must be.

    On a terminal long words fold and numbers never do. Columns of numbers that have no room beside the others come in
    a table of their own, with the words in front of them again.
    """
    heads, lines = _cells(columns), [_cells(row) for row in rows]
    right = [index for index, column in enumerate(columns) if column in numbers]
    words = [index for index in range(len(columns)) if index not in right]
    if not OUTPUT.is_terminal:
        table = _table(heads, lines, range(len(columns)), right, whole=True)
        wanted = Measurement.get(OUTPUT, OUTPUT.options.update(max_width=UNBOUNDED), table).maximum
        Output(width=max(OUTPUT.width, wanted)).print(table, crop=False)
        return
    room = OUTPUT.width - sum(_longest_word([heads, *lines], index) + BETWEEN for index in words)
    whole = room >= max([0, *(_widest([heads, *lines], index) for index in right)])
    parts: list[list[int]] = [[]]
    left = room
    for index in right:
        needed = _widest([heads, *lines], index) + BETWEEN
        if needed > left and parts[-1]:
            parts.append([])
            left = room
        parts[-1].append(index)
        left -= needed
    for part in parts:
        OUTPUT.print(_table(heads, lines, sorted([*words, *part]), right, whole), crop=False)


def _table(
    heads: list[Text], lines: list[list[Text]], shown: Sequence[int], right: Sequence[int], whole: bool
) -> Table:
    """Some columns; words stay whole where there is room."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index in shown:
        number = index in right
        word = _longest_word([heads, *lines], index) if whole else None
        table.add_column(
            heads[index],
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
            min_width=_widest([heads, *lines], index) if number else word,
        )
    for line in lines:
        table.add_row(*(line[index] for index in shown))
    return table


def _widest(lines: Sequence[Sequence[Text]], index: int) -> int:
    return max(line[index].cell_len for line in lines)


def _longest_word(lines: Sequence[Sequence[Text]], index: int) -> int:
    """Of a column, as far as it must not be folded."""
    return min(LONGEST_WORD, max(Text(word).cell_len for line in lines for word in [*line[index].plain.split(), ""]))


def _cells(texts: Sequence[str]) -> list[Text]:
    """A right-to-left name would change places with the numbers beside it, where a terminal knows of such scripts."""
    cells = [plain(text) for text in texts]
    return [Text(isolated(cell.plain)) for cell in cells] if OUTPUT.is_terminal else cells
