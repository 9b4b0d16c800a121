"""The page of the audit benchmark: tables, estimated against true rates, AUROC against rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robust_bc.benchmark.audit_cells import ESTIMATED, TRUE
from robust_bc.benchmark.audit_plan import AuditPlan
from robust_bc.benchmark.audit_rows import AuditResults, RateRow
from robust_bc.benchmark.audit_tables import FOUND, all_tables
from robust_bc.benchmark.control_page import HOWS
from robust_bc.benchmark.control_rows import ControlRow
from robust_bc.benchmark.control_tables import Shown
from robust_bc.benchmark.detectors import find_detector
from robust_bc.report import Block, Command, Group, Lines, Page, Scatter, Series, Text


def make_page(
    title: str,
    command: str,
    results: AuditResults,
    rows: Sequence[ControlRow],
    rates: Sequence[RateRow],
    sentences: Sequence[str],
    facts: Mapping[str, str],
) -> Page:
    """Everything about each task in a group of its own."""
    plan = results.plan
    blocks: list[Block] = [Text("Who looks for what", [*who_looks(plan.detectors), *what_is_corrupt(plan)])]
    for task in plan.tasks:
        inner: list[Block] = list(all_tables(rows, rates, task, plan.detectors))
        inner += _estimates(results, task)
        inner += [
            lines
            for how in plan.hows
            for shown in FOUND[:2]
            for lines in _against_rate(results, rows, task, how, shown)
        ]
        blocks.append(Group(task, inner))
    if failures := results.failures():
        blocks.append(Text("What failed", failures))
    blocks += [
        Text("To make this again", ["Finished cells are kept, so this goes on where it stopped:"]),
        Command(command),
    ]
    return Page(title=title, lead=" ".join(sentences), facts=dict(facts), blocks=blocks)


def who_looks(detectors: Sequence[str]) -> list[str]:
    """One sentence for each detector."""
    return [f"`{name}`: {find_detector(name).summary}." for name in detectors]


def what_is_corrupt(plan: AuditPlan) -> list[str]:
    """One sentence for each way, and what counts as a corrupt episode."""
    ways = [f"In `{how}`, {HOWS[how]}." for how in plan.hows if how in HOWS]
    if plan.pairs is not None:
        return [*ways, "Every pair stands alone, so that there are no episodes to be found."]
    return [
        *ways,
        "In these mixes all pairs of a corrupt episode are corrupt, but for one episode at most. The audit makes use of"
        " the fact that a bad episode is usually bad throughout, and the other detectors judge every pair alone. Among"
        " pairs that favours the audit; among episodes, where all are pooled alike, it does not.",
        "An episode is corrupt if more than half of its pairs are, and as suspect as its pairs are on average. A dash"
        " stands where a number is not defined: where nothing, or everything, is corrupt.",
    ]


def _estimates(results: AuditResults, task: str) -> list[Block]:
    """Every mix a point."""
    found: dict[str, list[tuple[float, float]]] = {}
    for place in (place for place in results.plan.places() if place[0] == task):
        for detector in results.plan.detectors:
            for cell in results.sound(place, detector):
                true, estimated = cell.numbers.get(TRUE), cell.numbers.get(ESTIMATED)
                if true is not None and estimated is not None:
                    found.setdefault(place[1], []).append((100 * true, 100 * estimated))
    if not found:
        return []
    series = [Series(how, [x for x, _ in points], [y for _, y in points]) for how, points in found.items()]
    note = "Every mix is a point, one for each seed; the closer to the diagonal the better."
    return [Scatter("Estimated against true rate, mix by mix", "true rate, %", "estimated rate, %", series, note)]


def _against_rate(results: AuditResults, rows: Sequence[ControlRow], task: str, how: str, shown: Shown) -> list[Block]:
    """A number over the rates with corrupt pairs, if there are several."""
    series = []
    for detector in results.plan.detectors:
        wanted = (task, how, detector, shown.metric)
        mine = [row for row in rows if (row.task, row.how, row.method, row.metric) == wanted]
        mine.sort(key=lambda row: row.rate)
        if len(mine) > 1:
            means, lows, highs = ([getattr(row, name) for row in mine] for name in ("mean", "low", "high"))
            series.append(Series(detector, [row.rate for row in mine], means, lows, highs))
    if not series:
        return []
    note = "Bands are 95 % intervals over seeds."
    return [Lines(f"{how}: {shown.title}", "corrupt pairs", "AUROC", series, note, percent_x=True)]
