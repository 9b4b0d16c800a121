"""The worst windows against a search of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_bc.auditing.showing.windows import Window, course, own_windows, worst_windows
from tests.robust_bc.auditing.audits import make_audit


def overlaps(one: Window, other: Window) -> bool:
    return one.episode == other.episode and one.first <= other.last and other.first <= one.last


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 25), min_size=2, max_size=5),
    steps=st.integers(1, 12),
    each=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_the_worst_windows_are_found_by_hand(lengths: list[int], steps: int, each: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    episodes = generator.permutation(np.repeat(np.arange(len(lengths)), lengths))
    audit = make_audit(generator.random(len(episodes)), episodes)
    every: list[tuple[float, int, int, int]] = []
    for episode, length in enumerate(lengths):
        conflict, width = audit.conflict[episodes == episode], min(steps, length)
        every += [
            (conflict[first : first + width].mean(), episode, first, first + width - 1)
            for first in range(length - width + 1)
        ]
    found = worst_windows(audit, 4, steps, each)
    assert found[0].conflict == pytest.approx(max(every)[0])
    for place, window in enumerate(found):
        before = found[:place]
        assert not any(overlaps(window, other) for other in before)
        full = {other.episode for other in before if sum(one.episode == other.episode for one in before) == each}
        free = [
            mean
            for mean, episode, first, last in every
            if episode not in full
            and not any(overlaps(Window(episode, None, first, last, 0, 0, 0), other) for other in before)
        ]
        assert window.conflict == pytest.approx(max(free))
    for window in own_windows(audit, [len(lengths) - 1, 0], steps):
        assert window.conflict == pytest.approx(max(every, key=lambda one: (one[1] == window.episode, one[0]))[0])


def test_windows_can_be_looked_for_among_some_episodes() -> None:
    audit = make_audit(np.repeat([0.1, 0.5, 0.2], 20), np.repeat([3, 5, 8], 20))
    assert {window.episode for window in worst_windows(audit, 9, among=np.array([False, True, True]))} == {5, 8}


def test_without_conflict_there_are_none() -> None:
    assert worst_windows(make_audit(np.ones(40), np.repeat([0, 1], 20)), 3) == []


def test_the_action_is_the_one_with_the_largest_error_in_its_own_units() -> None:
    generator = np.random.default_rng(0)
    shown = generator.normal(size=(40, 4)) * [100.0, 1.0, 1.0, 0.0]
    expected = shown + np.array([20.0, 0.5, 0.1, 9.0])  # 0.2, 0.5 and 0.1 deviations; the last never moves
    audit = make_audit(np.full(40, 0.5), np.repeat([0, 1], 20), shown=shown, expected=expected)
    (window,) = worst_windows(audit, 1)
    assert window.action == 1
    assert window.error == pytest.approx(0.5 / shown[:, 1].std())


def test_the_course_has_some_steps_around_and_never_those_of_others() -> None:
    episodes = np.tile([0, 1], 30)  # mixed up
    clean = np.ones(60)
    clean[np.flatnonzero(episodes == 1)[5:15]] = 0.0
    audit = make_audit(clean, episodes)
    (window,) = worst_windows(audit, 1)
    assert (window.episode, window.first, window.last) == (1, 5, 14)
    drawn = course(audit, window, around=8)
    assert drawn.steps.tolist() == list(range(23))
    rows = np.flatnonzero(episodes == 1)[:23]
    assert np.array_equal(drawn.shown, audit.shown[rows, window.action])
    assert np.array_equal(drawn.expected, audit.expected[rows, window.action])
