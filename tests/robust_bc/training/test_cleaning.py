"""Cleaning before learning: a policy learns from what the audit keeps, and remembers what was left out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from robust_bc import Audit, Demonstrations, RobustBCError, audit, fit, fit_fleet, load_policy
from robust_bc.auditing.cleaning import cleaning_of
from robust_bc.auditing.estimates import Estimate
from robust_bc.auditing.findings import Finding
from robust_bc.errors import DamagedFileError
from robust_bc.policies.cleaning import Cleaning
from robust_bc.training.plan import AUDIT_STEPS
from robust_bc.training.progress import Progress
from robust_bc.training.runs import train_run
from tests.conftest import QUICK, change_config, make_pairs

Floats = NDArray[np.float64]
MIRRORED = (2, 5, 7)


def right(states: Floats) -> Floats:
    return np.stack([1 + 0.5 * np.sin(2 * states[:, 0]), states[:, 1]], 1)


def mirrored(seed: int = 0) -> Demonstrations:
    """10 episodes of 60 steps along smooth ways; in 3 of them the actions are negated."""
    generator = np.random.default_rng(seed)
    time = np.linspace(0, 2 * np.pi, 60)
    phases, speeds = generator.uniform(0, 2 * np.pi, (10, 2, 1)), generator.uniform(0.5, 2, (10, 2, 1))
    states = np.sin(speeds * time + phases).transpose(0, 2, 1).reshape(-1, 2)
    episodes = np.repeat(np.arange(10), 60)
    bad = np.isin(episodes, MIRRORED)
    return Demonstrations.from_arrays(
        states, np.where(bad[:, None], -right(states), right(states)), episodes, corrupt=bad
    )


def verdict(pairs: Demonstrations, bad: tuple[int, ...], **more: Any) -> Audit:
    """An audit that finds these episodes bad."""
    clean = np.where(np.isin(pairs.episodes, bad), 0.0, 1.0)
    share = round(float(1 - clean.mean()), 6)
    given = {
        "clean": clean,
        "episode_clean": np.where(np.isin(np.unique(pairs.episodes), bad), 0.0, 1.0),
        "rate": Estimate(share, share, share),
        "findings": (),
        "undecided": None,
    }
    return replace(audit(pairs), **{**given, **more})


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Sets what all audits say; gives the seeds that they are asked with."""

    def say(*bad: int, **more: Any) -> list[int]:
        seeds: list[int] = []

        def found(pairs: Demonstrations, seed: int, progress: Callable[[float, str], None]) -> Audit:
            seeds.append(seed)
            progress(0.5, "half way")
            return verdict(pairs, bad, **more)

        monkeypatch.setattr("robust_bc.training.plan.audit", found)
        return seeds

    return say


def test_what_is_learned_is_what_is_learned_without_the_bad_episodes() -> None:
    pairs = mirrored()
    assert pairs.corrupt is not None
    policy = fit(pairs, "gpr", device="cpu", clean=True)
    good = fit(pairs.select(~pairs.corrupt), "gpr", device="cpu")
    everything = fit(pairs, "gpr", device="cpu")
    fresh = np.random.default_rng(9).uniform(-0.9, 0.9, (200, 2))
    mine, oracle, plain = (np.abs(each.predict(fresh)[0] - right(fresh)).mean() for each in (policy, good, everything))
    assert mine == oracle < 0.05 * plain
    assert policy.cleaning is not None
    assert policy.cleaning.dropped == MIRRORED
    assert policy.cleaning.verdict == "bad"
    assert policy.cleaning.rate == pytest.approx(0.3, abs=0.02)
    assert everything.cleaning is None


@pytest.mark.parametrize("method", ["mlp", "choicenet", "gpr"])
def test_exactly_the_kept_pairs_are_learned_from(method: str, audited: Callable[..., list[int]]) -> None:
    seeds = audited(0, 3)
    settings = QUICK if method != "gpr" else {}
    data = [make_pairs(0), make_pairs(1)]
    policies = fit_fleet(data, method, seeds=[4, 5], device="cpu", clean=True, **settings)
    kept = [pairs.select(~np.isin(pairs.episodes, (0, 3))) for pairs in data]
    others = fit_fleet(kept, method, seeds=[4, 5], device="cpu", **settings)
    assert seeds == [4, 5]
    for one, other in zip(policies, others, strict=True):
        assert all(torch.equal(tensor, other.tensors()[name]) for name, tensor in one.tensors().items())
        assert one.normalisation.actions.centre == pytest.approx(other.normalisation.actions.centre, abs=0)
        assert one.learned_from == other.learned_from == 160
        assert one.cleaning == Cleaning(
            pairs=200,
            kept=160,
            episodes=10,
            dropped=(0, 3),
            rate=0.2,
            verdict="bad",
            reason="The audit left out 2 of 10 episodes (0, 3), because of disagreement with the majority.",
        )
        assert other.cleaning is None


def test_the_same_demonstrations_are_audited_once(audited: Callable[..., list[int]]) -> None:
    seeds, pairs = audited(1), make_pairs(0)
    fit_fleet([pairs, pairs, pairs], "gpr", seeds=[4, 4, 5], device="cpu", clean=True)
    assert seeds == [4, 5]


def test_the_sentence_says_why(pairs: Demonstrations) -> None:
    def reason(*bad: int, **more: Any) -> str:
        return cleaning_of(verdict(pairs, bad, **more)).reason

    assert reason() == "Nothing is left out: the audit found no bad episode."
    assert reason(*range(5)).startswith("Everything is kept: 50% of the pairs would go")
    assert reason(1, undecided="nobody can tell.") == "Everything is kept: nobody can tell."
    finding = Finding("frozen-sensor", 1, None, "a sensor is frozen", spoils=True)
    assert reason(1, findings=(finding,)) == (
        "The audit left out 1 of 10 episodes (1), because of faults of the recording."
    )
    assert reason(1, 2, 3, findings=(finding,)) == (
        "The audit left out 3 of 10 episodes (1, 2, 3), 1 because of faults of the recording and 2 because of"
        " disagreement with the majority."
    )


@pytest.mark.parametrize("method", ["mlp", "gpr"])
def test_a_policy_remembers_it(method: str, tmp_path: Path, audited: Callable[..., list[int]]) -> None:
    audited(6)
    policy = fit(make_pairs(0), method, device="cpu", clean=True, **(QUICK if method == "mlp" else {}))
    loaded = load_policy(policy.save(tmp_path), device="cpu")
    assert loaded.cleaning == policy.cleaning
    assert loaded.learned_from == policy.learned_from == 180
    assert "cleaning='1 of 10 episodes left out'" in repr(loaded)
    assert "learned from 180 of 200 pairs. The audit left out 1 of 10 episodes (6)" in loaded.card


def test_without_cleaning_nothing_is_said_of_it(tmp_path: Path) -> None:
    policy = fit(make_pairs(0), "gpr", device="cpu")
    policy.save(tmp_path)
    assert "cleaning" not in json.loads((tmp_path / "config.json").read_text())
    assert load_policy(tmp_path, device="cpu").cleaning is None
    assert "cleaning" not in repr(policy)
    assert "no cleaning was asked for" in policy.card


@pytest.mark.parametrize(
    "change", [{"kept": 201}, {"kept": 1}, {"dropped": list(range(10))}, {"rate": 1.5}, {"verdict": "good"}]
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    policy = fit(make_pairs(0), "gpr", device="cpu")
    policy.cleaning = Cleaning(200, 180, 10, (6,), 0.1, "bad", "The audit left out 1 of 10 episodes.")
    policy.save(tmp_path)
    change_config(tmp_path, "cleaning", change)
    with pytest.raises(DamagedFileError):
        load_policy(tmp_path, device="cpu")


@pytest.mark.parametrize(("method", "total"), [("mlp", 2 * AUDIT_STEPS + 60), ("gpr", 4 * AUDIT_STEPS)])
def test_progress_rises_to_its_total(method: str, total: int, audited: Callable[..., list[int]]) -> None:
    audited(0)
    told: list[Progress] = []
    settings = QUICK if method == "mlp" else {}
    fit_fleet([make_pairs(0), make_pairs(1)], method, device="cpu", clean=True, progress=told.append, **settings)
    done = [state.done for state in told]
    assert done == sorted(done)
    assert {state.total for state in told} == {done[-1]} == {total}
    assert (told[0].done, told[0].note) == (AUDIT_STEPS // 2, "half way")


def test_clean_is_true_or_false() -> None:
    with pytest.raises(RobustBCError, match="clean must be true or false, but it is 'yes'"):
        fit(make_pairs(0), "gpr", device="cpu", clean="yes")  # type: ignore[arg-type]


class Killed(BaseException):
    """Stands for kill -9 inside one process: nothing may clean up after it."""


@pytest.mark.parametrize("stop_at", [100, AUDIT_STEPS + 1, AUDIT_STEPS + 90])
def test_a_resumed_run_is_the_same_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int) -> None:
    """Stopped in the audit, before the first checkpoint of training, and after it."""
    ticks = itertools.count()
    monkeypatch.setattr("robust_bc.training.runs.time.monotonic", lambda: float(next(ticks)))
    pairs = mirrored()

    def kill(state: Progress) -> None:
        if state.done >= stop_at:
            raise Killed

    def start(folder: str, clean: bool = True, **more: Any) -> None:
        given = {**QUICK, "source": "test", "method": "choicenet", "device": "cpu", "checkpoint_seconds": 3}
        train_run(tmp_path / folder, pairs, clean=clean, **{**given, "steps": 150, **more})

    start("whole")
    with pytest.raises(Killed):
        start("stopped", progress=kill)
    assert (tmp_path / "stopped" / "checkpoints" / "latest.safetensors").exists() == (stop_at == AUDIT_STEPS + 90)
    if stop_at > AUDIT_STEPS:
        with pytest.raises(RobustBCError, match="was started with another choice of clean"):
            start("stopped", clean=False, resume=True)
    start("stopped", resume=True)
    one, other = (load_file(tmp_path / name / "policy" / "model.safetensors") for name in ("whole", "stopped"))
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    for name in ("history.csv", "policy/config.json", "run.json"):
        assert (tmp_path / "whole" / name).read_text() == (tmp_path / "stopped" / name).read_text()


def test_a_run_says_what_was_left_out(tmp_path: Path, audited: Callable[..., list[int]]) -> None:
    audited(4)
    policy = train_run(tmp_path / "one", make_pairs(0), source="test", method="gpr", device="cpu", clean=True)
    about = json.loads((tmp_path / "one" / "run.json").read_text())
    assert (about["clean"], about["pairs"], about["learned_from"]) == (True, 200, 180)
    assert policy.cleaning is not None
    assert about["cleaning"] == {**asdict(policy.cleaning), "dropped": [4]}
    train_run(tmp_path / "two", make_pairs(0), source="test", method="gpr", device="cpu")
    about = json.loads((tmp_path / "two" / "run.json").read_text())
    assert (about["clean"], about["learned_from"], about["cleaning"]) == (False, 200, None)


def test_a_run_from_before_there_was_cleaning_goes_on(tmp_path: Path) -> None:
    train_run(tmp_path, make_pairs(0), source="test", method="gpr", device="cpu")
    about = json.loads((tmp_path / "run.json").read_text())
    del about["clean"], about["cleaning"]
    (tmp_path / "run.json").write_text(json.dumps(about))
    train_run(tmp_path, make_pairs(0), source="test", method="gpr", device="cpu", resume=True)
