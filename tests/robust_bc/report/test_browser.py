from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from robust_bc.report import write_page
from tests.robust_bc.report.browser import PHONE, chromium
from tests.robust_bc.report.demo import demo_page
from tests.robust_bc.report.visits import Visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(tmp_path_factory.mktemp("report") / "demo.html", demo_page())


@pytest.fixture
def visit(browser: Browser, demo: Path) -> Iterator[Visit]:
    """The demo page; whatever a test does there, nothing may go wrong or ask the network."""
    visited = Visit(browser, demo)
    yield visited
    assert visited.problems == []
    assert visited.requests == [demo.as_uri()]
    visited.page.close()


def pixels(canvas: Locator) -> str:
    return str(canvas.evaluate("canvas => canvas.toDataURL()"))


def frame(replay: Locator) -> float:
    return float(replay.locator(".scrub").input_value())


def wait_beyond(replay: Locator, step: float) -> None:
    """Asks from outside: the page's policy lets nobody evaluate a string inside it."""
    end = time.monotonic() + 20
    while frame(replay) <= step:
        assert time.monotonic() < end
        time.sleep(0.02)


def first_column(table: Locator) -> list[str]:
    return [text.split("\n")[0] for text in table.locator("tbody th").all_inner_texts()]


def test_a_replay_waits_then_plays_and_pauses(visit: Visit) -> None:
    replay = visit.page.locator(".replay").first
    canvas, play = replay.locator("canvas"), replay.locator(".play")
    visit.page.wait_for_timeout(300)
    assert frame(replay) == 0
    before = pixels(canvas)
    play.click()
    expect(play).to_have_attribute("aria-label", "pause")
    wait_beyond(replay, 3)
    play.click()
    expect(play).to_have_attribute("aria-label", "play")
    stopped = frame(replay)
    assert pixels(canvas) != before
    visit.page.wait_for_timeout(200)
    assert frame(replay) == stopped


def test_a_replay_stops_at_its_end_and_begins_anew(visit: Visit) -> None:
    replay = visit.page.locator(".replay").first
    replay.locator(".speeds button", has_text="4×").click()
    end = replay.locator(".scrub").evaluate(
        "e => { e.value = e.max - 4; e.dispatchEvent(new Event('input')); return +e.max }"
    )
    replay.locator(".play").click()
    expect(replay.locator(".play")).to_have_attribute("aria-label", "play")
    assert frame(replay) == end
    replay.locator(".play").click()
    wait_beyond(replay, 1)
    assert frame(replay) < end


def test_a_replay_can_be_scrubbed_and_stepped_by_keys(visit: Visit) -> None:
    replay = visit.page.locator(".replay").first
    canvas, scrub = replay.locator("canvas"), replay.locator(".scrub")
    before = pixels(canvas)
    scrub.scroll_into_view_if_needed()
    box = scrub.bounding_box()
    assert box is not None
    visit.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert frame(replay) == pytest.approx(float(str(scrub.get_attribute("max"))) / 2, rel=0.05)
    assert pixels(canvas) != before
    here = round(frame(replay))
    scrub.press("ArrowRight")
    assert frame(replay) == here + 1
    canvas.focus()
    canvas.press("ArrowLeft")
    canvas.press("ArrowLeft")
    assert frame(replay) == here - 1
    canvas.press(" ")
    expect(replay.locator(".play")).to_have_attribute("aria-label", "pause")
    canvas.press(" ")
    expect(replay.locator(".play")).to_have_attribute("aria-label", "play")


def test_another_policy_and_episode_can_be_chosen_and_compared(visit: Visit) -> None:
    replay = visit.page.locator(".replay").first
    canvas = replay.locator("canvas")
    replay.locator(".scrub").evaluate("e => { e.value = 50; e.dispatchEvent(new Event('input')) }")
    replay.locator(".episode").select_option("2")
    assert frame(replay) == 0
    before, outcome = pixels(canvas), replay.locator(".badge").inner_text()
    replay.locator(".policy").select_option("MLP")
    assert replay.locator(".episode").input_value() == "2"
    assert (outcome, replay.locator(".badge").inner_text()) == ("✓ success", "✕ collision")
    assert pixels(canvas) != before
    replay.locator(".scrub").evaluate("e => { e.value = 50; e.dispatchEvent(new Event('input')) }")
    alone = pixels(canvas)
    replay.locator(".compare input").check()
    assert pixels(canvas) != alone
    assert replay.locator(".legend li").all_inner_texts() == ["ChoiceNet: success", "MDN: success", "MLP: collision"]


def test_a_table_sorts_by_numbers_best_first_and_back(visit: Visit) -> None:
    table = visit.page.locator("table").nth(2)
    assert first_column(table) == ["ChoiceNet", "MDN", "MLP", "Oracle", "No learning"]
    collisions = table.locator("thead th").nth(1)
    collisions.locator("button").click()
    assert collisions.get_attribute("aria-sort") == "ascending"
    assert first_column(table) == ["Oracle", "ChoiceNet", "MDN", "MLP", "No learning"]
    collisions.locator("button").press("Enter")
    assert collisions.get_attribute("aria-sort") == "descending"
    # What has no value stays last.
    assert first_column(table) == ["MLP", "MDN", "ChoiceNet", "Oracle", "No learning"]
    # As text, 990 would stand behind 1000; equal values keep their order.
    table.locator("thead th").nth(3).locator("button").click()
    assert first_column(table) == ["No learning", "MDN", "MLP", "ChoiceNet", "Oracle"]
    names = table.locator("thead th").nth(0)
    names.locator("button").click()
    assert (names.get_attribute("aria-sort"), collisions.get_attribute("aria-sort")) == ("ascending", None)
    assert first_column(table) == ["ChoiceNet", "MDN", "MLP", "No learning", "Oracle"]


def test_a_chart_tells_the_value_under_the_pointer(visit: Visit) -> None:
    chart = visit.page.locator("svg.chart").first
    chart.scroll_into_view_if_needed()
    mark = chart.locator(".s2 use").last
    box = mark.bounding_box()
    assert box is not None
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = visit.page.locator(".tip")
    expect(tip).to_be_visible()
    assert tip.inner_text() == ("MLP\n40 %: 698 [60, 1,335]")
    visit.page.mouse.move(2, 2)
    expect(tip).to_be_hidden()


@pytest.mark.parametrize("width", [320, PHONE, 800, 1600])
def test_no_width_scrolls_the_page_sideways(browser: Browser, demo: Path, width: int) -> None:
    visited = Visit(browser, demo, width, has_touch=width <= PHONE)
    assert visited.overflow() == 0
    if width == PHONE:
        box = visited.page.locator(".scroll").first
        assert box.evaluate("e => e.scrollWidth > e.clientWidth")
        before = box.locator("tbody th").first.bounding_box()
        box.evaluate("e => { e.scrollLeft = 150 }")
        assert box.locator("tbody th").first.bounding_box() == before  # the names of the rows stay
        text = visited.page.locator("svg.chart text").first.bounding_box()
        assert text is not None
        assert text["height"] >= 11
    visited.page.close()


def test_the_dark_is_dark_also_on_the_canvas(visit: Visit) -> None:
    light, canvas = visit.colour("body"), visit.page.locator("canvas").first
    drawn = pixels(canvas)
    visit.page.emulate_media(color_scheme="dark")
    assert (light, visit.colour("body")) == ("rgb(255, 255, 255)", "rgb(20, 23, 27)")
    assert pixels(canvas) != drawn


def test_paper_is_white_and_has_no_controls(browser: Browser, demo: Path) -> None:
    visited = Visit(browser, demo, color_scheme="dark")
    visited.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visited.page.emulate_media(media="print", color_scheme="dark")
    assert visited.colour("body") == "rgb(255, 255, 255)"
    for selector in (".controls", ".above", ".copy", ".contents"):
        expect(visited.page.locator(selector).first).to_be_hidden()
    expect(visited.page.locator(".told").first).to_be_visible()
    corner = "canvas => [...canvas.getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3).every(v => v > 200)"
    assert visited.page.locator("canvas").first.evaluate(corner)
    assert visited.overflow() == 0
    assert visited.problems == []
    visited.page.close()


def test_canvases_are_as_sharp_as_the_screen(browser: Browser, demo: Path) -> None:
    visited = Visit(browser, demo, device_scale_factor=3)
    ratio = "canvas => canvas.width / canvas.getBoundingClientRect().width"
    assert visited.page.locator("canvas").first.evaluate(ratio) == pytest.approx(3, rel=0.01)
    visited.page.close()


def test_without_javascript_all_but_the_replay_is_there(browser: Browser, demo: Path) -> None:
    visited = Visit(browser, demo, java_script_enabled=False)
    expect(visited.page.locator("svg.chart").first).to_be_visible()
    expect(visited.page.get_by_text("The replay needs JavaScript.").first).to_be_visible()
    assert visited.page.locator("thead button").count() == 0
    visited.page.close()
