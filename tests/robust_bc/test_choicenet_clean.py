"""`choicenet-clean` learns from what an audit keeps, and from nothing else."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from robust_bc import Demonstrations, RobustBCError, fit, fit_fleet
from robust_bc.auditing import conflict
from robust_bc.auditing.audits import audit_fleet
from robust_bc.auditing.results import Audit
from robust_bc.fitting import Progress
from robust_bc.methods import cleaning
from robust_bc.runs import train_run
from robust_bc.training.data import make_fleet_data
from tests.auditing.audits import make_audit
from tests.auditing.toys import QUICK, flipped_episodes, smooth

SHORT: dict[str, Any] = {**QUICK, "steps": 100, "judge_steps": 10, "ensemble": 2}
"""For tests of mechanics: such judges do not judge well."""


class Spy:
    """Works as usual, and remembers audits and what any network learned from after the last of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.audits: list[Audit] = []
        self.learned: list[Demonstrations] = []
        monkeypatch.setattr("robust_bc.fitting.make_fleet_data", self.make_fleet_data)
        monkeypatch.setattr(cleaning, "audit_fleet", self.audit_fleet)

    def make_fleet_data(self, demonstrations: Sequence[Demonstrations], *args: Any) -> Any:
        self.learned.extend(demonstrations)
        return make_fleet_data(demonstrations, *args)

    def audit_fleet(self, *args: Any, **given: Any) -> list[Audit]:
        self.audits = audit_fleet(*args, **given)
        self.learned.clear()  # those were the judges
        return self.audits


@pytest.fixture
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflict, "MOST_ROUNDS", 2)


def test_learns_only_from_what_the_audit_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    data = [flipped_episodes(0.3, seed) for seed in range(2)]
    given = {**QUICK, "steps": 300, "judge_steps": 300, "ensemble": 2}
    policies = fit_fleet(data, "choicenet-clean", seeds=[4, 5], device="cpu", **given)
    assert [policy.networks for policy in policies] == [2, 2]
    assert [found.seed for found in spy.audits] == [4, 5]
    for pairs, found, used, policy in zip(data, spy.audits, spy.learned, policies, strict=True):
        assert np.array_equal(used.observations, pairs.observations[found.quality > 0.5])
        assert used.corrupt is not None
        assert used.corrupt.mean() < 0.02
        assert policy.learned_from == len(used) > 0.6 * len(pairs)
        fresh = np.random.default_rng(9).uniform(-1, 1, (200, 2))
        assert np.abs(policy.predict(fresh)[0] - smooth(fresh)).mean() < 0.1
        # Not even the normalisation knows of the others.
        assert policy.normalisation.actions.centre == pytest.approx(used.actions.mean(0))


def test_the_quality_to_keep_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    pairs = flipped_episodes(0.0, episodes=4, length=5)
    quality = np.linspace(0, 1, 20)
    monkeypatch.setattr(cleaning, "audit_fleet", lambda *args, **given: [make_audit(quality, pairs.episodes)])
    fit(pairs, "choicenet-clean", device="cpu", **{**SHORT, "keep_above": 0.8, "steps": 5})
    assert np.array_equal(spy.learned[0].observations, pairs.observations[quality > 0.8])


@pytest.mark.parametrize("good", [0, 1])
def test_nothing_left_is_said(monkeypatch: pytest.MonkeyPatch, good: int) -> None:
    pairs = flipped_episodes(0.0, episodes=4, length=5)
    found = make_audit(np.r_[np.full(good, 0.9), np.full(20 - good, 0.2)], pairs.episodes)
    monkeypatch.setattr(cleaning, "audit_fleet", lambda *args, **given: [found])
    with pytest.raises(RobustBCError, match=r"fewer than 2 pairs with a quality above 0\.5; lower keep_above"):
        fit(pairs, "choicenet-clean", device="cpu", **SHORT)


def test_judges_never_take_longer_than_training(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def audit(demonstrations: Sequence[Demonstrations], *args: Any, **given: Any) -> list[Audit]:
        asked.append(given)
        return [make_audit(np.ones(len(pairs)), pairs.episodes) for pairs in demonstrations]

    monkeypatch.setattr(cleaning, "audit_fleet", audit)
    pairs = flipped_episodes(0.0, episodes=4, length=5)
    for steps, judge_steps in ((5, 7), (7, 5)):
        fit(pairs, "choicenet-clean", device="cpu", **{**SHORT, "steps": steps, "judge_steps": judge_steps})
    assert [given["steps"] for given in asked] == [5, 5]


def test_a_run_tells_how_many_pairs_it_learned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = flipped_episodes(0.0, episodes=4, length=5)
    found = make_audit(np.r_[np.full(13, 0.9), np.full(7, 0.2)], pairs.episodes)
    monkeypatch.setattr(cleaning, "audit_fleet", lambda *args, **given: [found])
    for method, count in (("choicenet-clean", 13), ("choicenet", 20)):
        given = {**SHORT, "steps": 5} if method == "choicenet-clean" else {**QUICK, "steps": 5}
        train_run(tmp_path / method, pairs, source="test", method=method, device="cpu", **given)
        about = json.loads((tmp_path / method / "run.json").read_text())
        assert (about["pairs"], about["learned_from"]) == (20, count)


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize("sets", [1, 2])
def test_progress_rises_to_its_total(monkeypatch: pytest.MonkeyPatch, sets: int) -> None:
    monkeypatch.setattr("robust_bc.fitting.LARGEST_FLEET", 2)  # one fleet after another
    told: list[Progress] = []
    data = [flipped_episodes(0.3, seed, episodes=6, length=10) for seed in range(sets)]
    fit_fleet(data, "choicenet-clean", device="cpu", progress=told.append, **SHORT)
    done = [state.done for state in told]
    assert done == sorted(done)
    assert {state.total for state in told} == {done[-1]} == {4 * 10 + sets * 100}
    assert done[0] < 40  # the audit is part of it


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize("stop_at", [15, 41, 115])
def test_a_resumed_run_is_the_same_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int) -> None:
    """Stopped in the audit, before the first checkpoint of training, and after it."""
    ticks = itertools.count()
    monkeypatch.setattr("robust_bc.runs.time.monotonic", lambda: float(next(ticks)))
    pairs = flipped_episodes(0.3, episodes=8, length=15)

    class Killed(BaseException):
        pass

    def kill(state: Progress) -> None:
        if state.done >= stop_at:
            raise Killed

    def start(folder: str, **more: Any) -> None:
        given = {"source": "test", "method": "choicenet-clean", "device": "cpu", "checkpoint_seconds": 3, **SHORT}
        train_run(tmp_path / folder, pairs, **given, **more)

    start("whole")
    with pytest.raises(Killed):
        start("stopped", progress=kill)
    assert (tmp_path / "stopped" / "checkpoints" / "latest.safetensors").exists() == (stop_at == 115)
    start("stopped", resume=True)
    one, other = (load_file(tmp_path / name / "policy" / "model.safetensors") for name in ("whole", "stopped"))
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    histories = [(tmp_path / name / "history.csv").read_text() for name in ("whole", "stopped")]
    assert histories[0] == histories[1]
