"""`auto`: an audit, a choice by one rule, and a policy that remembers both."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robust_bc import Auto, Demonstrations, RobustBCError, fit, fit_fleet, load_policy
from robust_bc.errors import DamagedFileError
from robust_bc.methods import get_method, method_names
from robust_bc.policies.choice import Choice
from robust_bc.training import choosing
from robust_bc.training.choosing import CANDIDATES, MOST_FOR_A_MIXTURE, MOST_FOR_A_PROCESS, choose
from robust_bc.training.progress import Progress
from robust_bc.training.runs import train_run
from tests.conftest import change_config, make_pairs

pytestmark = pytest.mark.usefixtures("small_budget")

FOUND_NOTHING = "auto: nothing is left out: the audit found no bad episode."


def of_size(pairs: int, length: int) -> Demonstrations:
    """Zeros, in episodes of this length."""
    return Demonstrations.from_arrays(np.zeros((pairs, 1)), np.zeros((pairs, 1)), np.arange(pairs) // length)


def flipped(seed: int = 0) -> Demonstrations:
    """10 episodes of 20 pairs; the actions of the first 3 are negated."""
    good = make_pairs(seed)
    return Demonstrations.from_arrays(
        good.observations, np.where(good.episodes[:, None] < 3, -good.actions, good.actions), good.episodes
    )


def singles(pairs: int = 60) -> Demonstrations:
    good = make_pairs(0, pairs)
    return Demonstrations.from_arrays(good.observations, good.actions)


@pytest.mark.parametrize(
    ("pairs", "length", "method", "why"),
    [
        (1800, 100, "gpr", "gpr, for 1,800 pairs of whole episodes are few enough"),
        (10, 5, "gpr", "gpr, for 10 pairs"),
        (MOST_FOR_A_PROCESS, 1000, "gpr", "gpr, for 4,000 pairs"),
        (MOST_FOR_A_PROCESS + 1, 1000, "mlp", "mlp, for 4,001 pairs of whole episodes are too many"),
        (MOST_FOR_A_MIXTURE, 1, "rgpr", "rgpr, for among 1,000 single pairs bad ones may be left"),
        (800, 4, "rgpr", "rgpr, for"),
        (MOST_FOR_A_MIXTURE + 1, 1, "choicenet", "choicenet, for"),
        (10 * MOST_FOR_A_PROCESS, 1, "choicenet", "choicenet, for"),
    ],
)
def test_the_rule(pairs: int, length: int, method: str, why: str) -> None:
    choice = choose(of_size(pairs, length))
    assert choice.method == method
    assert choice.reason.startswith(why)


def test_candidates_are_methods_and_do_not_clean() -> None:
    assert set(CANDIDATES) <= set(method_names())
    assert [name for name in method_names() if get_method(name).cleans] == ["auto"]


def test_whole_episodes(tmp_path: Path) -> None:
    policy = fit(flipped(), device="cpu")
    plain = fit(flipped(), "gpr", device="cpu", clean=True)
    assert policy.method.name == "gpr"
    assert all(torch.equal(tensor, plain.tensors()[name]) for name, tensor in policy.tensors().items())
    assert policy.cleaning == plain.cleaning
    assert policy.choice is not None
    lines = (
        "auto: the audit dropped 3 of 10 episodes (30 % of the pairs).",
        "auto: gpr, for 140 pairs of whole episodes are few enough for a Gaussian process.",
    )
    assert policy.choice.lines == lines
    assert "\n".join(lines) in policy.card
    loaded = load_policy(policy.save(tmp_path), device="cpu")
    assert (loaded.choice, loaded.card) == (policy.choice, policy.card)
    assert plain.choice is None


def test_many_pairs_of_whole_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MOST_FOR_A_PROCESS", 150)
    data = [flipped(), make_pairs(1)]  # 140 pairs are left of the first, and all 200 of the second
    told: list[Progress] = []
    small, large = fit_fleet(data, seeds=[3, 4], device="cpu", progress=told.append)
    assert [small.method.name, large.method.name] == ["gpr", "mlp"]
    assert small.choice is not None
    assert large.choice is not None
    assert large.choice.lines[0] == FOUND_NOTHING
    notes = [state.note for state in told]
    for choice in (small.choice, large.choice):
        assert " ".join(choice.lines) in notes
    done = [state.done for state in told]
    assert done == sorted(done)
    assert done[-1] == told[-1].total
    for seed, (pairs, policy) in enumerate(zip(data, (small, large), strict=True), 3):
        alone = fit(pairs, seed=seed, device="cpu")
        assert (alone.choice, alone.settings) == (policy.choice, policy.settings)
        for name, tensor in policy.tensors().items():
            torch.testing.assert_close(tensor, alone.tensors()[name], atol=1e-5, rtol=1e-5)


def test_single_pairs_and_no_audit(tmp_path: Path) -> None:
    policy = Auto(action_scaling="robust").fit(singles(), clean=False, members=2, seed=1, device="cpu")
    assert (policy.method.name, policy.members, policy.settings.action_scaling) == ("rgpr", 2, "robust")
    assert policy.cleaning is None
    assert policy.choice is not None
    assert policy.choice.lines[0] == "auto: no audit was asked for."
    assert load_policy(policy.save(tmp_path), device="cpu").choice == policy.choice


def test_it_has_no_settings_of_its_own(pairs: Demonstrations) -> None:
    with pytest.raises(RobustBCError, match="'auto' has no setting 'steps'; it has: action_scaling; name a method to"):
        fit(pairs, steps=3)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "mlp"},
        {"method": "auto"},
        {"method": "none"},
        {"reason": 3},
        {"more": 1},
    ],
)
def test_a_choice_that_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    policy = fit(make_pairs(0), "gpr", device="cpu")
    policy.choice = Choice("gpr", "gpr, for it is small.", "no audit was asked for.")
    policy.save(tmp_path)
    assert load_policy(tmp_path, device="cpu").choice == policy.choice
    change_config(tmp_path, "choice", change)
    with pytest.raises(DamagedFileError):
        load_policy(tmp_path, device="cpu")


class Killed(BaseException):
    """Stands for kill -9 inside one process: nothing may clean up after it."""


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("robust_bc.training.runs.time.monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr("robust_bc.training.choosing.MOST_FOR_A_MIXTURE", 10)

    def start(folder: str, **more: Any) -> None:
        given = {"source": "test", "device": "cpu", "checkpoint_seconds": 3}
        train_run(tmp_path / folder, singles(), **{**given, **more})

    def kill(state: Progress) -> None:
        if state.loss is not None and state.done >= state.total - 100:
            raise Killed

    start("whole")
    about = json.loads((tmp_path / "whole" / "run.json").read_text())
    assert (about["method"], about["choice"]["method"], about["settings"]["steps"]) == ("auto", "choicenet", 400)
    with pytest.raises(Killed):
        start("stopped", progress=kill)
    assert (tmp_path / "stopped" / "checkpoints" / "latest.safetensors").exists()
    with pytest.raises(RobustBCError, match="was started with another method"):
        start("stopped", method="choicenet", clean=True, resume=True)
    start("stopped", resume=True)
    for name in ("history.csv", "run.json", "policy/config.json", "policy/model.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


def test_a_run_of_whole_episodes(tmp_path: Path) -> None:
    policy = train_run(tmp_path, flipped(), source="test", device="cpu")
    about = json.loads((tmp_path / "run.json").read_text())
    assert (about["method"], about["clean"], about["learned_from"]) == ("auto", True, 140)
    assert about["settings"]["max_pairs"] == 4000
    assert load_policy(tmp_path, device="cpu").choice == policy.choice
