"""The page as one HTML file: no network, no parts beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from robust_bc.report.blocks import Block, Command, Group, Lines, Matrix, Page, Replay, Scatter, Table, Text, walk
from robust_bc.report.charts import lines_chart, marker_definitions, scatter_chart
from robust_bc.report.content_policy import content_policy
from robust_bc.report.escaping import as_content, as_text
from robust_bc.report.matrices import matrix_chart
from robust_bc.report.palette import Style, styles_of
from robust_bc.report.replays import replay_as_html
from robust_bc.report.tables import table_as_html
from robust_bc.system.files import write_whole

CONTENTS_FROM = 4
"""A page with so many titles at its highest level has a table of contents."""
LONG_FACT = 40
"""A fact with more letters than this has a row of its own."""


def write_page(path: Path, page: Page) -> Path:
    """Write the page as one HTML file, whole or not at all."""
    write_whole(path, page_as_html(page))
    return path


def page_as_html(page: Page) -> str:
    """The whole page as text."""
    writer = _Writer(page)
    body = writer.section(page.blocks, level=2)
    top = [(level, name, title) for level, name, title in writer.headings if level <= 3]
    contents = _contents(top) if sum(level == 2 for level, _, _ in top) >= CONTENTS_FROM else ""
    style = _assets("page.css", "figures.css", "media.css")
    script = _assets("page.js", "road.js", "replay.js")
    # The policy comes first, so that it holds for all that follows. It is ASCII, and the charset is told in time.
    # White on load would blink at people who read in the dark; the scheme is told before anything is drawn.
    return f"""<!doctype html>
<html lang="en">
<head>
<meta http-equiv="Content-Security-Policy" content="{content_policy(script, style)}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{as_text(page.title)}</title>
<style>{style}</style>
</head>
<body{' class="with-contents"' if contents else ""}>
{marker_definitions()}
<header class="head">
<h1>{as_content(page.title)}</h1>
{_paragraphs([page.lead], f"lead {page.tone}" if page.tone else "lead")}{_facts(page.facts)}
</header>
{contents}<main>
{body}</main>
<script type="module">{script}</script>
</body>
</html>
"""


class _Writer:
    """Writes blocks in order, and remembers the titles for the table of contents."""

    def __init__(self, page: Page) -> None:
        named = [block for block in walk(page.blocks) if isinstance(block, Lines | Replay)]
        self.styles: Mapping[str, Style] = styles_of(
            name
            for block in named
            for name in (
                [series.name for series in block.series]
                if isinstance(block, Lines)
                else [episode.policy for episode in block.episodes]
            )
        )
        self.headings: list[tuple[int, str, str]] = []

    def section(self, blocks: Sequence[Block], level: int) -> str:
        return f'<div class="blocks">\n{"".join(self.block(block, level) for block in blocks)}</div>\n'

    def block(self, block: Block, level: int) -> str:
        if isinstance(block, Command):
            return f'<pre class="wide command"><code>{as_content(block.text)}</code></pre>\n'
        heading, name = self.heading(block.title, level)
        if isinstance(block, Text):
            return f'<section class="wide text">{heading}{_paragraphs(block.paragraphs)}</section>\n'
        if isinstance(block, Group):
            inner = self.section(block.blocks, level + 1)
            return f'<section class="wide group">{heading}{inner}</section>\n'
        if isinstance(block, Table):
            return f'<figure class="wide table">{heading}{table_as_html(block, name)}{_note(block.note)}</figure>\n'
        if isinstance(block, Replay):
            inner = replay_as_html(block, self.styles)
            return f'<figure class="wide replay">{heading}{inner}{_note(block.note)}</figure>\n'
        if isinstance(block, Matrix):
            return f'<figure class="drawing">{heading}{matrix_chart(block)}{_note(block.note)}</figure>\n'
        drawing = scatter_chart(block) if isinstance(block, Scatter) else lines_chart(block, self.styles)
        return f'<figure class="drawing">{heading}{drawing}{_note(block.note)}</figure>\n'

    def heading(self, title: str, level: int) -> tuple[str, str]:
        """The title with an id that nobody else has."""
        words = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-") or "part"
        name = f"{words}-{len(self.headings) + 1}"
        if not title:
            return "", name
        self.headings.append((level, name, title))
        size = min(level, 6)
        return f'<h{size} id="{name}">{as_content(title)}</h{size}>', name


def _contents(headings: Sequence[tuple[int, str, str]]) -> str:
    items = "".join(
        f'<li class="level-{level}"><a href="#{name}">{as_content(title)}</a></li>' for level, name, title in headings
    )
    return f'<nav class="contents" aria-label="Contents"><p>Contents</p><ol>{items}</ol></nav>\n'


def _facts(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    items = []
    for name, value in facts.items():
        is_command = name.casefold() == "command"
        shown = f"<code>{as_content(value)}</code>" if is_command else _inline(value)
        long = ' class="long"' if is_command or len(value) > LONG_FACT else ""
        items.append(f"<div{long}><dt>{as_content(name)}</dt><dd>{shown}</dd></div>")
    return f'\n<dl class="facts">{"".join(items)}</dl>'


def _paragraphs(paragraphs: Sequence[str], kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return "".join(f"<p{attribute}>{_inline(text)}</p>" for text in paragraphs if text)


def _note(note: str) -> str:
    return f"<figcaption>{_inline(note)}</figcaption>" if note else ""


def _inline(text: str) -> str:
    """Safe text in which `code` is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", as_content(text))


def _assets(*names: str) -> str:
    """Files of the package in one piece; the scripts share one module, and nothing of it is global."""
    folder = files(__package__) / "assets"
    return "\n" + "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
