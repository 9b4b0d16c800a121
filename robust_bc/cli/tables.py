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


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> None:
    """A plain table. On a terminal long words fold and numbers never do; in a file or a pipe nothing does."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    heads, lines = _cells(columns), [_cells(row) for row in rows]
    for index, (column, head) in enumerate(zip(columns, heads, strict=True)):
        number = column in numbers
        widest = max([head.cell_len, *(line[index].cell_len for line in lines)])
        table.add_column(
            head,
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
            min_width=widest if number else None,
        )
    for line in lines:
        table.add_row(*line)
    output = OUTPUT
    if not OUTPUT.is_terminal:
        wanted = Measurement.get(OUTPUT, OUTPUT.options.update(max_width=UNBOUNDED), table).maximum
        output = Output(width=max(OUTPUT.width, wanted))
    output.print(table, crop=False)


def _cells(texts: Sequence[str]) -> list[Text]:
    """A right-to-left name would change places with the numbers beside it, where a terminal knows of such scripts."""
    cells = [plain(text) for text in texts]
    return [Text(isolated(cell.plain)) for cell in cells] if OUTPUT.is_terminal else cells
