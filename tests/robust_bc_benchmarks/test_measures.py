"""Numbers of the audit benchmark that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, fit
from robust_bc.auditing.findings import Finding
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.core.plan import Plan
from robust_bc_benchmarks.suites import audit_measures, detectors
from robust_bc_benchmarks.suites.audit_measures import LEARNER, Returns, draw, measures
from robust_bc_benchmarks.suites.auditing import AuditSuite
from robust_bc_benchmarks.suites.detectors import DETECTORS, Detection, detect
from robust_bc_benchmarks.suites.mixes import Mixes
from tests.robust_bc_benchmarks.small import run


def pile(lengths: tuple[int, ...], bad: tuple[int, ...] = ()) -> Demonstrations:
    """Episodes of these lengths, some of which do the opposite."""
    episodes = np.repeat(np.arange(len(lengths)), lengths)
    states = np.random.default_rng(0).normal(size=(len(episodes), 2))
    corrupt = np.isin(episodes, bad)
    actions = np.where(corrupt[:, None], -1, 1) * np.tanh(states)
    return Demonstrations.from_arrays(states, actions, episodes, corrupt=corrupt)


def test_by_hand() -> None:
    mix = pile((10, 30, 20, 40), bad=(1, 2))
    dropped = np.array([True, True, False, False])
    found = measures(Detection(np.array([2.0, 3.0, 1.0, 0.0]), dropped, 0.4, False), mix, None)
    assert found == {
        "estimated_rate": 0.4,
        "undecided": 0.0,
        "auroc": 3 / 4,  # of 2 x 2 comparisons, one is the wrong way round
        "true_rate": 0.5,
        "dropped_good": 10 / 50,
        "dropped_bad": 30 / 50,
        "false_alarm": 1.0,
    }


def test_what_is_not_defined_is_left_out() -> None:
    clean = measures(Detection(np.zeros(3), np.zeros(3, bool), 0.0, True), pile((5, 5, 5)), None)
    assert clean == {"estimated_rate": 0, "undecided": 1, "true_rate": 0, "dropped_good": 0, "false_alarm": 0}
    assert measures(Detection(np.arange(3.0)), pile((5, 5, 5), bad=(2,)), None) == {"auroc": 1, "true_rate": 1 / 3}


def test_ranks_of_graded_demonstrators() -> None:
    noise = np.repeat([0.0, 0.0, 0.5, 0.5], 5)
    found = measures(Detection(np.array([0.0, 2.0, 1.0, 3.0])), pile((5, 5, 5, 5)), noise)
    # Ranks 1, 3, 2, 4 against 1.5, 1.5, 3.5, 3.5: the covariance is 2 and the squares are 5 and 4.
    assert found["spearman"] == pytest.approx(2 / np.sqrt(20))
    assert found["spearman_demonstrators"] == pytest.approx(1)
    assert "auroc" not in found
    assert measures(Detection(np.zeros(4)), pile((5, 5, 5, 5)), noise)["spearman"] == 0


@pytest.mark.parametrize("name", sorted(set(DETECTORS) - {"checks"}))
def test_who_does_the_opposite_is_found(name: str) -> None:
    mix = pile((40,) * 8, bad=(1, 5))
    found = detect(name, mix, seed=0)
    assert found.scores.shape == (8,)
    if name != "isolation":  # mirrored actions are nothing unusual to it
        assert measures(found, mix, None)["auroc"] == 1
    assert (found.dropped is None) == (found.rate is None)


def test_findings_that_spoil_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = Finding("saturation", 0, None, "x", spoils=False)
    findings = [odd, odd, odd, replace(odd, episode=2, spoils=True)]
    monkeypatch.setattr(detectors, "run_checks", lambda *given: findings)
    found = detect("checks", pile((10, 10, 20)), seed=0)
    assert found.scores.argsort().tolist() == [1, 0, 2]
    assert found.dropped is not None
    assert found.dropped.tolist() == [False, False, True]
    assert found.rate == 0.5


def test_no_detector_sees_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look(pairs: Demonstrations, seed: int) -> Detection:
        seen.append(pairs.corrupt)
        return Detection(np.zeros(2))

    monkeypatch.setitem(DETECTORS, "loss", look)
    detect("loss", pile((5, 5), bad=(1,)), seed=0)
    assert seen == [None]


def test_equal_pairs_are_learned_from_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []

    def pretend(pairs: Demonstrations, **settings: Any) -> int:
        fitted.append(len(pairs))
        return len(pairs)

    def evaluate(policies: list[int], *given: Any) -> list[Any]:
        return [SimpleNamespace(failures=[], summary={"return": SimpleNamespace(mean=float(p))}) for p in policies]

    monkeypatch.setattr("robust_bc.training.fitting.fit", pretend)
    monkeypatch.setattr("robust_bc.evaluation.evaluating.evaluate_fleet", evaluate)
    mix = pile((10, 20, 30), bad=(0,))
    sets = {"return_all": mix, "return_cleaned": mix.clean(), "return_oracle": mix.clean()}
    expected = {"return_all": 60, "return_cleaned": 50, "return_oracle": 50}
    assert Returns(tmp_path).of("pendulum", sets, seed=0) == expected
    assert Returns(tmp_path).of("pendulum", sets, seed=0) == expected
    assert fitted == [60, 50]


def test_the_learner_does_not_see_which_episode_a_pair_is_of() -> None:
    one, other = pile((10, 20, 30), bad=(0,)), pile((20, 20, 20))
    pairs = [Demonstrations.from_arrays(one.observations, one.actions, each.episodes) for each in (one, other)]
    acted = [fit(each, seed=0, device="cpu", **LEARNER).predict(one.observations)[0] for each in pairs]
    np.testing.assert_array_equal(acted[0], acted[1])


def test_many_pairs_are_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_measures, "MOST_PAIRS", 12)
    drawn = [draw(pile((20, 20)), seed).observations for seed in (3, 3, 4)]
    assert [len(rows) for rows in drawn] == [12] * 3
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


class Broken(Mixes):
    """Cannot make the kind `flip`."""

    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> tuple[Demonstrations, None]:
        if kind == "flip":
            raise RobustBCError("there is none.")
        return pile((20,) * 5, bad=() if kind == "clean" else (1,)), None

    def mark(self, task: str) -> dict[str, Any]:
        return {}


def test_a_mix_that_cannot_be_made_is_said_and_tried_again(tmp_path: Path) -> None:
    plan = Plan(("x",), ("clean", "flip", "noisy"), (0.3,), ("neighbours", "isolation"), (0,))
    for _ in range(2):
        results, said = run(AuditSuite(plan, mixes=Broken()), tmp_path)
        assert said[-2:] == [f"failed: x flip 0.3 {name}, seed 0: there is none." for name in plan.methods]
    assert results.table().groupby("kind").size().to_dict() == {"clean": 4, "noisy": 6}
