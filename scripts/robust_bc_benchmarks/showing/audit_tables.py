"""The tables and the picture of the audit's page, from the long table of `robust-bc benchmark audit`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas
from matplotlib.figure import Figure

from robust_bc.evaluation.statistics import mean_interval
from robust_bc_benchmarks.core.summaries import FEWEST_SEEDS, random_returns, share_of_oracle
from robust_bc_envs.tasks import CARDS

GROUPS = ("Test", "Development")
CELL = ["task", "kind", "rate", "seed", "method"]
WITHIN, GOOD_AUROC, GOOD_SPEARMAN = 0.05, 0.98, 0.95
MODERATE, GOOD_RETURN, FAIR_RETURN = 0.3, 0.95, 0.9
"""What was aimed at."""


def of_group(table: pandas.DataFrame, group: str) -> pandas.DataFrame:
    """The tasks that settings were chosen on, or the others."""
    return table[table.task.map(lambda task: CARDS[task].development == (group == "Development"))]


def metric(table: pandas.DataFrame, *names: str) -> pandas.DataFrame:
    """The rows of some metrics."""
    return table[table.metric.isin(names)]


def within(table: pandas.DataFrame) -> pandas.DataFrame:
    """Whether the estimated rate of a mix is within 5 points of the true one."""
    rates = wide(table, ["estimated_rate", "true_rate"])
    rates["value"] = ((rates.estimated_rate - rates.true_rate).abs() <= WITHIN + 1e-9).astype(float)
    return rates


def alarms(table: pandas.DataFrame) -> pandas.DataFrame:
    """False alarms of clean sets, and of all mixes whether it cannot tell."""
    return pandas.concat([metric(table[table.kind == "clean"], "false_alarm"), metric(table, "undecided")])


def at_a_glance(table: pandas.DataFrame) -> pandas.DataFrame:
    """One number for each aim and group of tasks; a place is a task and a kind, and for returns also a rate."""
    columns = {}
    for group in GROUPS:
        mine = of_group(table, group)
        if mine.empty:
            continue
        bad, good = metric(mine, "dropped_bad").value, metric(mine, "dropped_good").value
        alarms, rates = metric(mine[mine.kind == "clean"], "false_alarm").value, within(mine[mine.kind != "clean"])
        cells = {
            "places with a mean AUROC of 0.98 or more": _count(
                _by(metric(mine, "auroc"), "task", "kind") >= GOOD_AUROC
            ),
            "mixes with a rate within 5 points": _count(rates.value > 0),
            "bad pairs that are dropped": "" if bad.empty else f"{bad.mean():.1%}",
            "good pairs that are dropped": "" if good.empty else f"{good.mean():.2%}",
            "clean sets with a false alarm": _count(alarms > 0),
            "tasks with a graded Spearman of 0.95 or more": _count(
                _by(metric(mine, "spearman"), "task") >= GOOD_SPEARMAN
            ),
        }
        returns = shares_of_oracle(mine[mine.kind != "clean"])
        for what, how in (("cleaned", "with"), ("all", "without")) if len(returns) else ():
            found = returns[returns["of"] == what]
            least = np.where(found.rate <= MODERATE, GOOD_RETURN, FAIR_RETURN)
            cells[f"places that keep the oracle's return {how} cleaning"] = _count(found.value >= least)
        if metric(mine, "return_all").seed.nunique() >= FEWEST_SEEDS:
            cells["places where cleaning does harm"] = str(len(harm(mine)))
        columns[f"{group} tasks"] = cells
    return pandas.DataFrame(columns).rename_axis("measure").fillna("")


def _count(flags: pandas.Series) -> str:
    return f"{int(flags.sum())} of {len(flags)}" if len(flags) else ""


def _by(table: pandas.DataFrame, *names: str) -> pandas.Series:
    return table.groupby(list(names)).value.mean()


def wide(table: pandas.DataFrame, metrics: Sequence[str]) -> pandas.DataFrame:
    """A row for each cell that has all of these metrics, with a column for each."""
    rows = metric(table, *metrics).set_index([*CELL, "metric"]).value.unstack("metric", sort=False)
    return rows.reindex(columns=list(metrics)).dropna().reset_index()


def shares_of_oracle(table: pandas.DataFrame) -> pandas.DataFrame:
    """Mean returns over seeds as shares of the oracle's mean; 0 is the return of random actions."""
    names = {"return_all": "all", "return_cleaned": "cleaned", "return_oracle": "oracle"}
    found = wide(table, list(names)).rename(columns=names)
    if found.empty:
        return found.assign(of="", value=0.0)
    means = found.groupby(["task", "kind", "rate"], sort=False)[list(names.values())].mean().reset_index()
    random = means.task.map(random_returns())
    for name in ("all", "cleaned"):
        means[name] = share_of_oracle(means[name], means.oracle, random)
    return means.melt(["task", "kind", "rate"], ["all", "cleaned"], "of", "value")


def harm(table: pandas.DataFrame) -> pandas.DataFrame:
    """Where cleaning loses return: the 95 % interval of the paired difference over enough seeds is below 0."""
    found = wide(table, ["return_all", "return_cleaned"])
    rows = []
    for place, group in found.groupby(["task", "kind", "rate"], sort=False):
        apart = (group.return_cleaned - group.return_all).to_numpy()
        low, high = mean_interval(apart)
        if len(apart) >= FEWEST_SEEDS and high < 0:
            rows.append((*place, apart.mean(), low, high))
    return pandas.DataFrame(rows, columns=["task", "kind", "rate", "mean", "low", "high"])


def compared(table: pandas.DataFrame) -> pandas.DataFrame:
    """The mixes on which every detector was measured: all of them see the same ones."""
    mixes = table.groupby(["task", "kind", "rate", "seed"], dropna=False)
    return table[mixes.method.transform("nunique") == table.method.nunique()]


def pivot(table: pandas.DataFrame, rows: str, columns: str, worst: bool = False) -> pandas.DataFrame:
    """Means as words, and the worst of them in brackets; `rows` and `columns` are names, `task kind` two of them."""
    if table.empty:
        return table
    names = {"index": rows.split(), "columns": columns.split()}
    cells = table.pivot_table(**names, values="value", aggfunc=["mean", "min"], sort=False)
    words = cells["mean"].map(number)
    return words + " (" + cells["min"].map(number) + ")" if worst else words


def number(value: float) -> str:
    """At most three digits behind the point."""
    return "" if np.isnan(value) else f"{value:.3f}".rstrip("0").rstrip(".")


def as_markdown(frame: pandas.DataFrame) -> str:
    """A frame of words with its index."""
    frame = frame.reset_index()
    heads = [" ".join(str(part) for part in np.atleast_1d(head) if str(part)) for head in frame.columns]
    lines = [heads, ["---"] * len(heads), *frame.astype(str).values.tolist()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def heat_map(table: pandas.DataFrame) -> Figure:
    """Mean AUROC of the audit, tasks down and kinds across."""
    found = metric(table[table.method == "audit"], "auroc")
    parts = [of_group(found, group).assign(group=group.lower()) for group in GROUPS]
    means = pandas.concat(parts).pivot_table(index=["group", "task"], columns="kind", values="value", sort=False)
    figure = Figure(figsize=(2.5 + 0.7 * len(means.columns), 2 + 0.45 * len(means)), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(means.to_numpy(), vmin=0.5, vmax=1, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(means.columns)), means.columns, rotation=40, ha="right")
    axes.set_yticks(range(len(means)), [f"{task} ({group})" for group, task in means.index])
    for (row, column), value in np.ndenumerate(means.to_numpy()):
        if not np.isnan(value):
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color="white" if value < 0.85 else "black")
    figure.colorbar(shown, ax=axes, label="mean AUROC")
    return figure
