"""What a control benchmark found, in sentences that are computed from its numbers, for better and for worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_bc_benchmarks import paper_numbers
from robust_bc_benchmarks.contenders import fair, find_contender
from robust_bc_benchmarks.control.rows import SHARE, SMALLER_IS_BETTER, ControlRow, Results, difference
from robust_bc_benchmarks.control.tables import Shown, percent

OURS = "choicenet"
"""Our method; whoever is cleaned before learning is ours as well."""
JUDGED = ("return", "collision", "lane_deviation_rms")
"""Metrics by which it is said who is ahead, where a table shows them."""
SHOWN_RATE = 0.3
FEWEST_SEEDS = 5
"""An interval over fewer seeds is too easily on one side of zero."""
MOST_NAMED = 8
"""Places that are named one by one."""


@dataclass(frozen=True)
class Verdict:
    """Our method against those of others in one place: beyond the intervals of the paired differences, or not."""

    place: str
    rate: float
    ahead: bool
    behind: tuple[str, ...]
    """The methods that are better beyond the interval."""


def in_sentences(results: Results, rows: Sequence[ControlRow], shown: Sequence[Shown]) -> list[str]:
    """Sentences about each judged metric, about shares of the oracle's return and about the paper's numbers."""
    if hero(results) is None:
        return [f"Neither {OURS} nor cleaning has a part in this benchmark, so nothing is said about them."]
    found = []
    for metric in shown:
        if metric.metric in JUDGED:
            found += _ahead(results, metric) + _beside_ours(results, metric) + _paper(rows, metric)
    if any(metric.metric == SHARE for metric in shown):
        for method in ours(results):
            found += _shares(rows, method)
    return found


def hero(results: Results) -> str | None:
    """The first of ours, which is compared with everybody else's methods."""
    return next(iter(ours(results)), None)


def ours(results: Results) -> list[str]:
    """Our contenders in this benchmark: those that are cleaned, in the order of its tables, and then our method."""
    methods = results.plan.methods
    return [name for name in methods if find_contender(name).cleaned and fair(name)] + [OURS] * (OURS in methods)


def verdicts(results: Results, metric: str, others: Sequence[str] | None = None) -> list[Verdict]:
    """One for each task, way and rate, and for each task's clean pairs, where enough seeds can be compared.

    Our method is compared with everybody else's, or with those named.
    """
    plan, judged = results.plan, []
    mine = hero(results)
    if mine is None:
        return []
    if others is None:
        others = [name for name in plan.methods if _of_others(name)]
    sign = -1 if metric in SMALLER_IS_BETTER else 1
    for task in plan.tasks:
        places = [(how, rate) for how in plan.hows for rate in plan.rates if rate > 0]
        clean = [(plan.hows[0], 0.0)] if 0 in plan.rates else []  # the same for every way
        for how, rate in places + clean:
            found = {rival: results.paired(task, how, rate, mine, rival, metric) for rival in others}
            rivals = [rival for rival, (pair, _) in found.items() if len(pair) >= FEWEST_SEEDS]
            if not rivals:
                continue
            pairs = [found[rival] for rival in rivals]
            bounds = [difference(sign * first, sign * other) for first, other in pairs]
            behind = tuple(rival for rival, (_, _, high) in zip(rivals, bounds, strict=True) if high < 0)
            place = f"{task} {how} {percent(rate)}" if rate else f"{task} clean"
            judged.append(Verdict(place, rate, all(low > 0 for _, low, _ in bounds), behind))
    return judged


def _of_others(name: str) -> bool:
    contender = find_contender(name)
    return contender.method != OURS and not contender.cleaned and fair(name)


def _ahead(results: Results, shown: Shown) -> list[str]:
    verdicts_of_all = verdicts(results, shown.metric)
    judged = [verdict for verdict in verdicts_of_all if verdict.rate > 0]
    if not judged:
        return [
            f"Nobody is said to be ahead by {shown.title}: that takes corrupt pairs, rivals and {FEWEST_SEEDS} seeds."
        ]
    ahead = [verdict.place for verdict in judged if verdict.ahead]
    behind = [f"{verdict.place} ({', '.join(verdict.behind)})" for verdict in judged if verdict.behind]
    sentences = [
        f"Judged by {shown.title}, {hero(results)} is better than every method of others, beyond the 95 % interval of"
        f" the paired difference, in {len(ahead)} of {len(judged)} places with corrupt pairs{_named(ahead)}."
    ]
    sentences.append(
        f"It is worse than another beyond that interval in {len(behind)}{_named(behind)}."
        if behind
        else "It is nowhere worse than another beyond that interval."
    )
    clean = [verdict for verdict in verdicts_of_all if verdict.rate == 0]
    lost = [f"{verdict.place} ({', '.join(verdict.behind)})" for verdict in clean if verdict.behind]
    if clean:
        sentences.append(
            f"With clean pairs it is worse than another, beyond that interval, in {len(lost)} of {len(clean)} tasks"
            f"{_named(lost)}."
        )
    return sentences


def _beside_ours(results: Results, shown: Shown) -> list[str]:
    """Our method against each of our others."""
    sentences = []
    for other in ours(results)[1:]:
        judged = verdicts(results, shown.metric, [other])
        if judged:
            better = [verdict.place for verdict in judged if verdict.ahead]
            worse = [verdict.place for verdict in judged if verdict.behind]
            sentences.append(
                f"Judged by {shown.title}, {hero(results)} is better than {other} beyond the interval of the paired"
                f" difference in {len(better)} of {len(judged)} places{_named(better)}, and worse in"
                f" {len(worse)}{_named(worse)}."
            )
    return sentences


def _shares(rows: Sequence[ControlRow], method: str) -> list[str]:
    """At the rate that the paper ends with, or the nearest below; and the worst place of every rate."""
    mine = [row for row in rows if row.metric == SHARE and row.method == method and row.rate > 0]
    if not any(row.rate <= SHOWN_RATE for row in mine):
        return []
    rate = max(row.rate for row in mine if row.rate <= SHOWN_RATE)
    parts = []
    for row in (row for row in mine if row.rate == rate):
        interval = "" if row.low is None or row.high is None else f" [{100 * row.low:.0f}, {100 * row.high:.0f}]"
        parts.append(f"{100 * row.mean:.0f}{interval} in {row.task} {row.how}")
    worst = []
    for one in sorted({row.rate for row in mine}):
        lowest = min((row for row in mine if row.rate == one), key=lambda row: row.mean)
        seed = min((row for row in mine if row.rate == one), key=lambda row: row.worst)
        worst.append(
            f"{percent(one)}: {100 * lowest.mean:.0f} in {lowest.task} {lowest.how}, worst seed"
            f" {100 * seed.worst:.0f} in {seed.task} {seed.how}"
        )
    return [
        f"With {percent(rate)} corrupt pairs {method} keeps this share of the oracle's return, in %:"
        f" {', '.join(parts)}.",
        f"Its lowest mean share of the oracle's return over all places, and its worst seed, in %: {'; '.join(worst)}.",
    ]


def _paper(rows: Sequence[ControlRow], shown: Shown) -> list[str]:
    if not shown.paper:
        return []
    better: list[str] = []
    worse: list[str] = []
    for row in rows:
        said = paper_numbers.CHOICENET.get((row.task, shown.metric), {}).get(row.rate)
        if row.metric != shown.metric or row.method != "choicenet" or row.how != paper_numbers.HOW or said is None:
            continue
        smaller = shown.metric in SMALLER_IS_BETTER
        reached = row.mean <= said if smaller else row.mean >= said
        numbers = f"{row.task} {percent(row.rate)}: {shown.number(row.mean)} against {shown.number(said)}"
        (better if reached else worse).append(numbers)
    if not better and not worse:
        return []
    short = f" It falls short in {'; '.join(worse)}." if worse else ""
    return [
        f"Of the paper's {len(better) + len(worse)} numbers for ChoiceNet, choicenet reaches or exceeds"
        f" {len(better)} by {shown.title}.{short}"
    ]


def _named(places: Sequence[str]) -> str:
    if not places:
        return ""
    more = len(places) - MOST_NAMED
    return f" ({'; '.join(places[:MOST_NAMED])}{f'; and {more} more' if more > 0 else ''})"
