"""Who stands in a table, and what each is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError, method_names
from robust_bc.policies.policy import Policy
from robust_bc_benchmarks.commands.regression import VARIANTS
from robust_bc_benchmarks.core import contenders
from robust_bc_benchmarks.core.contenders import (
    TOLD,
    expand,
    fair,
    find_contender,
    fit_contender,
    shown_name,
    with_oracles,
    without_bad_pairs,
)
from tests.conftest import NETWORK_METHODS, make_pairs


def test_all_are_the_methods_and_those_that_can_be_told_the_rate() -> None:
    everyone = expand(["all"])
    assert [name for name in everyone if TOLD not in name] == list(method_names())
    assert {name for name in everyone if TOLD in name} == {"trimmed@rate=true", "co-teaching@rate=true"}
    assert {name.removesuffix(TOLD) for name in expand(["neural"])} == set(NETWORK_METHODS)
    assert expand(["mlp", "gpr", "mlp"]) == ("mlp", "gpr")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mlp@rate=true", "method 'mlp' takes no share of bad pairs, so there is no 'mlp@rate=true'"),
        ("gpr@restarts=5", "has no setting 'restarts'"),
        ("choicenet@mixtures=0", "setting 'mixtures' must be"),
        ("choicenet@mixtures", "'mixtures' is not a setting; write NAME=VALUE"),
        ("trimed", "there is no method 'trimed' \\(did you mean 'trimmed'\\?\\)"),
        ("mlp+clean+clean", "there is no method 'mlp\\+clean'"),
        ("mlp+oracle+clean", "there is no method 'mlp\\+oracle'"),
        ("mlp+oracle", "the oracle of each method is in its table anyway; leave 'mlp\\+oracle' out"),
    ],
)
def test_unknown_contenders_are_named(name: str, message: str) -> None:
    with pytest.raises(RobustBCError, match=message):
        expand([name])


def test_settings_are_read_as_they_are_meant() -> None:
    own = find_contender("choicenet@mixtures=2@tau_inverse=1e-3@early_stopping=true@hidden=8x4@noise=local").own
    assert own == {"mixtures": 2, "tau_inverse": 1e-3, "early_stopping": True, "hidden": (8, 4), "noise": "local"}
    assert find_contender("mlp@hidden=64").own == {"hidden": (64,)}
    assert find_contender("trimmed@rate=0.2").own == {"rate": 0.2}
    told = find_contender("trimmed@rate=true+clean")
    assert (told.method, told.told_rate, told.cleaned, told.settings({}, 0.3)) == ("trimmed", True, True, {"rate": 0.3})
    assert find_contender("gpr").settings({"hidden": (3,)}, 0.0) == {}  # a process has no layers
    assert [fair(name) for name in ("trimmed", "trimmed@rate=true", "mlp+clean", "mlp+oracle", "expert")] == [
        *(True, False, True, False, False)
    ]
    with pytest.raises(RobustBCError, match="an oracle has only good pairs, so there is no 'mlp\\+clean\\+oracle'"):
        find_contender("mlp+clean+oracle")


def test_every_contender_has_the_oracle_of_its_own_settings() -> None:
    assert with_oracles(["mlp", "mlp+clean", "choicenet@mixtures=2"]) == (
        *("mlp", "mlp+clean", "choicenet@mixtures=2"),
        *("mlp+oracle", "choicenet@mixtures=2+oracle"),
    )
    oracle = find_contender("choicenet@mixtures=2+oracle")
    assert (oracle.method, oracle.own, oracle.oracle) == ("choicenet", {"mixtures": 2}, True)
    # Who is told the true rate is told that of what it learns from.
    assert find_contender("trimmed@rate=true+oracle").settings({}, 0.3) == {"rate": 0.0}
    assert find_contender("trimmed@rate=0.2+oracle").settings({}, 0.3) == {"rate": 0.2}
    assert without_bad_pairs("choicenet@mixtures=2+oracle") == "choicenet@mixtures=2"
    assert [shown_name(name) for name in ("mlp+oracle", "oracle", "mlp")] == ["oracle of mlp", "oracle", "mlp"]


def test_an_oracle_never_cleans_and_auto_does() -> None:
    assert [find_contender(name).cleaned for name in ("mlp", "mlp+clean", "mlp+oracle")] == [False, True, False]
    assert [find_contender(name).cleaned for name in ("auto", "auto+oracle")] == [True, False]
    assert without_bad_pairs("auto+oracle") == "auto+oracle"  # auto might clean where there is nothing to clean
    assert fair("auto")


def test_every_variant_of_the_ablation_changes_something() -> None:
    resolved = [(find_contender(name).method, find_contender(name).resolved({}, 0.0)) for name in VARIANTS]
    assert len(set(resolved)) == len(VARIANTS)


def test_only_who_is_told_knows_the_rate_and_only_oracles_see_good_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    mixes = [
        Demonstrations.from_arrays(np.zeros((20, 1)), np.zeros((20, 1)), corrupt=np.arange(20) < bad)
        for bad in (2, 8, 2, 2)
    ]
    calls: list[tuple[str, list[int], list[int], bool, dict[str, Any]]] = []

    def remember(pairs: list[Demonstrations], method: str, seeds: list[int], clean: bool, **rest: Any) -> list[str]:
        del rest["device"], rest["progress"]
        assert rest.pop("padded")
        calls.append((method, [len(each) for each in pairs], seeds, clean, rest))
        return [f"policy of seed {seed}" for seed in seeds]

    monkeypatch.setattr(contenders, "fit_fleet", remember)
    common = {"steps": 7, "hidden": (3,)}
    given = (mixes, [0.1, 0.4, 0.1, 0.1], [5, 6, 7, 8])
    for name in ("mlp", "choicenet+oracle", "trimmed@rate=true", "trimmed@rate=true+oracle", "gpr+clean"):
        found = fit_contender(name, *given, common=common)
        assert [str(policy) for policy in found] == [f"policy of seed {seed}" for seed in (5, 6, 7, 8)]
    assert calls == [
        ("mlp", [20, 20, 20, 20], [5, 6, 7, 8], False, common),
        ("choicenet", [18, 12, 18, 18], [5, 6, 7, 8], False, common),
        ("trimmed", [20, 20, 20], [5, 7, 8], False, {**common, "rate": 0.1}),
        ("trimmed", [20], [6], False, {**common, "rate": 0.4}),
        ("trimmed", [18, 12, 18, 18], [5, 6, 7, 8], False, {**common, "rate": 0.0}),
        ("gpr", [20, 20, 20, 20], [5, 6, 7, 8], True, {}),
    ]


def test_who_cannot_be_fitted_has_a_sentence() -> None:
    pairs = [make_pairs(0, 40), make_pairs(1, 80)]
    fitted, refused = fit_contender("lgpr@max_pairs=50", pairs, [0.0, 0.0], [0, 1], "cpu")
    assert isinstance(fitted, Policy)
    assert isinstance(refused, str)
    assert "max_pairs" in refused
