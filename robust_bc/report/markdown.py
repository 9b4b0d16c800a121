"""The tables, texts and commands of a page as Markdown, in which a text is shown and never read as Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from robust_bc.report.blocks import Block, Cell, Command, Group, Page, Table, Text
from robust_bc.system.plain_text import isolated, visible

# What ends a cell, begins code, emphasis or HTML, or makes a link; an underscore inside a word does nothing.
SIGNS = re.compile(r"[\\`*|~<]|(?<![^\W_])_|_(?![^\W_])|(?<=\])\(|&(?=#?\w+;)")
ENTITIES = {"<": "&lt;", "&": "&amp;"}


def page_as_markdown(page: Page) -> str:
    """The page without what only a browser can show: charts and replays are left out."""
    facts = [
        f"- {_plain(name)}: {code_as_markdown(value) if name == 'command' else text_as_markdown(value)}"
        for name, value in page.facts.items()
    ]
    parts = [f"# {_plain(page.title)}", text_as_markdown(page.lead), "\n".join(facts), *_blocks(page.blocks, level=2)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table_as_markdown(table: Table) -> str:
    """The table alone, without its title; text and note share a cell, and the best cells are bold."""
    head = "| " + " | ".join(_plain(column.name) for column in table.columns) + " |"
    rule = "| " + " | ".join("---:" if column.kind == "number" else "---" for column in table.columns) + " |"
    rows = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join([head, rule, *rows])


def text_as_markdown(text: str) -> str:
    """A paragraph or a title, on one line; what stands between `backticks` is code, as on the page."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(code_as_markdown(part) if index % 2 else _escaped(part) for index, part in enumerate(parts)).strip()


def code_as_markdown(text: str) -> str:
    """A command or a name as code, between more backticks than it has itself."""
    shown = visible(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    room = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{room}{shown}{room}{fence}"


def _blocks(blocks: Sequence[Block], level: int) -> list[str]:
    parts: list[str] = []
    for block in blocks:
        inner: list[str] = []
        if isinstance(block, Command):
            parts.append("\n".join(f"    {line}" for line in visible(block.text, lines=True).split("\n")))
            continue
        if isinstance(block, Text):
            inner = [text_as_markdown(paragraph) for paragraph in block.paragraphs]
        elif isinstance(block, Table):
            inner = [table_as_markdown(block), text_as_markdown(block.note)]
        elif isinstance(block, Group):
            inner = _blocks(block.blocks, level + 1)
        if inner:
            parts += [f"{'#' * level} {_plain(block.title)}" if block.title else "", *inner]
    return parts


def _cell(cell: Cell) -> str:
    text = f"**{_plain(cell.text)}**" if cell.strong else _plain(cell.text)
    if not cell.note:
        return text
    note = _plain(cell.note)
    # An interval brings its own brackets.
    return f"{text} {note}" if note.startswith("[") and note.endswith("]") else f"{text} [{note}]"


def _plain(text: str) -> str:
    return _escaped(text).strip()


def _escaped(text: str) -> str:
    """On one line, and with nothing in it that Markdown would read as its own."""
    shown = visible(re.sub(r"[ \t\r\n]+", " ", text))
    return isolated(SIGNS.sub(lambda sign: ENTITIES.get(sign[0], f"\\{sign[0]}"), shown))
