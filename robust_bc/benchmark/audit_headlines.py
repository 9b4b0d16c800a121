"""What the audit benchmark found, in sentences that are computed from its numbers, for better and for worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from robust_bc.auditing.results import ALARM_FROM
from robust_bc.benchmark.audit_cells import EPISODE_AUROC, ESTIMATED, PAIR_AUROC, AuditCell
from robust_bc.benchmark.audit_plan import FILTERED
from robust_bc.benchmark.audit_rows import POINTS, AuditResults
from robust_bc.benchmark.control_rows import SHARE, ControlRow
from robust_bc.benchmark.control_tables import percent
from robust_bc.benchmark.detectors import AUDIT

WANTED_RATE = 0.3
WANTED = {EPISODE_AUROC: ("corrupt episodes", 0.99), PAIR_AUROC: ("corrupt pairs", 0.95)}
"""AUROC of the audit at that rate, mean over seeds."""
WANTED_SHARE = 0.95
"""Of the oracle's return, for a plain MLP on what the audit keeps."""


def headlines(results: AuditResults, rows: Sequence[ControlRow]) -> list[str]:
    """Where the audit reaches what is wanted of it and where not, and how it stands among the others."""
    if AUDIT not in results.plan.detectors:
        return [f"'{AUDIT}' has no part in this benchmark, so nothing is said about it."]
    said = [sentence for metric in WANTED for sentence in _found(rows, metric)]
    return said + _against(rows) + _rates(results) + _clean(results) + _trained(rows)


def _found(rows: Sequence[ControlRow], metric: str) -> list[str]:
    what, wanted = WANTED[metric]
    mine = [row for row in rows if (row.method, row.metric, row.rate) == (AUDIT, metric, WANTED_RATE)]
    if not mine:
        return []
    numbers = [(_place(row), row.mean, f"{_number(row.mean, wanted)}, worst seed {row.worst:.3f}") for row in mine]
    return [
        f"With {percent(WANTED_RATE)} corrupt pairs, an AUROC of at least {wanted:g} in finding {what} (the audit's"
        f" mean over seeds) is {_reached(numbers, wanted)}"
    ]


def _against(rows: Sequence[ControlRow]) -> list[str]:
    """By the mean AUROC of pairs, at all rates."""
    others = [row for row in rows if row.metric == PAIR_AUROC and row.method != AUDIT]
    mine = [row for row in rows if row.metric == PAIR_AUROC and row.method == AUDIT]
    behind, compared = [], 0
    for row in mine:
        rivals = [other for other in others if _same(other, row)]
        if not rivals:
            continue
        compared += 1
        best = max(rivals, key=lambda other: other.mean)
        if best.mean > row.mean:
            behind.append(f"{_place(row)} {percent(row.rate)}: {row.mean:.3f}, {best.method} {best.mean:.3f}")
    if not compared:
        return []
    ahead = compared - len(behind)
    named = f"; another is ahead in {len(behind)} ({'; '.join(behind)})" if behind else ""
    return [f"By the mean AUROC of pairs no other detector is better in {ahead} of {compared} kinds of mixes{named}."]


def _rates(results: AuditResults) -> list[str]:
    cells = _audits(results)
    errors = np.array([abs(cell.error) for cell in cells if cell.error is not None])
    if not len(errors):
        return []
    near, worst = int((errors <= POINTS).sum()), cells[int(errors.argmax())]
    missed: dict[str, int] = {}
    for cell, error in zip(cells, errors, strict=True):
        if error > POINTS:
            name = f"{cell.key.task} {cell.key.how} {percent(cell.key.rate)}"
            missed[name] = missed.get(name, 0) + 1
    named = f" It is missed in {_listed(f'{name} ({count})' for name, count in missed.items())}." if missed else ""
    return [
        f"The estimated rate is within {100 * POINTS:g} points of the true one in {near} of {len(errors)} mixes; the"
        f" mean error is {100 * errors.mean():.1f} points, the largest {100 * errors.max():.1f} ({worst.key.task}"
        f" {worst.key.how} {percent(worst.key.rate)}, seed {worst.key.seed}).{named}"
    ]


def _clean(results: AuditResults) -> list[str]:
    cells = [cell for cell in _audits(results) if cell.key.rate == 0]
    if not cells:
        return []
    estimated = np.array([cell.numbers[ESTIMATED] for cell in cells], np.float64)
    quiet = int((estimated < ALARM_FROM).sum())
    return [
        f"Of {len(cells)} clean datasets, {quiet} have an estimated rate under {percent(ALARM_FROM)}; the highest is"
        f" {100 * estimated.max():.1f} %."
    ]


def _trained(rows: Sequence[ControlRow]) -> list[str]:
    said = []
    mine = [row for row in rows if (row.method, row.metric) == (FILTERED, SHARE)]
    for rate in dict.fromkeys(row.rate for row in mine):
        here = [row for row in mine if row.rate == rate]
        numbers = [
            (_place(row), row.mean, f"{100 * row.mean:.1f} %, worst seed {100 * row.worst:.1f} %") for row in here
        ]
        said.append(
            f"With {percent(rate)} corrupt pairs, {percent(WANTED_SHARE)} of the oracle's return, by a plain MLP on"
            f" what the audit keeps, is {_reached(numbers, WANTED_SHARE)}"
        )
    return said


def _audits(results: AuditResults) -> list[AuditCell]:
    """All sound cells of the audit that estimate a rate."""
    cells = [cell for place in results.plan.places() for cell in results.sound(place, AUDIT)]
    return [cell for cell in cells if cell.error is not None]


def _reached(numbers: Sequence[tuple[str, float, str]], wanted: float) -> str:
    """The end of a sentence about (place, number, words)."""
    missed = [f"{place} ({words})" for place, number, words in numbers if number < wanted]
    reached = [f"{place} ({words})" for place, number, words in numbers if number >= wanted]
    if not missed:
        return f"reached everywhere: {_listed(reached)}."
    if not reached:
        return f"missed everywhere: {_listed(missed)}."
    return f"reached in {len(reached)} of {len(numbers)}: {_listed(reached)}; missed in {_listed(missed)}."


def _number(value: float, wanted: float, digits: int = 3) -> str:
    """With so many digits that what is missed does not look as if it were reached."""
    while round(value, digits) >= wanted > value:
        digits += 1
    return f"{value:.{digits}f}"


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items)


def _place(row: ControlRow) -> str:
    return f"{row.task} {row.how}"


def _same(one: ControlRow, other: ControlRow) -> bool:
    return (one.task, one.how, one.rate) == (other.task, other.how, other.rate)
