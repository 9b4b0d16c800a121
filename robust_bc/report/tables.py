"""Tables as HTML: they sort by the cells' values when the page's script gives them buttons."""

from __future__ import annotations

from robust_bc.report.blocks import Cell, Column, Table, finite
from robust_bc.report.escaping import as_content, as_text

FEW = 4
HINTS = {"high": ("↑", "higher is better"), "low": ("↓", "lower is better")}


def table_as_html(table: Table, heading: str) -> str:
    """The table in a box of its own that scrolls if it is too wide; `heading` is the id of the title above it."""
    head = "".join(_head(column) for column in table.columns)
    rows = "".join(
        "<tr>" + "".join(_cell(cell, table.columns[index], index == 0) for index, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    if not table.rows:
        rows = f'<tr><td class="empty" colspan="{len(table.columns)}">no data</td></tr>'
    # A table of few columns would fall apart over the whole width.
    few = " few" if len(table.columns) <= FEW else ""
    return (
        f'<div class="scroll{few}" role="region" aria-labelledby="{heading}" tabindex="0"><table>'
        f'<caption class="unseen">{as_content(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _head(column: Column) -> str:
    better = f' data-better="{column.better}"' if column.better else ""
    hint = ""
    if column.better:
        sign, words = HINTS[column.better]
        hint = f' <span class="hint" title="{words}"><span aria-hidden="true">{sign}</span>'
        hint += f'<span class="unseen">({words})</span></span>'
    # The name and the hint stay on one line; the script wraps both into the button.
    return (
        f'<th scope="col" class="{column.kind}" data-kind="{column.kind}"{better}>{as_content(column.name)}{hint}</th>'
    )


def _cell(cell: Cell, column: Column, first: bool) -> str:
    name, scope = ("th", ' scope="row"') if first else ("td", "")
    text = f"<strong>{as_content(cell.text)}</strong>" if cell.strong else as_content(cell.text)
    if cell.tone:
        text = f'<span class="verdict {cell.tone}">{text}</span>'
    if first:
        text = f'<span class="name">{text}</span>'
    note = f"<small>{as_content(cell.note)}</small>" if cell.note else ""
    classes = column.kind + (" best" if cell.strong else "")
    return f'<{name}{scope} class="{classes}"{_value(cell)}>{text}{note}</{name}>'


def _value(cell: Cell) -> str:
    """What the cell is sorted by; without a value it goes last."""
    if cell.value is None or isinstance(cell.value, str):
        return "" if cell.value is None else f' data-value="{as_text(cell.value)}"'
    number = finite(cell.value)
    return "" if number is None else f' data-value="{number!r}"'
