from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_bc.errors import RobustBCError
from robust_bc.report import Lines, Scatter, Series
from robust_bc.report.blocks import Point
from robust_bc.report.charts import lines_chart, scatter_chart
from robust_bc.report.frames import BOTTOM, HEIGHT, RIGHT, TOP, WIDTH, Frame
from robust_bc.report.palette import COLOURS, GLYPHS, GREY, INK, SHAPES, Style, styles_of
from robust_bc.report.ticks import number_label, tick_label, ticks_around, ticks_within, widened, with_zero

NAN = float("nan")


def drawn(*series: Series, percent_x: bool = False) -> str:
    return lines_chart(Lines("t", "x", "y", series, percent_x=percent_x), styles_of(one.name for one in series))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 0.4, [0.0, 0.1, 0.2, 0.3, 0.4]),
        (0.0, 5900.0, [0.0, 2000.0, 4000.0, 6000.0]),
        (-414.0, 2958.0, [-1000.0, 0.0, 1000.0, 2000.0, 3000.0]),
        (0.3, 0.35, [0.3, 0.31, 0.32, 0.33, 0.34, 0.35]),
    ],
)
def test_ticks_are_nice_and_enclose_the_range(low: float, high: float, expected: list[float]) -> None:
    assert ticks_around(low, high) == expected


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_ticks_are_few_even_and_in_their_place(low: float, span: float) -> None:
    low, high = widened(low, low + span)
    around, within = ticks_around(low, high), ticks_within(low, high)
    room = 1e-6 * (high - low)
    assert around[0] <= low + room
    assert around[-1] >= high - room
    assert all(low - room <= tick <= high + room for tick in within)
    assert 2 <= len(around) <= 7
    assert 1 <= len(within) <= 6
    steps = [b - a for a, b in pairwise(around)]
    assert max(steps) - min(steps) <= 1e-6 * max(steps)


def test_numbers_are_written_for_people() -> None:
    assert tick_label(5900.0, 100.0) == "5,900"
    assert tick_label(-0.25, 0.25) == "−0.25"
    assert tick_label(0.3, 0.1, percent=True) == "30 %"
    assert tick_label(0.025, 0.025, percent=True) == "2.5 %"
    assert tick_label(-0.0, 1.0) == "0"
    assert number_label(-12345.6) == "−12,346"
    assert number_label(0.123456) == "0.1235"
    assert number_label(60.44, size=1335.0) == "60"
    assert [number_label(value) for value in (0.0, 50.0, 2e12, 1e-9)] == ["0", "50", "2e+12", "1e-09"]


def test_an_axis_has_room_around_equal_values_and_shows_zero_where_it_is_near() -> None:
    assert widened(3.0, 3.0) == (2.7, 3.3)
    assert widened(0.0, 0.0) == (-1.0, 1.0)
    assert with_zero(2.0, 10.0) == (0.0, 10.0)
    assert with_zero(8.0, 10.0) == (8.0, 10.0)
    assert with_zero(-10.0, -2.0) == (-10.0, 0.0)


def test_the_frame_holds_every_point_and_interval() -> None:
    points = [Point(0.0, 1.0, -3.0, 4.0), Point(2.0, 9.0, None, None), Point(None, 99.0, None, None)]
    frame = Frame.around(points)
    assert frame.y_range[0] <= -3.0
    assert 9.0 <= frame.y_range[1] < 99.0
    assert frame.left < frame.x(0.0) < frame.x(2.0) < WIDTH - RIGHT
    assert frame.y(frame.y_range[0]) == pytest.approx(HEIGHT - BOTTOM)
    assert frame.y(frame.y_range[1]) == pytest.approx(TOP)
    assert frame.y(9.0) < frame.y(1.0)


def test_a_line_breaks_at_gaps_and_a_lone_point_keeps_its_marker() -> None:
    chart = drawn(Series("a", [0, 1, 2, 3, 4], [1.0, 2.0, None, 3.0, NAN]))
    (path,) = re.findall(r'<path class="line s1" d="([^"]*)"', chart)
    assert (path.count("M"), path.count("L")) == (1, 1)
    assert len(re.findall(r'<use href="#m1" x="[^"]*" y="[^"]*"><title>', chart)) == 3
    long = drawn(Series("a", list(range(100)), [NAN if i in (49, 51) else float(i) for i in range(100)]))
    alone = re.findall(r'<use href="#m1" x="[^"]*" y="[^"]*"( class="hit")?><title>a\n50: 50</title>', long)
    assert alone == [""]


def test_a_band_follows_its_interval_and_a_lone_point_has_a_bar() -> None:
    series = Series("a", [0, 1, 2, 3], [1.0, 2, 3, 4], [0.5, 1.5, None, 3.5], [1.5, 2.5, 3.5, 4.5])
    chart = drawn(series)
    frame = Frame.around(series.points)
    (band,) = re.findall(r'<path class="band" d="M([^Z]*)Z"', chart)
    places = [float(number) for spot in band.split("L") for number in spot.split()]
    expected = [(0, 1.5), (1, 2.5), (1, 1.5), (0, 0.5)]
    assert places == pytest.approx([at for x, y in expected for at in (frame.x(x), frame.y(y))], abs=0.06)
    assert chart.count('class="bar"') == 1


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0, 3.0], [-5.0, -5.5], [1e12, 3e12], [1e-9, 2e-9], [0.0]])
def test_unusual_values_are_drawn_inside_the_frame(values: list[float]) -> None:
    chart = drawn(Series("a", list(range(len(values))), values))
    marks = re.findall(r'x="([^"]*)" y="([^"]*)"><title>', chart)
    assert len(marks) == len(values)
    assert all(0 < float(x) < WIDTH and TOP - 1 <= float(y) <= HEIGHT - BOTTOM + 1 for x, y in marks)
    assert "nan" not in chart
    assert "inf" not in chart


@pytest.mark.parametrize("values", [[], [NAN, None], [math.inf]])
def test_without_values_it_says_so(values: list[float | None]) -> None:
    series = Series("a", list(range(len(values))), values)
    assert '<p class="empty">no data</p>' in drawn(series)
    assert '<p class="empty">no data</p>' in scatter_chart(Scatter("t", "x", "y", [series]))
    beside = drawn(series, Series("b", [0, 1], [1.0, 2.0]))
    assert "<svg class=" in beside
    assert "a <em>no data</em>" in beside


def test_a_point_tells_its_values() -> None:
    chart = drawn(Series("mlp", [0.3], [5432.1], [5000.0], [5900.0]), percent_x=True)
    assert "<title>mlp\n30 %: 5,432 [5,000, 5,900]</title>" in chart


def test_thousands_of_points_are_one_mark_each() -> None:
    count = 3000
    chart = scatter_chart(Scatter("t", "x", "y", [Series("clean", list(range(count)), [0.5] * count)]))
    assert chart.count("<title>") == count
    assert len(chart) < 150 * count


def test_series_of_unequal_lengths_are_refused() -> None:
    with pytest.raises(RobustBCError, match="'a' has 2 x but 1 low"):
        Series("a", [0, 1], [0.0, 1.0], [0.0], [0.0, 1.0])


def test_known_names_keep_their_colour_and_no_two_share_one() -> None:
    styles = styles_of(["trimmed", "Oracle", "MDN", "ChoiceNet", "expert", "choicenet, fixed", "mlp"])
    known = [styles[name].slot for name in ("ChoiceNet", "mlp", "MDN", "Oracle", "expert")]
    assert known == [0, 1, 2, INK, GREY]
    assert len(set(styles.values())) == len(styles)
    many = styles_of(str(number) for number in range(16))
    assert len(set(many.values())) == 16
    assert many["8"] == Style(0, dotted=True)
    assert len(COLOURS) == len(GLYPHS) == len(SHAPES)
