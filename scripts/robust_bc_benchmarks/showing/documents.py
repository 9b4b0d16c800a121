"""Pages of docs/ out of the committed results: Jinja templates that ask for tables, commands and figures.

A page is `pages/NAME.md.jinja`. It reads `docs/results/NAME.csv`, which is a run's results.csv or a summary of it, and
`docs/results/NAME.json`, the same run's results.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jinja2
import pandas

from robust_bc.methods import get_method, method_names
from robust_bc.report import table_as_markdown
from robust_bc.system.files import write_whole
from robust_bc_benchmarks.core.contenders import PLAIN, SHARED_ORACLE, oracle_of, shown_name
from robust_bc_benchmarks.core.summaries import SHARE, SUMMARY, differences, summarise
from robust_bc_benchmarks.showing import audit_tables
from robust_bc_benchmarks.showing.bar import bar_table
from robust_bc_benchmarks.showing.drawing import draw, save
from robust_bc_benchmarks.showing.grids import DRIVING, ERRORS, RETURNS, WHO, WHO_SHARED, Grid, grids, percent

PAGES = Path(__file__).parent.parent / "pages"
NOT_THE_PAPERS = ("driving-curved", "ablation-functions", "mujoco-episodes", "driving-episodes", "mujoco-clean")
SHOWN = tuple(dict.fromkeys((*RETURNS, *DRIVING, *ERRORS)))


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

    def texts(self, only: Sequence[str] = ()) -> dict[str, str]:
        """Of some pages, or of all, by the name of their file."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(PAGES),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        numbers = ("tables", "differences", "compact", "bar", "shares", "long", "figure", "heat_map")
        asked = (*numbers, "about", "measured", "oracles")
        environment.filters["md"] = audit_tables.as_markdown
        environment.globals |= {name: getattr(self, name) for name in asked}
        environment.globals |= {"audit": audit_tables, "assumptions": assumptions}
        names = only or sorted(page.name.removesuffix(".jinja") for page in PAGES.glob("*.md.jinja"))
        texts = {name: environment.get_template(f"{name}.jinja").render() for name in names}
        return {name: text.rstrip("\n") + "\n" for name, text in texts.items() if text.strip()}

    def measured(self, name: str) -> bool:
        """Whether there are results; a page that has nothing to say without them is not written."""
        return (self.docs / "results" / f"{name}.csv").exists()

    def oracles(self, name: str) -> str:
        """What an oracle is in a run; older ones have one for all."""
        return WHO_SHARED if SHARED_ORACLE in set(self.long(name).method) else WHO

    def bar(self, name: str) -> str:
        """Who reaches the bar in a run."""
        table = self.long(name)
        found = bar_table(table, list(dict.fromkeys(table.kind)), self.about(name).get("methods", ()))
        return f"{table_as_markdown(found)}\n\n{found.note}"

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

    def shares(self, name: str, method: str) -> str:
        """What a method keeps of its oracle's return: tasks and rates down, kinds across, worst seeds in brackets."""
        found = self.summary(name)
        found = found[(found.metric == SHARE) & (found.method == method) & (found.rate > 0)]
        words = [_with_worst(RETURNS[1], row) for row in found.itertuples()]
        cells = found.assign(rate=found.rate.map(percent), words=words)
        across = cells.pivot_table("words", ["task", "rate"], "kind", aggfunc="first", sort=False)
        return audit_tables.as_markdown(across.fillna("–"))

    def grids(self, name: str, task: str | None, kind: str | None, metrics: Sequence[str]) -> list[Grid]:
        """Tables of a run."""
        shown = [one for one in SHOWN if not metrics or one.metric in metrics]
        paper = not name.startswith("defaults") and name not in NOT_THE_PAPERS
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


def assumptions() -> str:
    """What each method assumes, in its own words."""
    methods = ((name, get_method(name)) for name in method_names())
    return "\n".join(f"- **{name}**: {method.summary}. Use it {method.when}." for name, method in methods)
