"""The worst windows: stretches of a few steps whose actions contradict the majority's policy the most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.judging.scaled import Flags, Floats, Places
from robust_bc.auditing.results import AuditResults

STEPS = 10
"""A window has so many steps, or all of an episode that has fewer."""
EACH = 2
"""Windows of one episode at most: where all of it is bad, a few tell as much as many."""


@dataclass(frozen=True)
class Window:
    """Steps `first` to `last` of an episode, both counted from 0 and included."""

    episode: int
    source: str | None
    first: int
    last: int
    conflict: float
    """Mean probability that its actions are not the majority's."""
    action: int
    """The column of the actions, counted from 0, that is farthest from what is expected."""
    error: float
    """How far it is, on average, in units of its deviation over all pairs."""


@dataclass(frozen=True, eq=False)
class Course:
    """One column of the actions over time: T steps of an episode, a window and what is around it."""

    steps: NDArray[np.int64]  # (T,)
    shown: Floats  # (T,)
    expected: Floats  # (T,)


def worst_windows(
    audit: AuditResults, most: int, steps: int = STEPS, each: int = EACH, among: Flags | None = None
) -> list[Window]:
    """The windows of the highest mean conflict, worst first; no two overlap, and none is without conflict.

    `among` (E,) are the episodes to look at; without, all.
    """
    grouping = audit.grouping
    means, widths = _means(audit, steps)
    if among is not None:
        means = np.where(np.repeat(among, grouping.lengths), means, -np.inf)
    found: list[Window] = []
    taken: dict[int, int] = {}
    while len(found) < most and means.max() > 0:  # each turn is linear in the pairs
        start = int(np.argmax(means))
        place = int(np.searchsorted(grouping.starts, start, side="right")) - 1
        begin, end = int(grouping.starts[place]), int(grouping.starts[place] + grouping.lengths[place])
        width = int(widths[start])
        found.append(_window(audit, place, start - begin, width))
        taken[place] = taken.get(place, 0) + 1
        if taken[place] == each:
            means[begin:end] = -np.inf
        else:
            means[max(begin, start - width + 1) : min(end, start + width)] = -np.inf
    return found


def own_windows(audit: AuditResults, episodes: Sequence[int], steps: int = STEPS) -> list[Window]:
    """The worst window of each of these episodes, in their order, however much worse those of others are."""
    grouping = audit.grouping
    means, _ = _means(audit, steps)
    found = []
    for place in np.searchsorted(grouping.names, episodes).tolist():
        begin, length = int(grouping.starts[place]), int(grouping.lengths[place])
        found.append(_window(audit, place, int(np.argmax(means[begin : begin + length])), min(steps, length)))
    return found


def course(audit: AuditResults, window: Window, around: int = STEPS) -> Course:
    """The window's action, shown and expected, with so many steps before and after as there are."""
    pairs = _pairs_of(audit, window.episode)
    first, end = max(0, window.first - around), min(len(pairs), window.last + 1 + around)
    rows = pairs[first:end]
    return Course(np.arange(first, end), audit.shown[rows, window.action], audit.expected[rows, window.action])


def _pairs_of(audit: AuditResults, episode: int) -> Places:
    return audit.grouping.pairs_of(int(np.searchsorted(audit.grouping.names, episode)))


def _means(audit: AuditResults, steps: int) -> tuple[Floats, NDArray[np.int64]]:
    """Mean conflict and width (N,) of the window that begins at each pair, episode after episode; -inf if none does."""
    grouping = audit.grouping
    lengths = np.repeat(grouping.lengths, grouping.lengths)
    widths = np.minimum(steps, lengths)
    sums = np.concatenate([[0.0], np.cumsum(audit.conflict[grouping.order])])
    ends = np.minimum(np.arange(len(audit)) + widths, len(audit))
    inside = grouping.steps + widths <= lengths  # a window never reaches into the next episode
    return np.where(inside, (sums[ends] - sums[:-1]) / widths, -np.inf), widths


def _window(audit: AuditResults, place: int, first: int, width: int) -> Window:
    rows = audit.grouping.pairs_of(place)[first : first + width]
    errors = action_errors(audit, rows)
    return Window(
        episode=int(audit.grouping.names[place]),
        source=None if audit.sources is None else audit.sources[place],
        first=first,
        last=first + width - 1,
        conflict=float(audit.conflict[rows].mean()),
        action=int(np.argmax(errors)),
        error=float(errors.max()),
    )


def action_errors(audit: AuditResults, rows: Places) -> Floats:
    """(A,) the mean error of these pairs in each column of the actions, in units of its deviation over all pairs."""
    deviation = audit.shown.std(0)
    errors = np.abs(audit.shown[rows] - audit.expected[rows]).mean(0)
    return np.asarray(np.where(deviation > 0, errors / np.where(deviation > 0, deviation, 1.0), 0.0))
