"""Audits refuse what is not one, rank what is bad, and keep all that is not bad beyond doubt."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_bc.auditing.audit import Audit
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.results import MOST_DROPPED, Estimate, verdict_of
from robust_bc.errors import RobustBCError
from tests.robust_bc.auditing.audits import make_audit

FROZEN = Finding("frozen-actuator", 7, 3, "action 1 stands still for 7 steps", False)


def three_episodes(**more: Any) -> Audit:
    clean = np.r_[np.linspace(0.9, 1.0, 20), np.linspace(0.0, 0.06, 10), np.full(6, 0.6)]
    return make_audit(clean, np.repeat([4, 7, 9], [20, 10, 6]), ("ann", "bob", "ann"), findings=(FROZEN,), **more)


def test_tables_are_worst_first() -> None:
    audit = three_episodes()
    rows = audit.episode_rows()
    assert [(row.episode, row.source, row.pairs, row.verdict) for row in rows] == [
        (7, "bob", 10, "bad"),
        (9, "ann", 6, "cannot tell"),
        (4, "ann", 20, "cannot tell"),
    ]
    assert (rows[0].clean, rows[0].conflict) == pytest.approx((0.03, 0.97))
    assert [row.findings for row in rows] == [(FROZEN.what,), (), ()]
    assert (rows[0].worst_step, rows[2].worst_step) == (0, 0)
    assert [row.episode for row in audit.episode_rows(most=1)] == [7]
    bob, ann = audit.source_rows()
    assert (bob.source, bob.episodes, bob.bad_episodes, bob.pairs) == ("bob", 1, 1, 10)
    assert bob.bad_pairs == (np.linspace(0.0, 0.06, 10) < 0.05).sum()
    assert (ann.episodes, ann.bad_episodes, ann.pairs, ann.bad_pairs) == (2, 0, 26, 0)
    assert ann.clean.value == pytest.approx((19 + 3.6) / 26)
    assert (ann.clean.low, ann.clean.high) == pytest.approx((0.6, 0.95))  # either episode alone
    assert make_audit([0.1, 0.9]).source_rows() == []


def test_the_frame_has_a_row_for_each_episode() -> None:
    frame = three_episodes().to_frame()
    assert frame.index.tolist() == [7, 9, 4]
    assert frame.loc[7, "verdict"] == "bad"
    assert frame["pairs"].sum() == 36


@settings(max_examples=50, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=2, max_size=8),
    seed=st.integers(0, 1000),
    undecided=st.booleans(),
)
def test_what_is_kept(lengths: list[int], seed: int, undecided: bool) -> None:
    """Nothing but bad episodes goes, or bad pairs with `cut`; and never half of the pairs, nor in doubt."""
    generator = np.random.default_rng(seed)
    episodes = generator.permutation(np.repeat(np.arange(len(lengths)), lengths))
    of_episodes = generator.choice([0.0, 0.04, 0.06, 0.5, 1.0], len(lengths))
    clean = of_episodes[episodes] * generator.choice([1.0, 0.01], len(episodes), p=[0.8, 0.2])
    audit = make_audit(clean, episodes, episode_clean=of_episodes, undecided="a tie." if undecided else None)
    for cut in (False, True):
        bad = (of_episodes < 0.05)[episodes] | (clean < 0.05 if cut else False)
        kept = audit.keep(cut)
        stays = undecided or bad.mean() >= 1 - MOST_DROPPED
        assert np.array_equal(kept, np.ones_like(bad) if stays else ~bad)
        assert (audit.why_kept(cut) is not None) == stays
    assert np.array_equal(audit.weights(), np.ones(len(clean)) if undecided else clean)
    assert audit.verdict == ("cannot tell" if undecided else "bad" if (of_episodes < 0.05).any() else "clean")


def test_a_verdict_needs_little_doubt() -> None:
    assert [verdict_of(clean, 0.05) for clean in (0.0, 0.049, 0.05, 0.5, 0.95, 0.951)] == [
        *["bad"] * 2,
        *["cannot tell"] * 3,
        "clean",
    ]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"clean": np.array([0.5, 1.5, 0.5])}, "clean must be between 0 and 1, but number 1 is 1.5"),
        ({"clean": np.array([np.nan, 0.5, 0.5])}, "clean must be between 0 and 1, but number 0 is nan"),
        ({"conflict": np.array([0.5, 0.5, -0.1])}, "conflict must be between 0 and 1, but number 2 is -0.1"),
        ({"scores": np.array([0.5, np.inf, 0.5])}, "scores must be finite, but number 1 is inf"),
        ({"known": np.zeros(2)}, r"known must be numbers of shape \(3,\), but it has type float64, \(2,\)"),
        ({"expected": np.zeros((3, 1))}, r"expected must be numbers of shape \(3, 2\)"),
        ({"clean": np.zeros(1)}, "clean has 1 pairs, but an audit has at least 2"),
        ({"episodes": np.zeros(3)}, "episodes must be 3 whole numbers"),
        (
            {"episodes": np.array([0, 2**64 - 1, 1], np.uint64)},
            r"episodes must be below 2\^63, but that of pair 1 is 18446744073709551615",
        ),
        ({"sources": ("a", "b")}, "sources has 2 names for 3 episodes"),
        ({"rate": Estimate(0.9, 0.5, 1.2)}, "rate is a share between 0 and 1"),
    ],
)
def test_what_is_no_audit_is_refused_by_name(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RobustBCError, match=sentence):
        dataclasses.replace(make_audit([0.2, 0.5, 0.9]), **more)


def test_an_estimate_lies_in_its_interval() -> None:
    with pytest.raises(RobustBCError, match=r"an estimate of 0.5 must lie in its interval \[0.6, 0.7\]"):
        Estimate(0.5, 0.6, 0.7)
    with pytest.raises(RobustBCError, match="the high of an estimate must be a finite number, but it is nan"):
        Estimate(0.5, 0.4, float("nan"))
