"""One self-contained HTML page of tables, charts, matrices and replays, and the same blocks as Markdown and PNG."""

from robust_bc.report.blocks import (
    Block,
    Cell,
    Column,
    Command,
    Group,
    Lines,
    Matrix,
    MatrixGroup,
    Page,
    Replay,
    ReplayEpisode,
    Scatter,
    Series,
    Table,
    Text,
)
from robust_bc.report.figures import lines_png
from robust_bc.report.markdown import code_as_markdown, page_as_markdown, table_as_markdown, text_as_markdown
from robust_bc.report.page import page_as_html, write_page

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Command",
    "Group",
    "Lines",
    "Matrix",
    "MatrixGroup",
    "Page",
    "Replay",
    "ReplayEpisode",
    "Scatter",
    "Series",
    "Table",
    "Text",
    "code_as_markdown",
    "lines_png",
    "page_as_html",
    "page_as_markdown",
    "table_as_markdown",
    "text_as_markdown",
    "write_page",
]
