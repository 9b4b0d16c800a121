"""`gpr-clean` fits a Gaussian process to what an audit keeps, and to nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError, fit, fit_fleet
from robust_bc.auditing.results import Audit
from robust_bc.fitting import Progress
from robust_bc.methods import cleaning
from robust_bc.runs import train_run
from tests.auditing.audits import make_audit
from tests.auditing.toys import flipped_episodes

PROCESS: dict[str, Any] = {"kernel": "wide-network", "metric": "learned"}


@pytest.fixture
def told_truth(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Audits that know the labels; gives what each was asked for."""
    asked: list[dict[str, Any]] = []

    def audit(demonstrations: Sequence[Demonstrations], *args: Any, **given: Any) -> list[Audit]:
        asked.append(given)
        labels = [
            np.zeros(len(pairs), np.bool_) if pairs.corrupt is None else pairs.corrupt for pairs in demonstrations
        ]
        return [
            make_audit(np.where(bad, 0.1, 0.9), pairs.episodes)
            for pairs, bad in zip(demonstrations, labels, strict=True)
        ]

    monkeypatch.setattr(cleaning, "audit_fleet", audit)
    return asked


def test_is_the_process_of_the_kept_pairs(told_truth: list[dict[str, Any]]) -> None:
    data = [flipped_episodes(0.3, seed, episodes=10, length=8) for seed in range(2)]
    policies = fit_fleet(data, "gpr-clean", seeds=[4, 5], device="cpu", judge_steps=7, length_scale=0.8)
    fresh = np.random.default_rng(9).uniform(-1, 1, (50, 2)).astype(np.float32)
    for pairs, policy in zip(data, policies, strict=True):
        assert pairs.corrupt is not None
        plain = fit(pairs.select(~pairs.corrupt), "gpr", device="cpu", length_scale=0.8, **PROCESS)
        assert np.array_equal(policy.predict(fresh)[0], plain.predict(fresh)[0])
        assert policy.learned_from == int((~pairs.corrupt).sum())
    assert [given["steps"] for given in told_truth] == [7]


@pytest.mark.parametrize(("bad", "explains", "kept"), [(0.1, False, 20), (0.0, False, 10), (0.1, True, 10)])
def test_an_audit_that_cannot_tell_drops_nothing(
    bad: float, explains: bool, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither an explanation nor a sure suspect; a suspect of quality 0 is sure, one of 0.1 is not."""
    pairs = flipped_episodes(0.5, episodes=4, length=5)
    assert pairs.corrupt is not None
    said = make_audit(np.where(pairs.corrupt, bad, 0.9), explains=explains)
    monkeypatch.setattr(cleaning, "audit_fleet", lambda *args, **given: [said])
    policy = fit(pairs, "gpr-clean", device="cpu")
    plain = fit(pairs if kept == 20 else pairs.clean(), "gpr", device="cpu", **PROCESS)
    assert policy.learned_from == kept
    assert np.array_equal(policy.predict(pairs.observations)[0], plain.predict(pairs.observations)[0])


@pytest.mark.usefixtures("told_truth")
def test_a_run_tells_progress_and_how_many_pairs_it_learned_from(tmp_path: Path) -> None:
    told: list[Progress] = []
    pairs = flipped_episodes(0.5, episodes=4, length=5)
    train_run(tmp_path, pairs, source="test", method="gpr-clean", device="cpu", progress=told.append)
    about = json.loads((tmp_path / "run.json").read_text())
    assert (about["pairs"], about["learned_from"], about["finished"]) == (20, 10, True)
    assert told[-1].done == told[-1].total == 4 * 600 + 1  # the audit is part of it


def test_too_many_pairs_are_refused_before_the_audit() -> None:
    with pytest.raises(RobustBCError, match="20 pairs, but max_pairs is 19"):
        fit(flipped_episodes(0.0, episodes=4, length=5), "gpr-clean", device="cpu", max_pairs=19)
