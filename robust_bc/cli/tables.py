"""Tables as the terminal shows them: words to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.measure import Measurement
from rich.table import Table

from robust_bc.cli.console import OUTPUT, Output

UNBOUNDED = 10_000


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> None:
    """A plain table. On a terminal long words fold and numbers never do; in a file or a pipe nothing does."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        number = column in numbers
        widest = max([len(column), *(len(row[index]) for row in rows)])
        table.add_column(
            column,
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
            min_width=widest if number else None,
        )
    for row in rows:
        table.add_row(*row)
    output = OUTPUT
    if not OUTPUT.is_terminal:
        wanted = Measurement.get(OUTPUT, OUTPUT.options.update(max_width=UNBOUNDED), table).maximum
        output = Output(width=max(OUTPUT.width, wanted))
    output.print(table, highlight=False, markup=False, crop=False)
