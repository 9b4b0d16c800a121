"""What is asked for: each cell once, and all that it depends on."""

from __future__ import annotations

from typing import Any

import pytest

from robust_bc.auditing import REVISION
from robust_bc.errors import RobustBCError
from robust_bc.training.budget import rule
from robust_bc.training.choosing import CANDIDATES
from robust_bc_benchmarks.core.cells import Key
from robust_bc_benchmarks.suites.control import EVALUATION_SEED
from robust_bc_benchmarks.suites.mixes import Mixes
from tests.robust_bc_benchmarks.small import TINY, FakeMixes, plan, suite


def test_every_cell_once() -> None:
    units = suite(methods=("mdn", "mlp"), rates=(0.0, 0.1, 0.4)).units()
    keys = [key for unit in units for key in unit]
    assert len(set(keys)) == len(keys)
    # The expert; at rate 0 both methods, who are their own oracles; then two kinds with two methods, and two oracles.
    assert len(keys) == 1 + 2 * 2 + 2 * 2 * (2 * 2 + 2)
    places = list(dict.fromkeys((unit[0].kind, unit[0].rate, unit[0].method) for unit in units))
    assert places[:3] == [("clean", 0.0, "expert"), ("clean", 0.0, "mdn"), ("flip", 0.1, "mdn")]


def test_places_that_are_the_same_by_definition_are_one_cell() -> None:
    asked = plan()
    assert asked.key("halfcheetah", "flip", 0.0, "mdn+oracle", 1) == Key("halfcheetah", "clean", 0.0, "mdn", 1)
    assert asked.key("halfcheetah", "flip", 0.3, "mdn+oracle", 1) == Key("halfcheetah", "clean", 0.3, "mdn+oracle", 1)
    assert asked.key("halfcheetah", "flip", 0.3, "expert", 1) == Key("halfcheetah", "clean", 0.0, "expert", 0)


def test_the_fingerprint_knows_what_a_cell_depends_on() -> None:
    key = Key("halfcheetah", "flip", 0.3, "choicenet", 0)
    before = suite().fingerprint(key)
    assert suite(episodes=3).fingerprint(key) != before
    assert suite(common={**TINY, "steps": 31}).fingerprint(key) != before
    assert suite(Mixes(60)).fingerprint(key) != before
    assert suite().fingerprint(Key("halfcheetah", "flip", 0.3, "mlp", 0)) != before
    # It does not know what a cell has no part in.
    for others in ({"rates": (0.3, 0.4)}, {"seeds": (0, 7)}, {"methods": ("choicenet",)}, {"kinds": ("flip",)}):
        assert suite(**others).fingerprint(key) == before
    assert "budget" not in before  # what nobody gave follows from the pairs by a rule
    assert suite(common={"steps": 30}).fingerprint(key)["budget"] == rule()
    chosen = suite().fingerprint(Key("halfcheetah", "flip", 0.3, "auto", 0))
    assert (chosen["audit"], chosen["budget"], tuple(chosen["candidates"])) == (REVISION, rule(), CANDIDATES)
    # No setting tells of a change in what the audit says.
    cleaned, other = (suite().fingerprint(Key("halfcheetah", "flip", 0.3, name, 0)) for name in ("mlp+clean", "mlp"))
    assert cleaned["audit"] == REVISION
    assert "audit" not in other


def test_the_mark_tells_teachers_and_sizes_apart() -> None:
    marks = [
        Mixes(60).mark("halfcheetah"),
        Mixes(61).mark("halfcheetah"),
        Mixes(60).mark("walker2d"),
        Mixes(60).mark("lane-driving"),
        Mixes(None, 20, {"reacher": 40}, 300).mark("reacher"),
        Mixes(None, 20, {}, 300).mark("reacher"),
    ]
    assert len({str(mark) for mark in marks}) == len(marks)
    assert Mixes(60).mark("halfcheetah") == marks[0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tasks": ()}, "--tasks is empty; name at least one."),
        ({"methods": ("mpl",)}, "there is no method 'mpl' (did you mean 'mlp'?)"),
        ({"rates": (0.1, 1.0)}, "a rate must be at least 0 and below 1, but it is 1.0."),
        ({"rates": (-0.1,)}, "a rate must be at least 0 and below 1, but it is -0.1."),
        ({"rates": (float("nan"),)}, "a rate must be at least 0 and below 1, but it is nan."),
        ({"mixes": FakeMixes(3), "rates": (0.5,)}, "a rate of 0.5 leaves the oracle fewer than 2 of 3 pairs."),
        ({"episodes": 0}, "--episodes must be at least 1, but it is 0."),
        ({"seeds": (EVALUATION_SEED,)}, "is that of the evaluation's episodes; take another."),
        ({"common": {"stepz": 1}}, "none of choicenet, mlp has a setting 'stepz'."),
        ({"kinds": ("flip", "duplicated")}, "single pairs cannot show the kind 'duplicated'"),
    ],
)
def test_bad_plans_get_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RobustBCError) as problem:
        suite(**changes)
    assert sentence in str(problem.value)
