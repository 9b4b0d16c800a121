from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.image
from markdown_it import MarkdownIt
from markdown_it.token import Token

from robust_bc.report import (
    Block,
    Cell,
    Column,
    Command,
    Group,
    Lines,
    Page,
    Series,
    Table,
    Text,
    code_as_markdown,
    lines_png,
    page_as_markdown,
    table_as_markdown,
    text_as_markdown,
)
from robust_bc.report.figures import figure
from robust_bc.report.palette import COLOURS
from robust_bc.system.plain_text import FIRST_STRONG_ISOLATE, POP_DIRECTIONAL_ISOLATE, visible
from tests.robust_bc.report.demo import demo_page
from tests.robust_bc.report.hostile import HARMLESS, HOSTILE, everywhere

LITERAL = ("text", "text_special")
TABLE = Table(
    "Return",
    [Column("method"), Column("30 %", "number", "high")],
    [[Cell("mlp"), Cell("177", 177, "95 to 260")], [Cell("a|b <c>"), Cell("2,631", 2631, "[2,510, 2,700]", True)]],
    "Ten seeds.",
)


def test_text_and_note_share_a_cell() -> None:
    assert table_as_markdown(TABLE) == (
        "| method | 30 % |\n| --- | ---: |\n| mlp | 177 [95 to 260] |\n| a\\|b &lt;c> | **2,631** [2,510, 2,700] |"
    )


def test_a_page_becomes_its_tables_texts_and_commands() -> None:
    lines = Lines("only drawn", "x", "y", [Series("a", [0], [1.0])])
    blocks: list[Block] = [
        Text("How", ["One.", "Two."]),
        Command("make bench"),
        Group("Task", [TABLE, lines]),
        Group("None", [lines]),
    ]
    assert page_as_markdown(Page("Title", "Lead.", {"command": "run it", "seeds": "10"}, blocks)) == (
        "# Title\n\nLead.\n\n- command: `run it`\n- seeds: 10\n\n## How\n\nOne.\n\nTwo.\n\n    make bench\n\n"
        f"## Task\n\n### Return\n\n{table_as_markdown(TABLE)}\n\nTen seeds.\n"
    )


def test_lines_become_panels_with_one_legend(tmp_path: Path) -> None:
    lines = [block for group in demo_page().blocks if isinstance(group, Group) for block in group.blocks]
    chosen = [block for block in lines if isinstance(block, Lines)][:2]
    path = lines_png(tmp_path / "lines.png", chosen)
    height, width, _ = matplotlib.image.imread(path).shape
    assert width > 2 * height
    drawn = figure(chosen)
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Oracle", "ChoiceNet", "MDN", "MLP", "Expert"]
    assert [axis.get_title(loc="left") for axis in drawn.axes] == [one.title for one in chosen]
    assert drawn.axes[0].lines[1].get_color() == COLOURS[0]
    assert [label.get_text() for label in drawn.axes[0].get_xticklabels()] == ["0 %", "10 %", "20 %", "30 %", "40 %"]


def test_lines_without_values_say_so(tmp_path: Path) -> None:
    drawn = figure([Lines("t", "x", "y", [Series("a", [0.0], [None])])])
    assert [text.get_text() for text in drawn.axes[0].texts] == ["no data"]
    assert lines_png(tmp_path / "empty.png", []).stat().st_size > 0


def test_markdown_shows_every_text_as_text() -> None:
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    hostile, texts = everywhere(HOSTILE)
    markdown, harmless = page_as_markdown(hostile), page_as_markdown(everywhere(HARMLESS)[0])
    markdown.encode()
    tokens = _flat(reader.parse(markdown))
    assert _kinds(tokens) == _kinds(_flat(reader.parse(harmless)))
    read = "".join(token.content for token in tokens)
    read = read.replace(FIRST_STRONG_ISOLATE, "").replace(POP_DIRECTIONAL_ISOLATE, "")
    told = [text for text in texts if text[text.rindex(" ") :] in read]  # Markdown leaves charts and replays out
    assert len(told) > 100
    assert [text for text in told if visible(text) not in read] == []


def _kinds(tokens: Sequence[Token]) -> list[str]:
    return [token.type for token in tokens if token.type not in LITERAL]


def _flat(tokens: Sequence[Token]) -> list[Token]:
    """Blocks and what stands inside them, but for the source that these were read from."""
    return [part for token in tokens for part in (_flat(token.children) if token.children else [token])]


def test_signs_of_markdown_stand_for_themselves() -> None:
    assert text_as_markdown("a_b _c_ *d* e|f `g|h` i` <j> [k](l) &amp; m & n\\\no") == (
        "a_b \\_c\\_ \\*d\\* e\\|f `g|h` i\\` &lt;j> [k]\\(l) &amp;amp; m & n\\\\ o"
    )
    assert code_as_markdown("a `b` ``c") == "```a `b` ``c```"
    assert code_as_markdown("`") == "`` ` ``"


def test_a_figure_takes_any_name(tmp_path: Path) -> None:
    name = "\ud800\x1b[31m \u202e $\\bad{$"
    lines = Lines(name, name, name, [Series(name, [0.0, 1.0], [0.0, 1.0])])
    assert lines_png(tmp_path / "lines.png", [lines]).stat().st_size > 0
