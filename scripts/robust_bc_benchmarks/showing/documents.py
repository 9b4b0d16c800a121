"""Pages of docs/ out of the committed results: Jinja templates that ask for tables, commands and figures.

A page is `pages/NAME.md.jinja`. It reads `docs/results/NAME.csv`, which is a run's results.csv or a summary of it, and
`docs/results/NAME.json`, the same run's results.json.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jinja2
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from robust_bc.methods import get_method, method_names
from robust_bc.report import lines_png, table_as_markdown
from robust_bc.system.files import write_whole
from robust_bc_benchmarks.core.contenders import PLAIN, SHARED_ORACLE, is_reference, oracle_of, shown_name
from robust_bc_benchmarks.core.summaries import SHARE, SUMMARY, differences, summarise
from robust_bc_benchmarks.showing import audit_tables
from robust_bc_benchmarks.showing.grids import DRIVING, ERRORS, RETURNS, Grid, grids, percent

PAGES = Path(__file__).parent.parent / "pages"
SHOWN = tuple(dict.fromkeys((*RETURNS, *DRIVING, *ERRORS)))
MOST_LINES = 8
"""More methods than these are drawn as dots, a line for each, because nobody can tell their curves apart."""
OURS = "choicenet"
COLUMNS = 4


@dataclass
class Documents:
    """Renders the pages of a folder."""

    docs: Path
    figures: bool = False
    """Whether figures are drawn; their names stand in the texts either way."""
    _read: dict[str, pandas.DataFrame] = field(default_factory=dict, repr=False)

    def render(self) -> list[Path]:
        """Write all pages and their figures."""
        written = []
        for name, text in replace(self, figures=True).texts().items():
            write_whole(self.docs / name, text)
            written.append(self.docs / name)
        return written

    def texts(self) -> dict[str, str]:
        """Of all pages, by the name of their file."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(PAGES),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        asked = ("tables", "differences", "compact", "about", "figure", "long", "heat_map")
        environment.filters["md"] = audit_tables.as_markdown
        environment.globals |= {name: getattr(self, name) for name in asked}
        environment.globals |= {"audit": audit_tables, "assumptions": assumptions}
        pages = sorted(PAGES.glob("*.md.jinja"))
        return {
            page.name.removesuffix(".jinja"): environment.get_template(page.name).render().rstrip("\n") + "\n"
            for page in pages
        }

    def long(self, name: str) -> pandas.DataFrame:
        """A run's table as it is."""
        if name not in self._read:
            self._read[name] = pandas.read_csv(self.docs / "results" / f"{name}.csv")
        return self._read[name]

    def summary(self, name: str) -> pandas.DataFrame:
        """A run's table summed up over seeds."""
        table = self.long(name)
        if "mean" in table:
            return table[SUMMARY]
        kinds = list(dict.fromkeys(table.kind))
        return summarise(table, kinds, methods=self.about(name).get("methods", ()))

    def about(self, name: str) -> dict[str, Any]:
        """Command, date, machine and versions."""
        about: dict[str, Any] = json.loads((self.docs / "results" / f"{name}.json").read_text())
        return about

    def grids(self, name: str, task: str | None, kind: str | None, metrics: Sequence[str]) -> list[Grid]:
        """Tables of a run."""
        shown = [one for one in SHOWN if not metrics or one.metric in metrics]
        paper = name not in ("driving-curved", "ablation-functions")
        return list(grids(self.summary(name), shown, paper, task, kind))

    def tables(self, name: str, *metrics: str) -> str:
        """All tables of a run as Markdown, with a title each."""
        parts = []
        for grid in self.grids(name, None, None, metrics):
            parts += [f"**{grid.task}, {grid.kind}: {grid.shown.title}**", table_as_markdown(grid.as_table())]
        return "\n\n".join(parts)

    def compact(self, name: str, rate: float, metric: str, methods: Sequence[str] = ()) -> str:
        """At one rate: methods down, tasks and kinds across, means and in brackets the worst seed."""
        found = self.grids(name, None, None, [metric])
        heads = [found[0].shown.title, *(f"{grid.task}, {grid.kind}" for grid in found)]
        lines = [heads, ["---", *["---:"] * len(found)]]
        rows = [{row.method: row for row in grid.rows.itertuples() if row.rate == rate} for grid in found]
        for method in _named(methods, found) or found[0].methods:
            cells = [(grid.shown, mine.get(method)) for grid, mine in zip(found, rows, strict=True)]
            words = ["–" if row is None else _with_worst(shown, row) for shown, row in cells]
            lines.append([shown_name(method), *words])
        for title in dict.fromkeys(title for grid in found for title in grid.from_paper()):
            said = [(grid.shown, grid.from_paper().get(title, {}).get(rate)) for grid in found]
            lines.append([title, *("–" if number is None else shown.number(number) for shown, number in said)])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def differences(self, name: str, to: str, metric: str = "rmse") -> str:
        """What each contender's numbers are above those of one, seed by seed, and whether that is more than chance."""
        table = self.long(name)
        found = differences(table[table.metric == metric], list(dict.fromkeys(table.kind)), to)
        found = found[found.rate > 0]
        places = found.task + ", " + found.kind + " " + found.rate.map(percent)
        words = (found["mean"].map("{:+.3f}".format) + " " + found.verdict).str.strip()
        cells = found.assign(place=places, words=words).pivot(index="method", columns="place", values="words")
        order = [list(dict.fromkeys(column)) for column in (found.method, places)]
        return audit_tables.as_markdown(cells.loc[order[0], order[1]].fillna("–"))

    def figure(
        self, name: str, title: str, *metrics: str, methods: Sequence[str] = (), rates: Sequence[float] = ()
    ) -> str:
        """Draw a metric against the rate, a panel for each task and kind, and show it."""
        found, path = self.grids(name, None, None, metrics), self.docs / f"{name}.png"
        for given, column in ((_named(methods, found), "method"), (rates, "rate")):
            if given:
                found = [replace(grid, rows=grid.rows[grid.rows[column].isin(given)]) for grid in found]
        if self.figures:
            draw([grid for grid in found if len(grid.rows)], metrics, path)
        return f"![{title}]({path.name})"

    def heat_map(self, name: str) -> str:
        """Draw the audit's AUROC, and show it."""
        if self.figures:
            save(audit_tables.heat_map(self.long(name)), self.docs / f"{name}.png")
        return f"![Mean AUROC by task and kind]({name}.png)"


def _named(methods: Sequence[str], found: Sequence[Grid]) -> list[str]:
    """Where every method has an oracle of its own, `oracle` is that of the plain one."""
    there = {method for grid in found for method in grid.methods}
    own = oracle_of(PLAIN)
    return [own if name == SHARED_ORACLE and name not in there else name for name in methods]


def _with_worst(shown: Any, row: Any) -> str:
    words: str = shown.number(row.mean)
    return words if row.seeds < 2 or pandas.isna(row.worst) else f"{words} ({shown.number(row.worst)})"


def _title(grid: Grid, metrics: Sequence[str]) -> str:
    return f"{grid.task}, {grid.kind}" + (f": {grid.shown.title}" if len(metrics) > 1 else "")


def assumptions() -> str:
    """What each method assumes, in its own words."""
    methods = ((name, get_method(name)) for name in method_names())
    return "\n".join(f"- **{name}**: {method.summary}. Use it {method.when}." for name, method in methods)


def draw(found: Sequence[Grid], metrics: Sequence[str], path: Path) -> None:
    """Lines against the rate where there are several rates and few methods, else dots."""
    if max(len(grid.methods) for grid in found) <= MOST_LINES and max(len(grid.rates) for grid in found) > 1:
        lines_png(path, [grid.as_chart(_title(grid, metrics)) for grid in found])
    else:
        save(dots(found, metrics), path)


def save(figure: Figure, path: Path) -> None:
    """As PNG, whole or not at all."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130, metadata={"Software": None})
    write_whole(path, image.getvalue())


def dots(found: Sequence[Grid], metrics: Sequence[str]) -> Figure:
    """A panel for each table and rate, methods in their order; ours is blue, oracle and expert are black."""
    panels = [(grid, rate) for grid in found for rate in grid.rates]
    names = list(dict.fromkeys(name for grid in found for name in grid.methods))
    rates = len(found[0].rates)  # a row for each table, unless it is a single panel
    columns = rates if len(found) > 1 and rates > 1 else min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    size = (2.6 + 1.9 * columns, rows * (0.21 * len(names) + 0.9) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).flatten()
    for axis, (grid, rate) in zip(axes, panels, strict=False):
        _dots_of(axis, grid, rate, names)
        axis.set_title(f"{_title(grid, metrics)} {percent(rate)}", fontsize=8)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    return figure


def _dots_of(axis: Axes, grid: Grid, rate: float, names: list[str]) -> None:
    factor = 100 if grid.shown.percent else 1
    for row in grid.rows[grid.rows.rate == rate].itertuples():
        colour = "#0072B2" if row.method == OURS else "#000000" if is_reference(row.method) else "#777777"
        place = names.index(row.method)
        axis.plot([factor * row.low, factor * row.high], [place, place], color=colour, lw=1.6)
        axis.plot(factor * row.mean, place, marker="o", ms=4, color=colour)
    axis.set_yticks(range(len(names)), [shown_name(name) for name in names], fontsize=8)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.set_xlabel("%" if grid.shown.percent or grid.shown.metric == SHARE else grid.shown.title, fontsize=8)
    axis.tick_params(axis="x", labelsize=7.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(color="#EEEEEE")
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
