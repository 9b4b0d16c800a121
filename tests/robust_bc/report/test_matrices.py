"""A matrix shows every value in the colour of its size, in its group."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from robust_bc.errors import RobustBCError
from robust_bc.report import Lines, Matrix, MatrixGroup, Page, Series, page_as_html
from robust_bc.report.matrices import LEVELS, NAMED, TOLD, level, matrix_chart
from tests.robust_bc.report.demo import agreeing


def test_levels_go_from_the_least_to_the_most() -> None:
    assert [level(value, 1.0, 3.0) for value in (0.0, 1.0, 1.19, 2.0, 2.99, 3.0, 9.0)] == [0, 0, 0, 5, 9, 9, 9]


def test_every_pair_has_its_cell_and_tells_its_value() -> None:
    html = matrix_chart(agreeing(4, 2))
    cells = re.findall(
        r'<path class="cell h(\d)" d="[^"]+"><title>episode (\d) and episode (\d): ([\d.]+)</title>', html
    )
    assert len(cells) == 6 * 5  # none with itself
    for colour, row, column, value in cells:
        same = (int(row) < 4) == (int(column) < 4)
        assert (int(colour), float(value)) == ((0, 0.2) if same else (LEVELS - 1, 0.8))
    assert html.count('class="end suspect"') + html.count('class="middle suspect"') == 2 * 2
    assert re.findall(r"<span>(\w+)</span>", html) == ["majority", "others", "difference"]


def test_neighbours_of_a_colour_are_one_cell_where_there_are_many() -> None:
    html = matrix_chart(agreeing(40, 24))
    assert max(TOLD, NAMED) < 64
    assert "<title>" not in html
    assert "episode 3<" not in html
    # In each row: the others in one, and one's own group in two, around the blank.
    assert html.count('class="cell') == 64 * 3 - 4  # at the ends of a group there is nothing on one side
    assert len(html) < 30_000


def test_gaps_and_nothing_at_all() -> None:
    nan = float("nan")
    lone = Matrix("t", ["a"], [[None]], [MatrixGroup("g", 1)], "x")
    assert "no data" in matrix_chart(lone)
    drawn = matrix_chart(
        replace(lone, names=["a", "b"], values=[[nan, 1.0], [float("inf"), None]], groups=[MatrixGroup("g", 2)])
    )
    assert drawn.count('class="cell') == 1
    assert not re.search(r"\b(nan|inf)\b", drawn)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"values": [[0.0, 1.0]]}, "must have 3 rows of 3 values"),
        ({"groups": [MatrixGroup("g", 2)]}, "the groups of the matrix 'Disagreement' must have 3 rows together"),
        ({"groups": [MatrixGroup("g", 3), MatrixGroup("h", 0)]}, "must have 3 rows together"),
        ({"suspects": [True]}, "has 1 suspects for 3 names"),
    ],
)
def test_what_is_no_matrix_is_refused(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        replace(agreeing(2, 1), **change)  # type: ignore[arg-type]


def test_a_range_is_marked_behind_the_lines() -> None:
    lines = Lines("t", "x", "y", [Series("s", [0.0, 10.0], [0.0, 1.0])], marked=(4.0, 99.0))
    html = page_as_html(Page("t", "", {}, [lines]))
    (shade,) = re.findall(r'<path class="marked" d="M([\d.]+) [\d.]+H([\d.]+)V', html)
    dots = [float(x) for x in re.findall(r'<use href="#m1" x="([\d.]+)" y="[\d.]+"><title>', html)]
    left, right = map(float, shade)
    assert dots[0] < left < dots[1] < right < dots[1] + 10  # never beyond the frame
    assert html.index('class="marked"') < html.index('class="line s1"', html.index("<main>"))
