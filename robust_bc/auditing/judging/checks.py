"""Checks: faults of the recording itself, each found by a fixed rule and named by episode and step.

| check | what it finds | spoils the episode |
| --- | --- | --- |
| duplicated-rows | every row stands there two or more times | yes |
| duplicated-episode | the same rows as an earlier episode | no |
| frozen-sensor, frozen-actuator | a column that stands still for long though it does not in most episodes | no |
| dead-sensor, dead-actuator | one that never moves, and in the other episodes in nearly every step | yes |
| saturated | far more actions on their bounds than in the others | no |
| length | far fewer or more steps than the others | no |
| timestamps | a clock that stands, goes back or has gaps | no |
| misaligned | a pile whose actions fit the rows before or after better (`lags`) | no: all are alike |
| misaligned | an episode whose actions do, and those of most do not | yes |

Numbers that are not finite never come as far as here: `Demonstrations` refuses them, and says in which step of which
episode they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.findings import Finding
from robust_bc.auditing.judging.lags import find_lags
from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.auditing.judging.scaled import Flags, Scaled
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.normalisation import Affine

FEWEST_RUNS = 5
"""Runs of equal rows from which on they are copies; a pendulum at rest has one long run."""
ALIKE = 0.9
"""Share of the rows that must be in runs of the same length to be copies."""
STILL = 20
"""Steps that a column must stand still to be frozen, and half of its episode."""
MOVES = 0.8
"""Share of the steps in which a column must move elsewhere where it is dead: a gripper or an idle wheel does not."""
SATURATED = 0.5
"""How much larger the share of actions on their bounds must be than the median of all episodes."""
FAR_LENGTH = 4.0
"""Factor between an episode's length and the median from which it is pointed out."""
GAP = 3.0
"""Time between two rows, in medians of it, from which it is a gap."""


def run_checks(demonstrations: Demonstrations, seed: int = 0) -> list[Finding]:
    """All checks, in the order of the table."""
    grouping = Grouping.of(demonstrations.episodes)
    if grouping.single:
        return []
    copied = list(duplicated_rows(demonstrations, grouping))
    findings = [
        *copied,
        *duplicated_episodes(demonstrations, grouping),
        *frozen(demonstrations.observations, grouping, "sensor"),
        *frozen(demonstrations.actions, grouping, "actuator"),
        *saturated(demonstrations, grouping),
        *odd_lengths(grouping),
        *odd_times(demonstrations, grouping),
    ]
    return findings if copied else [*findings, *misaligned(demonstrations, seed)]  # copies have no alignment


def duplicated_rows(demonstrations: Demonstrations, grouping: Grouping) -> Iterator[Finding]:
    """Episodes in which nearly all rows stand k times, k of 2 or more."""
    rows = np.concatenate([demonstrations.observations, demonstrations.actions], axis=1)[grouping.order]
    same = np.concatenate([[False], (rows[1:] == rows[:-1]).all(1)]) & (grouping.steps > 0)
    starts = np.flatnonzero(~same)
    lengths = np.diff(np.append(starts, len(rows)))  # of runs of equal rows
    places = np.repeat(np.arange(len(grouping.names)), grouping.lengths)[starts]
    found = []
    for place in np.unique(places[lengths > 1]):
        mine = lengths[places == place]
        times = int(np.bincount(mine).argmax())
        if times > 1 and len(mine) >= FEWEST_RUNS and (mine == times).mean() >= ALIKE:
            found.append((int(place), times))
    spoils = len(found) < len(grouping.names)
    for place, times in found:
        what = f"every row stands there {times} times"
        yield Finding("duplicated-rows", int(grouping.names[place]), 0, what, spoils)


def duplicated_episodes(demonstrations: Demonstrations, grouping: Grouping) -> Iterator[Finding]:
    """Episodes with the same rows as an earlier one."""
    seen: dict[tuple[bytes, bytes], int] = {}
    for place, name in enumerate(grouping.names.tolist()):
        rows = grouping.pairs_of(place)
        if len(rows) < 2:
            continue
        content = demonstrations.observations[rows].tobytes(), demonstrations.actions[rows].tobytes()
        first = seen.setdefault(content, name)
        if first != name:
            yield Finding("duplicated-episode", name, None, f"the same rows as episode {first}", spoils=False)


def frozen(values: NDArray[np.floating], grouping: Grouping, part: str) -> Iterator[Finding]:
    """Columns (N, C) that stand still in an episode, for long or throughout, though they do not in most of the rows."""
    steps, lengths = grouping.steps, grouping.lengths
    name = "observation" if part == "sensor" else "action"
    for column in range(values.shape[1]):
        ordered = values[grouping.order, column]
        same = np.concatenate([[False], ordered[1:] == ordered[:-1]]) & (steps > 0)
        still = same & (ordered > ordered.min()) & (ordered < ordered.max())  # at its end a sensor may rest
        starts = np.flatnonzero(~still)
        runs = np.diff(np.append(starts, len(ordered)))
        places = np.repeat(np.arange(len(lengths)), lengths)
        longest = np.zeros(len(lengths), np.int64)
        np.maximum.at(longest, places[starts], runs)
        dead = (longest == lengths) & (lengths >= FEWEST_RUNS)
        others = ~dead[places] & (steps > 0)
        if 2 * lengths[dead].sum() >= lengths.sum() or same[others].sum() > (1 - MOVES) * others.sum():
            dead[:] = False
        stuck = dead | (longest >= np.maximum(STILL, lengths / 2))
        if 2 * lengths[stuck].sum() >= lengths.sum():
            stuck = dead
        for place in np.flatnonzero(stuck).tolist():
            mine = np.flatnonzero((places[starts] == place) & (runs == longest[place]))[0]
            what = f"{name} {column} stands still for {longest[place]} steps"
            if dead[place]:
                what = f"{name} {column} never moves"
            kind = f"{'dead' if dead[place] else 'frozen'}-{part}"
            step = int(steps[starts[mine]])
            yield Finding(kind, int(grouping.names[place]), step, what, spoils=bool(dead[place]))


def saturated(demonstrations: Demonstrations, grouping: Grouping) -> Iterator[Finding]:
    """Episodes with far more actions on their bounds than the others."""
    actions, space = demonstrations.actions, demonstrations.action_space
    low = actions.min(0) if space is None else space.low
    high = actions.max(0) if space is None else space.high
    at_bounds = ((actions <= low) | (actions >= high)) & (low < high)
    shares = grouping.means(at_bounds.mean(1))
    usual = float(np.median(shares))
    for place in np.flatnonzero(shares > usual + SATURATED).tolist():
        first = int(np.argmax(at_bounds[grouping.pairs_of(place)].any(1)))
        what = f"{shares[place]:.0%} of the actions are on their bounds, of most episodes {usual:.0%}"
        yield Finding("saturated", int(grouping.names[place]), first, what, spoils=False)


def odd_lengths(grouping: Grouping) -> Iterator[Finding]:
    """Episodes far shorter or longer than the median."""
    usual = float(np.median(grouping.lengths))
    for place in np.flatnonzero(np.abs(np.log(grouping.lengths / usual)) > np.log(FAR_LENGTH)).tolist():
        what = f"{grouping.lengths[place]} steps, most have {usual:.0f}"
        yield Finding("length", int(grouping.names[place]), None, what, spoils=False)


def odd_times(demonstrations: Demonstrations, grouping: Grouping) -> Iterator[Finding]:
    """Time stamps that do not rise, or leave gaps; the first such step of each episode."""
    if demonstrations.timestamps is None:
        return
    times = demonstrations.timestamps[grouping.order]
    inside = grouping.steps > 0
    passed = np.where(inside, np.diff(times, prepend=times[0]), np.nan)
    if not (passed > 0).any():
        return
    usual = float(np.median(passed[passed > 0]))
    for wrong, what in (
        (inside & ~(passed > 0), "the clock stands or goes back"),
        (inside & (passed > GAP * usual), f"a gap of more than {GAP:g} times the usual {usual:.3g}"),
    ):
        yield from _first_of_each("timestamps", wrong, what, grouping)


def misaligned(demonstrations: Demonstrations, seed: int) -> Iterator[Finding]:
    """A pile whose actions fit the rows before or after better, or episodes of it."""
    scaled = Scaled.of(demonstrations, Affine)
    lags = find_lags(scaled, np.random.default_rng([seed, 19]))
    for place, lag in lags.episodes.items():
        what = f"its actions fit best {_rows(lag)}"
        yield Finding("misaligned", int(scaled.grouping.names[place]), None, what, spoils=True)
    if lags.pile:
        what = f"actions fit best {_rows(lags.pile)} in the whole pile; shift them"
        yield Finding("misaligned", None, None, what, spoils=False)


def _rows(lag: int) -> str:
    return f"1 row {'later' if lag > 0 else 'earlier'}"


def _first_of_each(check: str, wrong: Flags, what: str, grouping: Grouping) -> Iterator[Finding]:
    places = np.repeat(np.arange(len(grouping.names)), grouping.lengths)
    found, first = np.unique(places[wrong], return_index=True)
    steps = grouping.steps[wrong]
    for place, index in zip(found.tolist(), first.tolist(), strict=True):
        yield Finding(check, int(grouping.names[place]), int(steps[index]), what, spoils=False)
