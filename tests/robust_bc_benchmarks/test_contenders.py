"""Who stands in a table, what each is told, and the rule by which settings are chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError, fit, load_policy, method_names
from robust_bc.methods import get_method
from robust_bc.training.runs import train_run
from robust_bc_benchmarks import contenders
from robust_bc_benchmarks.contenders import expand, fair, find_contender, fit_contender, settings_in_use
from robust_bc_benchmarks.control.cells import Key
from robust_bc_benchmarks.control.plan import ControlPlan
from robust_bc_benchmarks.control.rows import ControlRow
from robust_bc_benchmarks.control.tables import MUJOCO, grids
from robust_bc_benchmarks.tuning import FIRST_SEED, TRIALS, held_out_distance, run_tuning, tuning_tasks
from tests.conftest import NETWORK_METHODS, QUICK, make_pairs


def test_all_are_the_methods_and_those_that_can_be_told_the_rate() -> None:
    everyone = expand(["all"])
    assert [name for name in everyone if not name.endswith("+rate")] == list(method_names())
    assert {name for name in everyone if name.endswith("+rate")} == {"trimmed+rate", "co-teaching+rate"}
    neural = expand(["neural"])
    assert set(neural) == {name for name in everyone if name.removesuffix("+rate") in NETWORK_METHODS}
    assert expand(["mlp", "gpr", "mlp"]) == ("mlp", "gpr")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mlp+rate", "method 'mlp' takes no share of bad pairs, so there is no 'mlp\\+rate'"),
        ("gpr+restarts", "method 'gpr' trains no networks, so there is no 'gpr\\+restarts'"),
        ("trimed+restarts", "there is no method 'trimed'"),
        ("trimmed+restarts+rate", "there is no method 'trimmed\\+restarts'"),
        ("trimmed+rate+restarts", "there is no method 'trimmed\\+rate'"),
        ("gpr+restarts+clean", "method 'gpr' trains no networks, so there is no 'gpr\\+restarts'"),
        ("mlp+clean+clean", "there is no method 'mlp\\+clean'"),
        ("mlp+clean+restarts", "there is no method 'mlp\\+clean'"),
        ("oracle+clean", "there is no method 'oracle'"),
        ("trimed", "there is no method 'trimed' \\(did you mean 'trimmed'\\?\\)"),
        ("trimed+rate", "there is no method 'trimed'"),
    ],
)
def test_unknown_contenders_are_named(name: str, message: str) -> None:
    with pytest.raises(RobustBCError, match=message):
        expand([name])


def test_only_who_is_told_knows_the_rate_and_only_the_oracle_sees_clean_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    mixes = [
        Demonstrations.from_arrays(np.zeros((20, 1)), np.zeros((20, 1)), corrupt=np.arange(20) < bad)
        for bad in (2, 8, 2)
    ]
    calls: list[tuple[str, list[int], list[int], dict[str, Any]]] = []

    def remember(pairs: list[Demonstrations], method: str, seeds: list[int], **rest: Any) -> list[str]:
        del rest["device"], rest["progress"]
        assert not rest.pop("clean")
        calls.append((method, [len(each) for each in pairs], seeds, rest))
        return [f"policy of seed {seed}" for seed in seeds]

    monkeypatch.setattr(contenders, "fit_fleet", remember)
    common = {"steps": 7, "hidden": (3,)}
    given = (mixes, [0.1, 0.4, 0.1], [5, 6, 7])
    assert [str(policy) for policy in fit_contender("mlp", *given, settings=common)] == [
        f"policy of seed {seed}" for seed in (5, 6, 7)
    ]
    fit_contender("oracle", *given, settings=common)
    assert [str(policy) for policy in fit_contender("trimmed+rate", *given)] == [
        f"policy of seed {seed}" for seed in (5, 6, 7)
    ]
    fit_contender("trimmed", *given)
    fit_contender("gpr", *given, settings=common)
    assert calls == [
        ("mlp", [20, 20, 20], [5, 6, 7], common),
        ("mlp", [18, 12, 18], [5, 6, 7], common),
        ("trimmed", [20, 20], [5, 7], {"rate": 0.1}),
        ("trimmed", [20], [6], {"rate": 0.4}),
        ("trimmed", [20, 20, 20], [5, 6, 7], {}),
        ("gpr", [20, 20, 20], [5, 6, 7], {}),
    ]


def test_a_cell_of_who_is_told_depends_on_the_rate() -> None:
    plan = ControlPlan(("task",), ("flip",), (0.0, 0.2), ("trimmed", "trimmed+rate", "mlp"), (0,))
    told = {
        (name, rate): plan.fingerprint(Key("task", "flip", rate, name, 0), {})["method_settings"]["rate"]
        for name in ("trimmed", "trimmed+rate")
        for rate in (0.0, 0.2)
    }
    usual = get_method("trimmed").settings({}).rate
    assert told == {
        ("trimmed", 0.0): usual,
        ("trimmed", 0.2): usual,
        ("trimmed+rate", 0.0): 0.0,
        ("trimmed+rate", 0.2): 0.2,
    }
    assert find_contender("trimmed+rate").method == "trimmed"


def test_who_starts_anew_does_so_five_times_and_knows_nothing_more() -> None:
    chosen = find_contender("choicenet+restarts")
    assert (chosen.method, chosen.told_rate, chosen.clean_only) == ("choicenet", False, False)
    assert chosen.settings({"hidden": (3,)}, 0.3) == {"hidden": (3,), "restarts": 5}
    assert fair("choicenet+restarts")
    plan = ControlPlan(("task",), ("flip",), (0.2,), ("choicenet", "choicenet+restarts"), (0,))
    restarts = [
        plan.fingerprint(Key("task", "flip", 0.2, name, 0), {})["method_settings"]["restarts"] for name in plan.methods
    ]
    assert restarts == [1, 5]


def test_any_method_can_be_cleaned_before(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned: list[tuple[str, bool, dict[str, Any]]] = []

    def remember(pairs: list[Demonstrations], method: str, clean: bool, **rest: Any) -> list[str]:
        cleaned.append((method, clean, {name: rest[name] for name in ("rate", "restarts") if name in rest}))
        return ["a policy"] * len(pairs)

    monkeypatch.setattr(contenders, "fit_fleet", remember)
    names = ("gpr", "gpr+clean", "choicenet+restarts+clean", "trimmed+rate+clean")
    assert expand(names) == names
    for name in names:
        fit_contender(name, [make_pairs(0)], [0.2], [0])
    assert cleaned == [
        ("gpr", False, {}),
        ("gpr", True, {}),
        ("choicenet", True, {"restarts": 5}),
        ("trimmed", True, {"rate": 0.2}),
    ]
    assert not fair("trimmed+rate+clean")
    assert fair("trimmed+clean")
    assert [told.get("clean", False) for told in settings_in_use(["mlp", "mlp+clean"]).values()] == [False, True, False]


def test_the_rule_is_a_median_that_bad_pairs_do_not_move(pairs: Demonstrations) -> None:
    policy = fit(pairs, "mlp", device="cpu", **QUICK)
    good = policy.predict(pairs.observations)[0]
    shown = good + np.random.default_rng(0).normal(size=good.shape)
    literal = np.median(np.sqrt((((shown - good) / shown.std(0)) ** 2).mean(1)))
    assert held_out_distance(policy, Demonstrations.from_arrays(pairs.observations, shown)) == pytest.approx(literal)
    bad = np.arange(len(pairs)) % 10 < 4
    same = Demonstrations.from_arrays(pairs.observations, np.where(bad[:, None], -good, good))
    assert held_out_distance(policy, same) == pytest.approx(0, abs=1e-6)


def test_every_method_has_its_trials_and_they_are_settings_of_it() -> None:
    assert set(TRIALS) == set(method_names())
    for name, trials in TRIALS.items():
        assert trials[0] == {}
        resolved = [get_method(name).settings(dict(trial)) for trial in trials]
        assert len(set(resolved)) == len(trials), f"{name} is offered the same thing twice"


def test_a_trial_is_judged_on_pairs_that_it_did_not_see() -> None:
    tasks = tuning_tasks(1, rates=(0.0, 0.4))
    assert [(how, rate, seed) for how, rate, seed, _ in tasks] == [
        ("flip", 0.0, FIRST_SEED),
        *((how, 0.4, FIRST_SEED) for how in ("flip", "relabel", "uniform")),
    ]
    short = {"mlp": [{"steps": 50}, {"steps": 300}]}
    few, more = run_tuning(["mlp"], 1, short, rates=(0.0,))
    assert len(few.scores) == len(few.errors) == 1
    assert more.score < few.score
    pairs = tasks[0][3].demonstrations
    kept = np.arange(len(pairs)) >= 100
    again = fit(pairs.select(kept), "mlp", seed=FIRST_SEED, device="cpu", steps=50)
    assert few.scores[0] == pytest.approx(held_out_distance(again, pairs.select(~kept)), rel=1e-4)


def test_a_run_of_what_is_computed_in_one_go(tmp_path: Path) -> None:
    pairs = make_pairs(0, 40)
    told: list[Any] = []
    policy = train_run(tmp_path / "run", pairs, source="test", method="gpr", device="cpu", progress=told.append)
    assert policy.history is None
    assert [(state.done, state.total, state.loss) for state in told] == [(1, 1, None)]
    loaded = load_policy(tmp_path / "run", device="cpu")
    assert np.array_equal(loaded.predict(pairs.observations)[0], policy.predict(pairs.observations)[0])
    again = train_run(tmp_path / "run", pairs, source="test", method="gpr", device="cpu", resume=True)
    assert np.array_equal(again.predict(pairs.observations)[0], policy.predict(pairs.observations)[0])


def test_a_run_computed_in_one_go_is_not_resumed_with_other_data(tmp_path: Path) -> None:
    train_run(tmp_path, make_pairs(0, 40), source="test", method="gpr", device="cpu")
    with pytest.raises(RobustBCError, match="was started with another set of pairs"):
        train_run(tmp_path, make_pairs(1, 40), source="test", method="gpr", device="cpu", resume=True)


def test_too_many_pairs_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match="max_pairs"):
        train_run(tmp_path / "run", make_pairs(0, 40), source="test", method="gpr", device="cpu", max_pairs=30)
    assert not (tmp_path / "run").exists()


def test_the_oracle_has_the_settings_of_its_method_unless_it_has_its_own() -> None:
    given = {"mlp": {"steps": 7}}
    plan = ControlPlan(("task",), ("flip",), (0.0, 0.2), ("mlp",), (0,), method_settings=given)
    assert plan.settings_of("oracle", 0.2) == {"steps": 7}
    assert plan.key("task", "flip", 0.0, "oracle", 0).method == "mlp"
    apart = ControlPlan(
        ("task",), ("flip",), (0.0, 0.2), ("mlp",), (0,), method_settings={**given, "oracle": {"steps": 8}}
    )
    assert apart.key("task", "flip", 0.0, "oracle", 0).method == "oracle"


def test_the_oracle_and_misspelt_settings_are_refused() -> None:
    with pytest.raises(RobustBCError, match="'oracle' is in every table anyway"):
        expand(["mlp", "oracle"])
    with pytest.raises(RobustBCError, match="have a setting 'stepz'"):
        find_contender("mlp").takes({"stepz": 1})


def test_who_is_told_the_rate_does_not_win_a_table() -> None:
    def row(method: str, mean: float) -> ControlRow:
        return ControlRow("task", "flip", 0.3, method, "return", mean, 0.0, mean, mean, mean, 1, 1, None, 1)

    (grid,) = grids([row("mlp", 1.0), row("trimmed+rate", 9.0), row("l1", 2.0)], "task", "flip", MUJOCO[:1])
    assert grid.best(0.3) == {"l1"}
    assert fair("trimmed")
    assert not fair("trimmed+rate")
