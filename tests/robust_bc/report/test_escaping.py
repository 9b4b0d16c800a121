"""Whatever a text is, a page shows it as text: in every field of every block, and in its data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from robust_bc.report import Block, page_as_html, write_page
from robust_bc.report.blocks import walk
from robust_bc.report.escaping import as_content, as_json
from robust_bc.system.plain_text import HIDDEN, visible
from tests.robust_bc.report.demo import demo_page
from tests.robust_bc.report.hostile import ARABIC, HARMLESS, HOSTILE, everywhere
from tests.robust_bc.report.test_page import Reader


def strings(content: Any) -> list[str]:
    """All texts of a JSON object, names included."""
    if isinstance(content, dict):
        return [*content, *(text for entry in content.values() for text in strings(entry))]
    if isinstance(content, list):
        return [text for entry in content for text in strings(entry)]
    return [content] if isinstance(content, str) else []


def shape(page: Reader) -> list[tuple[str, list[str]]]:
    """The elements and the names of their attributes, without what they say."""
    return [(tag, sorted(attributes)) for tag, attributes in page.elements]


def test_the_page_under_test_has_every_kind_of_block() -> None:
    assert {type(block) for block in walk(demo_page().blocks)} == set(get_args(Block))


def test_every_text_is_shown_as_text(tmp_path: Path) -> None:
    hostile, texts = everywhere(HOSTILE)
    html = write_page(tmp_path / "page.html", hostile).read_text(encoding="utf-8")
    page, harmless = Reader(html), Reader(page_as_html(everywhere(HARMLESS)[0]))
    assert shape(page) == shape(harmless)
    attributes = [str(value) for _, given in page.elements for value in given.values()]
    data = [text for script in page.scripts[:-1] for text in strings(json.loads(script))]
    shown = "\n".join([page.text, *attributes, *data])
    assert [text for text in texts if visible(text) not in shown] == []
    assert not re.search(HIDDEN, html.replace("\n", ""))


def test_data_cannot_end_its_element() -> None:
    text = as_json({HOSTILE: [HOSTILE]})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {HOSTILE: [HOSTILE]}
    with pytest.raises(ValueError, match="JSON"):
        as_json(float("nan"))


def test_right_to_left_words_are_set_apart() -> None:
    assert as_content(f"{ARABIC} {ARABIC}, {ARABIC} 0.3") == (f"<bdi>{ARABIC} {ARABIC}</bdi>, <bdi>{ARABIC}</bdi> 0.3")


def test_the_policy_comes_first_and_names_what_is_between_the_tags() -> None:
    html = page_as_html(demo_page())
    assert re.search(r"<head>\s*<meta http-equiv=\"Content-Security-Policy\"", html)
    (policy,) = (given["content"] for given in Reader(html).named("meta") if "http-equiv" in given)
    directives = dict(part.split(" ", 1) for part in str(policy).split("; "))
    assert directives["default-src"] == directives["base-uri"] == directives["form-action"] == "'none'"
    assert "unsafe" not in str(policy)
    for directive, tag in (("script-src", 'script type="module"'), ("style-src", "style")):
        (inner,) = re.findall(rf"<{tag}>(.*?)</{tag.split()[0]}>", html, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert directives[directive] == f"'sha256-{digest}'"


def test_a_page_has_no_inline_styles_and_no_handlers() -> None:
    for tag, attributes in Reader(page_as_html(demo_page())).elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag
