from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from robust_bc.errors import RobustBCError
from robust_bc.report import (
    Cell,
    Column,
    Lines,
    Page,
    Replay,
    ReplayEpisode,
    Series,
    Table,
    Text,
    page_as_html,
    write_page,
)
from robust_bc.report.palette import COLOURS, styles_of
from robust_bc.report.replays import replay_data
from tests.robust_bc.report.demo import demo_page, straight_replay

ROAD = {"lanes": 2, "lane_width": 3.5, "dt": 0.1, "pieces": [{"start": [0, 0, 0], "length": 50, "curvature": 0}]}
VOID = {"meta", "path", "use", "br", "img", "input", "link"}


class Reader(HTMLParser):
    """What a page is made of, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_the_page_needs_nothing_but_itself() -> None:
    html = page_as_html(demo_page())
    page = Reader(html)
    assert "http:" not in html
    assert "https:" not in html
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|import\(", html)
    for tag, attributes in page.elements:
        assert "src" not in attributes, tag
        assert str(attributes.get("href", "#")).startswith("#"), tag
    assert not page.named("link")


def test_headings_are_in_order_and_links_lead_somewhere() -> None:
    page = Reader(page_as_html(demo_page()))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(names) == len(set(names))
    assert {str(link["href"])[1:] for link in page.named("a")} <= set(names)
    assert len(page.named("caption")) == len(page.named("table"))
    assert all(region["aria-labelledby"] in names for region in page.named("div") if "aria-labelledby" in region)


def test_a_short_page_has_no_contents() -> None:
    assert not Reader(page_as_html(Page("t", "", {}, [Text("a", ["b"])]))).named("nav")
    assert Reader(page_as_html(demo_page())).named("nav")


def test_no_nan_reaches_the_page() -> None:
    nan, inf = float("nan"), float("inf")
    poses = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [nan, 0.0, 0.0], [2.0, 0.0, 0.0]]
    replay = Replay("r", ROAD, [ReplayEpisode("p", "1", [], poses, "lost", {})])
    table = Table(
        "t", [Column("a"), Column("b", "number")], [[Cell("x", "x"), Cell("–", nan)], [Cell("y"), Cell("–", inf)]]
    )
    html = page_as_html(Page("t", "", {}, [replay, table]))
    data = json.loads(Reader(html).scripts[0], parse_constant=pytest.fail)
    (episode,) = data["episodes"]
    assert episode["poses"] == [[0, 0, 0], [1, 0, 0]]
    assert episode["facts"]["shown"].startswith("until 0.2 s")
    assert 'data-value="nan"' not in html
    assert 'data-value="inf"' not in html


def test_arrays_serve_as_lists() -> None:
    poses = np.cumsum(np.ones((5, 3)), axis=0)
    replay = Replay("r", ROAD, [ReplayEpisode("p", "1", np.zeros((1, 3)), poses, "success")])  # type: ignore[arg-type]
    values = np.array([1.0, 2.0, np.nan], np.float32)
    lines = Lines("l", "x", "y", [Series("a", np.arange(3), values, values - 1, values + 1)])  # type: ignore[arg-type]
    cells = [[Cell("", value)] for value in values]
    table = Table("t", [Column("a", "number")], cells)
    html = page_as_html(Page("t", "", {}, [replay, lines, table]))
    assert len(json.loads(Reader(html).scripts[0])["episodes"][0]["poses"]) == 5
    assert re.findall('data-value="([^"]*)"', html) == ["1.0", "2.0"]


def test_a_replay_is_checked() -> None:
    with pytest.raises(RobustBCError, match="has no 'dt'"):
        Replay("r", {key: value for key, value in ROAD.items() if key != "dt"}, [])
    one = ReplayEpisode("p", "1", [], [[0, 0, 0]], "success")
    with pytest.raises(RobustBCError, match="episode '1' of policy 'p' twice"):
        Replay("r", ROAD, [one, one])
    lost = ReplayEpisode("p", "1", [[float("inf"), 0, 0]], [[0, 0, 0]], "success")
    with pytest.raises(RobustBCError, match="no finite number"):
        page_as_html(Page("t", "", {}, [Replay("r", ROAD, [lost])]))
    assert "no data" in page_as_html(Page("t", "", {}, [Replay("r", ROAD, [])]))


def test_the_driven_path_is_kept_to_the_centimetre() -> None:
    replay = straight_replay()
    data = replay_data(replay, styles_of(episode.policy for episode in replay.episodes))
    for told, episode in zip(data["episodes"], replay.episodes, strict=True):
        for rounded, pose in zip(told["poses"], episode.poses, strict=True):
            assert rounded == pytest.approx(list(pose), abs=0.0051)


def test_a_table_row_must_fit_its_columns() -> None:
    with pytest.raises(RobustBCError, match="row 2 of the table 't' has 1 cells for 2 columns"):
        Table("t", [Column("a"), Column("b")], [[Cell("1"), Cell("2")], [Cell("3")]])
    with pytest.raises(RobustBCError, match="'text' or 'number'"):
        Column("a", "date")  # type: ignore[arg-type]


def test_the_file_is_whole_and_the_same_every_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    assert write_page(path, demo_page()) == path
    text = path.read_text()
    assert text.startswith("<!doctype html>")
    assert text.endswith("</html>\n")
    write_page(path, demo_page())
    assert path.read_text() == text
    assert [child.name for child in path.parent.iterdir()] == ["page.html"]


def themes() -> list[dict[str, str]]:
    style = (files("robust_bc.report") / "assets" / "page.css").read_text()
    light, dark = style.split("prefers-color-scheme: dark")
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))
    return [colours, colours | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", dark))]


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_everything_can_be_told_from_its_ground(theme: dict[str, str]) -> None:
    """The contrasts that the Web Content Accessibility Guidelines ask for: 4.5 for text, 3 for what is drawn."""
    for text, ground in (
        ("ink", "paper"),
        ("quiet", "paper"),
        ("quiet", "raised"),
        ("accent", "paper"),
        ("ink", "best"),
        ("good", "good-wash"),
        ("bad", "bad-wash"),
        ("quiet", "ground"),
    ):
        assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    for number in range(1, len(COLOURS) + 1):
        assert contrast(theme[f"series-{number}"], theme["paper"]) >= 3, number
    assert contrast(theme["standing"], theme["asphalt"]) >= 2.5


def test_the_colours_of_the_page_are_those_of_the_figures() -> None:
    assert [themes()[0][f"series-{number}"] for number in range(1, len(COLOURS) + 1)] == list(COLOURS)
