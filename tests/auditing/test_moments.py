"""The worst moments against a search by hand, and sentences against numbers that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_bc.auditing.moments import EACH, STEPS, own_moments, reason, worst_moments
from robust_bc.auditing.results import Estimate
from robust_bc.auditing.truth import compare
from robust_bc.auditing.wording import headline, percent, truth_sentences
from robust_bc.errors import RobustBCError
from tests.auditing.audits import make_audit


@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), min_size=2, max_size=6), seed=st.integers(0, 100))
def test_moments_are_the_lowest_that_do_not_overlap(lengths: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    quality = generator.random(sum(lengths))
    episodes = np.repeat(np.arange(len(lengths)), lengths)
    found = worst_moments(make_audit(quality, episodes, rate=Estimate(0, 0, 0)), 5)
    taken: list[tuple[int, int, int]] = []
    expected: list[tuple[int, int, int]] = []
    means = []
    while len(expected) < 5:
        free = []
        for episode, length in enumerate(lengths):
            mine = quality[episodes == episode]
            width = min(STEPS, length)
            if sum(e == episode for e, _, _ in taken) == EACH:
                continue
            for first in range(length - width + 1):
                last = first + width - 1
                if not any(e == episode and first <= b and a <= last for e, a, b in taken):
                    free.append((mine[first : last + 1].mean(), episode, first, last))
        if not free:
            break
        mean, episode, first, last = min(free)
        taken.append((episode, first, last))
        expected.append((episode, first, last))
        means.append(mean)
    assert [(one.episode, one.first, one.last) for one in found] == expected
    assert [one.quality for one in found] == pytest.approx(means)


@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), min_size=2, max_size=6), seed=st.integers(0, 100))
def test_every_episode_has_a_worst_moment_of_its_own(lengths: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    episodes = generator.permutation(np.repeat(3 * np.arange(len(lengths)), lengths))  # neither sorted nor 0, 1, 2
    quality = generator.random(len(episodes)).round(1)  # with ties
    audit = make_audit(quality, episodes, rate=Estimate(0, 0, 0))
    asked = [int(episode) for episode in generator.permutation(np.unique(episodes))]
    found = own_moments(audit, asked)
    assert [moment.episode for moment in found] == asked
    for moment in found:
        mine = quality[episodes == moment.episode]
        width = min(STEPS, len(mine))
        means = [mine[first : first + width].mean() for first in range(len(mine) - width + 1)]
        assert moment.last - moment.first + 1 == width
        assert moment.quality == pytest.approx(min(means))
        assert moment.quality == pytest.approx(mine[moment.first : moment.last + 1].mean())
    # It is the same one as in the table of the worst of all, if it is there.
    listed = {moment.episode: moment for moment in reversed(worst_moments(audit, len(lengths)))}
    assert all(listed.get(moment.episode, moment) == moment for moment in found)


def test_why_a_moment_is_bad() -> None:
    assert reason(0.1, 0.9, 0.1) == "conflict"
    assert reason(0.4, 0.1, 0.4) == "foreign"
    assert reason(0.2, 0.6, 0.5) == "conflict and foreign"
    assert reason(0.4, 0.0, 0.0) == "–"
    assert reason(0.98, 0.02, 0.0) == "–"  # a good moment needs no reason


def test_the_headline_is_computed() -> None:
    quality = np.r_[np.full(30, 0.9), np.full(10, 0.1)]
    whole = make_audit(quality, np.arange(40) // 10, rate=Estimate(0.3, 0.251, 0.35))
    assert headline(whole) == (
        "1 of 4 episodes and 10 of 40 pairs are suspect; an estimated 30 % of the pairs are corrupt"
        " (surely 25.1 %, at most 35 %)."
    )
    calm = make_audit(np.full(5, 0.99), rate=Estimate(0.012, 0.003, 0.024))
    assert headline(calm) == (
        "No alarm is raised: an estimated 1.2 % of the pairs are corrupt (surely 0.3 %, at most 2.4 %), below the 5 %"
        " from which the audit warns; 0 of 5 pairs are suspect."
    )
    assert percent(1 / 3) == "33.3 %"


def test_the_truth_beside_an_audit() -> None:
    # Of the couples (bad, good) by suspicion 0.8, 0.6, 0.4, 0.2 with the labels 1, 0, 1, 0 three of four are in order.
    audit = make_audit([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1], rate=Estimate(0.45, 0.4, 0.48))
    truth = compare(audit, np.array([True, False, True, False]))
    assert truth.rate == 0.5
    assert truth.pair_auroc == pytest.approx(0.75)
    assert truth.pair_average_precision == pytest.approx((1 + 2 / 3) / 2)
    assert (truth.episode_auroc, truth.episode_average_precision) == (None, None)  # half is not more than half
    first, pairs, episodes = truth_sentences(audit, truth)
    assert "50 % of the pairs are corrupt: the estimate is 5.0 points too low, and the truth is outside" in first
    assert "AUROC of 0.750, average precision 0.833" in pairs
    assert episodes == "All episodes are of one kind, so there is nothing to tell apart."
    assert compare(audit, np.array([True, True, False, False])).episode_auroc == 1
    with pytest.raises(RobustBCError, match="there are 3 labels for 4 audited pairs"):
        compare(audit, np.ones(3, np.bool_))
