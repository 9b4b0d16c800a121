"""The budget that follows from the number of pairs, and that it is the same in any fleet."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from robust_bc import RobustBCError, fit, fit_fleet, load_policy
from robust_bc.methods.mdn import MDNSettings
from robust_bc.methods.network import NetworkSettings
from robust_bc.training import budget
from robust_bc.training.budget import steps_for, with_budget
from robust_bc.training.progress import Progress, about
from robust_bc.training.runs import train_run
from tests.conftest import make_pairs


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule with numbers that take a moment: 50 steps for 100 pairs, 100 for 400."""
    steps = {"STEPS": 50, "PAIRS": 100, "UNIT": 10, "PASSES": 50, "FEWEST_STEPS": 30}
    for name, value in {"HIDDEN": (8, 8), "BATCH_SIZE": 16, **steps}.items():
        monkeypatch.setattr(budget, name, value)


def test_few_pairs_are_seen_so_often_and_of_many_steps_grow_with_the_root() -> None:
    for pairs in (2, 500, 777, 2000, 8000, 123_456, 10**9):
        exact = min(budget.PASSES * pairs / budget.BATCH_SIZE, budget.STEPS * math.sqrt(pairs / budget.PAIRS))
        limited = min(max(exact, budget.FEWEST_STEPS), budget.MOST_STEPS)
        assert abs(steps_for(pairs) - limited) <= budget.UNIT / 2
        assert steps_for(pairs) % budget.UNIT == 0
    assert steps_for(budget.PAIRS) == budget.STEPS
    assert steps_for(4 * budget.PAIRS) == 2 * budget.STEPS
    assert steps_for(budget.PAIRS // 4) == budget.STEPS // 4  # where both meet


def test_what_is_given_is_kept_and_the_rest_follows() -> None:
    resolved = with_budget(MDNSettings(), budget.PAIRS)
    assert (resolved.hidden, resolved.steps, resolved.batch_size) == (budget.HIDDEN, budget.STEPS, budget.BATCH_SIZE)
    some = with_budget(MDNSettings(steps=7, mixtures=3), 2000)
    assert some == MDNSettings(hidden=budget.HIDDEN, steps=7, batch_size=budget.BATCH_SIZE, mixtures=3)
    everything = NetworkSettings(hidden=(3,), steps=7, batch_size=2)
    assert with_budget(everything, 2000) == everything
    with pytest.raises(RobustBCError, match="not all given"):
        _ = NetworkSettings(steps=7).budget


@pytest.mark.usefixtures("tiny")
def test_a_policy_has_what_was_resolved(tmp_path: Path) -> None:
    policy = fit(make_pairs(0, 400), "mlp", device="cpu")
    assert isinstance(policy.settings, NetworkSettings)
    assert (policy.settings.hidden, policy.settings.steps, policy.settings.batch_size) == ((8, 8), 100, 16)
    assert policy.history is not None
    assert policy.history.steps[-1] == 100
    policy.save(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["settings"]["steps"] == 100
    assert load_policy(tmp_path, device="cpu").settings == policy.settings


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("method", ["mlp", "choicenet", "co-teaching"])
def test_a_fleet_of_mixed_sizes_is_trained_size_by_size(method: str) -> None:
    data = [make_pairs(seed, pairs) for seed, pairs in enumerate((100, 400, 100, 40, 90))]
    told: list[Progress] = []
    together = fit_fleet(data, method, device="cpu", progress=told.append)
    assert [policy.settings.steps for policy in together] == [50, 100, 50, 30, 50]  # type: ignore[attr-defined]
    done = [state.done for state in told]
    assert done == sorted(done)
    assert {state.total for state in told} == {done[-1]} == {50 + 100 + 30}
    assert [state.note.split(",")[0] for state in told if state.note] == [f"{n} steps of 16" for n in (50, 100, 30)]
    padded = fit_fleet(data, method, device="cpu", padded=True)
    for seed, pairs in enumerate(data):
        alone = fit(pairs, method, seed=seed, device="cpu").tensors()
        for name, tensor in together[seed].tensors().items():
            torch.testing.assert_close(tensor, alone[name], atol=1e-5, rtol=1e-5)
        (by_itself,) = fit_fleet([pairs], method, seeds=[seed], device="cpu", padded=True)
        for name, tensor in padded[seed].tensors().items():
            assert torch.equal(tensor, by_itself.tensors()[name])  # to the bit


@pytest.mark.usefixtures("tiny")
def test_a_run_goes_on_with_the_same_budget(tmp_path: Path) -> None:
    class Killed(BaseException):
        """Stands for kill -9."""

    def kill(state: Progress) -> None:
        if state.done >= 75:
            raise Killed

    def start(folder: str, **more: Any) -> None:
        given = {"source": "test", "method": "mlp", "device": "cpu", "checkpoint_seconds": 0}
        train_run(tmp_path / folder, make_pairs(0, 400), **{**given, **more})

    start("whole")
    for number, same in enumerate(({}, {"steps": 100, "hidden": (8, 8)})):
        folder = f"stopped-{number}"
        with pytest.raises(Killed):
            start(folder, progress=kill)
        settings = json.loads((tmp_path / folder / "run.json").read_text())["settings"]
        assert (settings["hidden"], settings["steps"], settings["batch_size"]) == ([8, 8], 100, 16)
        with pytest.raises(RobustBCError, match=r"started with another settings\.steps"):
            start(folder, resume=True, steps=90)
        start(folder, resume=True, **same)
        for name in ("history.csv", "run.json", "policy/model.safetensors"):
            assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / folder / name).read_bytes()


def test_the_rule_of_another_revision_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 30 steps by the rule of its time is not continued as one of 40."""
    for name in ("FEWEST_STEPS", "MOST_STEPS"):
        monkeypatch.setattr(budget, name, 30)
    given: dict[str, Any] = {"source": "test", "method": "mlp", "device": "cpu", "hidden": (4,)}
    train_run(tmp_path, make_pairs(0), **given)
    for name in ("FEWEST_STEPS", "MOST_STEPS"):
        monkeypatch.setattr(budget, name, 40)
    with pytest.raises(RobustBCError, match=r"started with another settings\.steps"):
        train_run(tmp_path, make_pairs(0), resume=True, **given)
    train_run(tmp_path, make_pairs(0), resume=True, steps=30, **given)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.1, "a few seconds"),
        (14, "about 10 seconds"),
        (44, "about 40 seconds"),
        (46, "about 1 minute"),
        (100, "about 2 minutes"),
        (2600, "about 43 minutes"),
        (2800, "about 1 hour"),
        (9000, "about 2 hours"),
    ],
)
def test_a_time_is_said_as_a_person_would(seconds: float, words: str) -> None:
    assert about(seconds) == words
