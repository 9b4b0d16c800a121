"""The tables, texts and commands of a page as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from robust_bc.report.blocks import Block, Cell, Command, Group, Page, Table, Text


def page_as_markdown(page: Page) -> str:
    """The page without what only a browser can show: charts and replays are left out."""
    facts = [
        f"- {name}: `{value}`" if name == "command" else f"- {name}: {value}" for name, value in page.facts.items()
    ]
    parts = [f"# {page.title}", page.lead, "\n".join(facts), *_blocks(page.blocks, level=2)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table_as_markdown(table: Table) -> str:
    """The table alone, without its title; text and note share a cell, and the best cells are bold."""
    head = "| " + " | ".join(_plain(column.name) for column in table.columns) + " |"
    rule = "| " + " | ".join("---:" if column.kind == "number" else "---" for column in table.columns) + " |"
    rows = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join([head, rule, *rows])


def _blocks(blocks: Sequence[Block], level: int) -> list[str]:
    parts: list[str] = []
    for block in blocks:
        inner: list[str] = []
        if isinstance(block, Command):
            parts.append("\n".join(f"    {line}" for line in block.text.splitlines()))
            continue
        if isinstance(block, Text):
            inner = list(block.paragraphs)
        elif isinstance(block, Table):
            inner = [table_as_markdown(block), block.note]
        elif isinstance(block, Group):
            inner = _blocks(block.blocks, level + 1)
        if inner:
            parts += [f"{'#' * level} {block.title}" if block.title else "", *inner]
    return parts


def _cell(cell: Cell) -> str:
    text = f"**{_plain(cell.text)}**" if cell.strong else _plain(cell.text)
    if not cell.note:
        return text
    note = _plain(cell.note)
    # An interval brings its own brackets.
    return f"{text} {note}" if note.startswith("[") and note.endswith("]") else f"{text} [{note}]"


def _plain(text: str) -> str:
    """On one line, and with nothing in it that would end the cell or begin HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
