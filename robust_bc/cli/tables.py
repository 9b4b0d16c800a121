"""Tables as the terminal shows them: words to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from robust_bc.cli.console import OUTPUT


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> None:
    """A plain table; what is too long for the terminal wraps, but names in the first column and numbers do not."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        number = column in numbers
        table.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=number or index == 0)
    for row in rows:
        table.add_row(*row)
    OUTPUT.print(table, highlight=False, markup=False)
