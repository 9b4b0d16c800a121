"""Evaluations side by side: the table, the rows as CSV, and the page."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from robust_bc.evaluation.results import Evaluation
from robust_bc.evaluation.statistics import Summary
from robust_bc.report import Block, Cell, Column, Command, Lines, Page, Series, Table, Text
from robust_bc.system.plain_text import writable

MISSING = "–"
INTERVALS = (
    "The mean is over the episodes that did not fail, with its 95 % interval below: by the bootstrap for numbers, by"
    " Wilson's formula for rates. The inter-quartile mean (iqm) leaves out the best and the worst quarter."
)
SHARE = " The share of the expert's return is 0 for random actions and 1 for the expert."


def comparison_table(evaluations: Sequence[Evaluation]) -> Table:
    """A row for each policy."""
    first = evaluations[0]
    columns = [
        Column("policy"),
        *(Column(name, "number", "high") for name in ("return", "iqm")),
        Column("std", "number"),
    ]
    if first.reference is not None:
        columns.append(Column("share of expert", "number", "high"))
    columns += [Column(metric.name, "number") for metric in first.metrics]
    columns.append(Column("failures", "number", "low"))
    note = INTERVALS + (SHARE if first.reference is not None else "")
    return Table("Policies", columns, [_cells(one) for one in evaluations], note)


def _cells(evaluation: Evaluation) -> list[Cell]:
    summary = evaluation.summary
    returned = summary["return"]
    cells = [
        Cell(evaluation.policy, evaluation.policy),
        _mean(returned),
        Cell(number(returned.iqm), _value(returned.iqm)),
        Cell(number(returned.std), _value(returned.std)),
    ]
    if evaluation.share is not None:
        cells.append(_mean(evaluation.share, percent=True))
    cells += [_mean(summary[metric.name], percent=metric.kind == "rate") for metric in evaluation.metrics]
    failures = len(evaluation.failures)
    return [*cells, Cell(str(failures), float(failures), f"of {len(evaluation.rows)}" if failures else "")]


def _mean(summary: Summary, percent: bool = False) -> Cell:
    if summary.count == 0:
        return Cell(MISSING, None)
    interval = f"[{number(summary.low, percent)}, {number(summary.high, percent)}]"
    return Cell(number(summary.mean, percent), summary.mean, interval)


def number(value: float, percent: bool = False) -> str:
    """A number for people."""
    if math.isnan(value):
        return MISSING
    if percent:
        return f"{value:.1%}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def _value(value: float) -> float | None:
    return None if math.isnan(value) else value


def episodes_as_csv(evaluations: Sequence[Evaluation]) -> str:
    """A line for each policy and episode."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [name for name in evaluations[0].rows[0] if name != "failure"]
    writer.writerow(["policy", *names, "failure"])
    for evaluation in evaluations:
        writer.writerows([evaluation.policy, *(row[name] for name in (*names, "failure"))] for row in evaluation.rows)
    return writable(text.getvalue())


def evaluation_page(evaluations: Sequence[Evaluation], facts: Mapping[str, str], more: Sequence[Block] = ()) -> Page:
    """The table, every return, what failed, and whatever the caller adds."""
    first = evaluations[0]
    blocks: list[Block] = [comparison_table(evaluations)]
    if any(one.summary["return"].count > 1 for one in evaluations):
        blocks.append(_profile(evaluations))
    blocks += more
    for one in evaluations:
        if one.failures:
            counted = Counter(str(row["failure"]) for row in one.failures)
            sentences = [f"{count} x {sentence}" for sentence, count in counted.most_common()]
            blocks.append(Text(f"What failed with {one.policy}", sentences))
    if "command" in facts:
        blocks.append(Command(facts["command"]))
    many = "One policy" if len(evaluations) == 1 else f"{len(evaluations)} policies in the same"
    lead = f"{many} {'in ' if len(evaluations) == 1 else ''}{len(first.rows)} episodes of {first.environment}."
    return Page(f"Evaluation on {first.task}", lead, facts, blocks)


def _profile(evaluations: Sequence[Evaluation]) -> Lines:
    """How many episodes are how good."""
    series = []
    for one in evaluations:
        returns = sorted(float(row["return"]) for row in one.rows if isinstance(row["return"], float))
        if returns:
            series.append(Series(one.policy, [(place + 0.5) / len(returns) for place in range(len(returns))], returns))
    note = "All episodes of a policy, from the worst to the best."
    return Lines("Returns", "share of the episodes", "return", series, note, percent_x=True)
