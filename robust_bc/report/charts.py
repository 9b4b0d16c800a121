"""Charts as SVG inside a figure: they show without JavaScript and in print, and follow the page's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robust_bc.report.blocks import Lines, Point, Scatter, Series
from robust_bc.report.escaping import as_content, as_text
from robust_bc.report.frames import BOTTOM, HEIGHT, TOP, WIDTH, Frame, axes, place
from robust_bc.report.palette import GLYPHS, Style, styles_of
from robust_bc.report.ticks import number_label, tick_label

MARKED = 24
"""Up to so many points of a line each have a marker; longer lines have some, to tell them apart."""
SOME = 8
MARGIN = 4.0
"""Of a shade, around the points that it holds."""
TOLD = 6000
"""Up to so many points of a scatter can be asked for their values."""


def marker_definitions() -> str:
    """The markers, once for the whole page."""
    paths = "".join(f'<path id="m{number}" d="{glyph}"/>' for number, glyph in enumerate(GLYPHS, start=1))
    return f'<svg class="definitions" width="0" height="0" aria-hidden="true"><defs>{paths}</defs></svg>'


def lines_chart(lines: Lines, styles: Mapping[str, Style]) -> str:
    """Legend and drawing of lines with their bands."""
    points = [series.points for series in lines.series]
    if not any(_drawn(each) for each in points):
        return _no_data(lines.series, styles)
    frame = Frame.around([point for each in points for point in each])
    bands, paths, markers = [], [], []
    for series, each in zip(lines.series, points, strict=True):
        classes = styles[series.name].classes + (" dashed" if series.dashed else "")
        bands.append(f'<g class="{classes}">{_band(frame, each)}</g>')
        runs = [run for run in _runs_of_drawn(each) if len(run) > 1]
        path = "".join(_polyline(frame, [(point.x, point.y) for point in run]) for run in runs)
        paths.append(f'<path class="line {classes}" d="{path}"/>' if path else "")
        markers.append(f'<g class="{classes}">{_markers(frame, series.name, each, styles, lines.percent_x)}</g>')
    around = _marked(frame, lines.marked)
    drawing = axes(frame, lines.x_label, lines.y_label, lines.percent_x) + "".join([around, *bands, *paths, *markers])
    return _legend(lines.series, styles, with_lines=True) + _svg(lines, drawing)


def scatter_chart(scatter: Scatter) -> str:
    """Legend and drawing of points; the names of a scatter have colours of their own."""
    styles = styles_of(series.name for series in scatter.series)
    points = [series.points for series in scatter.series]
    if not any(_drawn(each) for each in points):
        return _no_data(scatter.series, styles)
    frame = Frame.around([point for each in points for point in each])
    told = sum(len(each) for each in points) <= TOLD
    drawing = axes(frame, scatter.x_label, scatter.y_label)
    for series, each in zip(scatter.series, points, strict=True):
        style = styles[series.name]
        dots = "".join(
            _marker(frame, point, style, _tip(series.name, point, False) if told else "") for point in _drawn(each)
        )
        drawing += f'<g class="cloud {style.classes}">{dots}</g>'
    return _legend(scatter.series, styles, with_lines=False) + _svg(scatter, drawing)


def _marked(frame: Frame, marked: tuple[float, float] | None) -> str:
    """A shade behind a range of x, as far as the frame shows it."""
    if marked is None:
        return ""
    first, last = (min(max(value, frame.x_range[0]), frame.x_range[1]) for value in marked)
    left, right = frame.x(first) - MARGIN, frame.x(last) + MARGIN
    around = f"M{place(left)} {place(TOP)}H{place(right)}V{place(HEIGHT - BOTTOM)}H{place(left)}Z"
    return f'<path class="marked" d="{around}"/>'


def _svg(chart: Lines | Scatter, drawing: str) -> str:
    names = ", ".join(series.name for series in chart.series)
    label = f"{chart.title}: {chart.y_label} against {chart.x_label} of {names}"
    return (
        f'<svg class="chart" viewBox="0 0 {place(WIDTH)} {place(HEIGHT)}" role="img" '
        f'aria-label="{as_text(label)}">{drawing}</svg>'
    )


def _legend(series: Sequence[Series], styles: Mapping[str, Style], *, with_lines: bool) -> str:
    items = []
    for one in series:
        style = styles[one.name]
        line = '<path class="line" d="M1 7H27"/>' if with_lines else ""
        width, middle = (28, 14) if with_lines else (14, 7)
        swatch = (
            f'<svg width="{width}" height="14" viewBox="0 0 {width} 14" aria-hidden="true">{line}'
            f'<use href="#m{style.slot + 1}" x="{middle}" y="7"/></svg>'
        )
        empty = "" if _drawn(one.points) else " <em>no data</em>"
        classes = style.classes + (" dashed" if one.dashed else "")
        items.append(f'<li class="{classes}">{swatch}<span>{as_content(one.name)}{empty}</span></li>')
    return f'<ul class="legend">{"".join(items)}</ul>'


def _no_data(series: Sequence[Series], styles: Mapping[str, Style]) -> str:
    return _legend(series, styles, with_lines=False) + '<p class="empty">no data</p>'


def _drawn(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if point.x is not None and point.y is not None]


def _runs_of_drawn(points: Sequence[Point]) -> list[list[Point]]:
    return _runs([None if point.x is None or point.y is None else point for point in points])


def _runs(points: Sequence[Point | None]) -> list[list[Point]]:
    """The stretches between gaps."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _polyline(frame: Frame, values: Sequence[tuple[float | None, float | None]]) -> str:
    places = [f"{place(frame.x(x))} {place(frame.y(y))}" for x, y in values if x is not None and y is not None]
    return f"M{places[0]}" + "".join(f"L{spot}" for spot in places[1:])


def _band(frame: Frame, points: Sequence[Point]) -> str:
    """The interval: an area along the line, and a bar at a point that stands alone."""
    whole = [None if None in (point.x, point.y, point.low, point.high) else point for point in points]
    parts = []
    for run in _runs(whole):
        around = [(point.x, point.high) for point in run] + [(point.x, point.low) for point in reversed(run)]
        kind = "band" if len(run) > 1 else "bar"
        parts.append(f'<path class="{kind}" d="{_polyline(frame, around)}{"Z" if len(run) > 1 else ""}"/>')
    return "".join(parts)


def _markers(frame: Frame, name: str, points: Sequence[Point], styles: Mapping[str, Style], percent_x: bool) -> str:
    drawn = _drawn(points)
    every = 1 if len(drawn) <= MARKED else -(-len(drawn) // SOME)
    # A point between two gaps has no line to be seen by.
    alone = {id(run[0]) for run in _runs_of_drawn(points) if len(run) == 1}
    return "".join(
        _marker(
            frame,
            point,
            styles[name],
            _tip(name, point, percent_x),
            hidden=index % every != every // 2 and id(point) not in alone,
        )
        for index, point in enumerate(drawn)
    )


def _marker(frame: Frame, point: Point, style: Style, tip: str, *, hidden: bool = False) -> str:
    if point.x is None or point.y is None:
        return ""
    spot = f'x="{place(frame.x(point.x))}" y="{place(frame.y(point.y))}"'
    title = f"<title>{as_text(tip)}</title>" if tip else ""
    kind = ' class="hit"' if hidden else ""
    return f'<use href="#m{style.slot + 1}" {spot}{kind}>{title}</use>'


def _tip(name: str, point: Point, percent_x: bool) -> str:
    """The name, where, the value and its interval."""
    if point.x is None or point.y is None:
        return name
    where = tick_label(point.x, 0.001, percent=True) if percent_x else number_label(point.x)
    where = where.replace(".0 %", " %")
    interval, size = "", abs(point.y)
    if point.low is not None and point.high is not None:
        size = max(abs(point.low), abs(point.y), abs(point.high))
        interval = f" [{number_label(point.low, size)}, {number_label(point.high, size)}]"
    return f"{name}\n{where}: {number_label(point.y, size)}{interval}"
