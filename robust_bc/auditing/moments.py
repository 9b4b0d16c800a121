"""The worst moments: the stretches of a few steps whose quality is the lowest, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.results import SUSPECT_BELOW, Audit

STEPS = 10
"""A moment has so many steps, or all of an episode that has fewer."""
EACH = 3
"""Moments of one episode at most: where all of it is bad, a few tell as much as many."""
REASON_FROM = 0.5
NO_REASON = "–"


@dataclass(frozen=True)
class Moment:
    """Steps `first` to `last` of an episode, both counted from 0 and included."""

    episode: int
    source: str | None
    first: int
    last: int
    quality: float
    conflict: float
    foreign: float

    @property
    def why(self) -> str:
        """In one word or two."""
        return reason(self.quality, self.conflict, self.foreign)


def reason(quality: float, conflict: float, foreign: float) -> str:
    """What speaks against it the most, or both where both do plainly; what is not suspect needs no reason."""
    if quality >= SUSPECT_BELOW or max(conflict, foreign) == 0:
        return NO_REASON
    if min(conflict, foreign) >= REASON_FROM:
        return "conflict and foreign"
    return "conflict" if conflict >= foreign else "foreign"


def worst_moments(audit: Audit, most: int, steps: int = STEPS, each: int = EACH) -> list[Moment]:
    """The moments of the lowest mean quality, worst first; no two overlap."""
    grouping = audit.grouping
    means, widths = _means(audit, steps)
    found: list[Moment] = []
    taken: dict[int, int] = {}
    while len(found) < most and np.isfinite(means.min()):  # each turn is linear in the pairs
        start = int(np.argmin(means))
        place = int(np.searchsorted(grouping.starts, start, side="right")) - 1
        begin, end = int(grouping.starts[place]), int(grouping.starts[place] + grouping.lengths[place])
        width = int(widths[start])
        found.append(_moment(audit, place, start - begin, grouping.order[start : start + width]))
        taken[place] = taken.get(place, 0) + 1
        if taken[place] == each:
            means[begin:end] = np.inf
        else:
            means[max(begin, start - width + 1) : min(end, start + width)] = np.inf
    return found


def own_moments(audit: Audit, episodes: Sequence[int], steps: int = STEPS) -> list[Moment]:
    """The worst moment of each of these episodes, in their order, however much worse those of others are."""
    grouping = audit.grouping
    means, _ = _means(audit, steps)
    found = []
    for place in np.searchsorted(grouping.names, episodes).tolist():
        begin, length = int(grouping.starts[place]), int(grouping.lengths[place])
        first = int(np.argmin(means[begin : begin + length]))
        found.append(_moment(audit, place, first, grouping.pairs_of(place)[first : first + min(steps, length)]))
    return found


def _means(audit: Audit, steps: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Mean quality and width (N,) of the moment that begins at each pair, episode after episode; inf if none does."""
    grouping = audit.grouping
    quality = audit.quality[grouping.order]  # (N,), episode after episode
    lengths = np.repeat(grouping.lengths, grouping.lengths)
    widths = np.minimum(steps, lengths)
    sums = np.concatenate([[0.0], np.cumsum(quality)])
    ends = np.minimum(np.arange(len(quality)) + widths, len(quality))
    inside = grouping.steps + widths <= lengths  # a moment never reaches into the next episode
    return np.where(inside, (sums[ends] - sums[:-1]) / widths, np.inf), widths


def _moment(audit: Audit, place: int, first: int, pairs: NDArray[np.intp]) -> Moment:
    return Moment(
        episode=int(audit.grouping.names[place]),
        source=None if audit.sources is None else audit.sources[place],
        first=first,
        last=first + len(pairs) - 1,
        quality=float(audit.quality[pairs].mean()),
        conflict=float(audit.conflict[pairs].mean()),
        foreign=float(audit.foreign[pairs].mean()),
    )
