"""Chromium runs the page's own script and nothing else, whatever the texts say and whoever adds to the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Error, expect

from robust_bc.auditing.findings import Finding
from robust_bc.auditing.showing.page import audit_page
from robust_bc.evaluation.metrics import Metric
from robust_bc.evaluation.page import evaluation_page
from robust_bc.evaluation.results import Evaluation
from robust_bc.report import Block, Page, Replay, ReplayEpisode, Text, write_page
from robust_bc.system.plain_text import visible
from tests.robust_bc.auditing.audits import agreement_of, make_audit
from tests.robust_bc.report.browser import chromium
from tests.robust_bc.report.demo import demo_page, straight_replay
from tests.robust_bc.report.hostile import ARABIC, HOSTILE, everywhere
from tests.robust_bc.report.visits import Visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def hostile_audit() -> Page:
    """Sources, dataset, command and findings are what their makers wrote, and so are the replays."""
    bad = np.arange(6) % 3 == 0
    sources = [f"{HOSTILE} {episode % 2}" for episode in range(6)]
    audit = make_audit(
        np.repeat(np.where(bad, 0.0, 0.9), 20),
        np.repeat(np.arange(6), 20),
        sources,
        dataset=HOSTILE,
        agreement=agreement_of(bad.tolist()),
        findings=(Finding(HOSTILE, 1, 2, HOSTILE, True),),
    )
    return audit_page(audit, Path(HOSTILE), HOSTILE, more=[hostile_replay()])


def hostile_evaluation() -> Page:
    """Policies are named by their folders; tasks and failures come from whoever wrote the environment."""
    evaluations = []
    for number in range(2):
        rows: list[dict[str, float | int | str | None]] = [
            {"episode": e, "seed": e, "return": float(e), "length": 9, HOSTILE: 0.5, "failure": None} for e in range(4)
        ]
        rows.append({"episode": 4, "seed": 4, "return": None, "length": None, HOSTILE: None, "failure": HOSTILE})
        metrics = (Metric(HOSTILE, HOSTILE, "last"),)
        evaluations.append(Evaluation(f"{HOSTILE} {number}", HOSTILE, HOSTILE, 0, {}, metrics, None, rows))
    return evaluation_page(evaluations, {"command": HOSTILE, HOSTILE: HOSTILE}, [hostile_replay()])


def hostile_replay() -> Replay:
    episodes = [ReplayEpisode(f"{HOSTILE} {n}", HOSTILE, [], [[0.0, 0, 0], [1.0, 0, 0]], HOSTILE) for n in range(2)]
    return Replay(HOSTILE, straight_replay().road, episodes, HOSTILE)


@pytest.mark.parametrize("make", [lambda: everywhere(HOSTILE)[0], hostile_audit, hostile_evaluation])
def test_texts_are_shown_and_never_run(browser: Browser, tmp_path: Path, make: Callable[[], Page]) -> None:
    page = make()
    path = write_page(tmp_path / "page.html", page)
    visited = Visit(browser, path)
    replay, table = visited.page.locator(".replay").first, visited.page.locator("table").first
    replay.locator(".play").click()
    replay.locator(".compare input").check()
    table.locator("thead button").first.click()
    expect(table.locator("thead th").first).to_have_attribute("aria-sort", "ascending")
    assert visited.page.evaluate("typeof window.__owned") == "undefined"
    assert visited.page.title() == visible(page.title)
    assert visible(HOSTILE) in str(replay.locator(".legend li").first.text_content())
    assert visible(HOSTILE) in str(table.text_content())
    assert visited.page.locator("img, iframe, object, [onerror], [onload], [style]:not(.tip)").count() == 0
    assert visited.page.locator("script:not([type='application/json'])").count() == 1
    assert visited.problems == []
    assert visited.requests == [path.as_uri()]
    assert visited.overflow() == 0
    name, box = (table.locator(place).first.bounding_box() for place in (".name", "xpath=.."))
    assert name is not None
    assert box is not None
    assert name["width"] < box["width"] / 2  # it stays while the numbers scroll, and leaves room for them
    visited.page.close()


def test_what_is_added_to_the_file_is_blocked(browser: Browser, tmp_path: Path) -> None:
    path = write_page(tmp_path / "page.html", demo_page())
    added = [
        "<script>window.__owned=1</script>",
        "<img src=x onerror='window.__owned=1'>",
        "<style>body { display: none }</style>",
        "<p style='position: fixed'>x</p>",
        "<a href='javascript:window.__owned=1'>y</a>",
        "<iframe srcdoc='<script>parent.__owned=1</script>'></iframe>",
    ]
    path.write_text(path.read_text().replace("</body>", "".join(added) + "</body>"))
    visited = Visit(browser, path)
    visited.page.get_by_text("y", exact=True).click()
    assert visited.page.evaluate("typeof window.__owned") == "undefined"
    expect(visited.page.locator("h1")).to_be_visible()
    expect(visited.page.locator("thead button").first).to_be_visible()  # our own script ran
    assert len(visited.problems) >= len(added)
    assert all("Content Security Policy" in problem for problem in visited.problems)
    visited.page.close()


def test_a_changed_script_is_blocked_and_html_cannot_be_written(browser: Browser, tmp_path: Path) -> None:
    path = write_page(tmp_path / "page.html", demo_page())
    visited = Visit(browser, path)
    with pytest.raises(Error, match="TrustedHTML"):
        visited.page.evaluate("document.body.innerHTML = '<b>x</b>'")
    visited.page.close()
    path.write_text(path.read_text().replace('<script type="module">', '<script type="module">window.__owned=1;'))
    changed = Visit(browser, path)
    assert changed.page.evaluate("typeof window.__owned") == "undefined"
    assert changed.page.locator("thead button").count() == 0
    changed.page.close()


def test_a_name_from_right_to_left_does_not_turn_the_line(browser: Browser, tmp_path: Path) -> None:
    episode = ReplayEpisode(ARABIC, "1", [], [[0.0, 0, 0], [1.0, 0, 0]], "12 metres")
    other = ReplayEpisode("b", "1", [], [[0.0, 0, 0], [1.0, 0, 0]], "12 metres")
    blocks: list[Block] = [Text("", [f"{ARABIC}: 12 metres"]), Replay("r", straight_replay().road, [episode, other])]
    visited = Visit(browser, write_page(tmp_path / "page.html", Page("t", "", {}, blocks)))
    visited.page.locator(".compare input").check()
    for place in (".text p", ".legend li span"):
        line = visited.page.locator(place).first
        name, number = (line.evaluate(LEFT, text) for text in (ARABIC, "12"))
        assert name < number, place
    visited.page.close()


LEFT = """(line, text) => {
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.data.indexOf(text);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + text.length);
    return range.getBoundingClientRect().left;
  }
  return null;
}"""
