"""The whole audit, on toys whose bad pairs are known."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from robust_bc import Demonstrations, RobustBCError, audit
from robust_bc.auditing.audits import STEPS, audit_fleet, judging_settings
from robust_bc.auditing.results import Audit
from robust_bc.auditing.truth import compare
from robust_bc.auditing.wording import headline
from robust_bc.training.checkpoint import pairs_digest
from tests.auditing.toys import QUICK, cycle, flipped_episodes, together
from tests.conftest import make_pairs

ARRAYS = ("quality", "spread", "conflict", "foreign")


@functools.cache
def audited(rate: float, seed: int = 0) -> tuple[Demonstrations, Audit]:
    pairs = flipped_episodes(rate, seed)
    return pairs, audit(pairs, seed=seed, device="cpu", **QUICK)


def alone(pairs: Demonstrations) -> Demonstrations:
    """The same pairs, each an episode of its own."""
    return replace(pairs, episodes=np.arange(len(pairs)))


def test_bad_episodes_are_found() -> None:
    pairs, found = audited(0.3)
    assert pairs.corrupt is not None
    truth = compare(found, pairs.corrupt)
    assert truth.pair_auroc is not None
    assert truth.pair_auroc > 0.95
    assert truth.episode_auroc == 1
    assert found.rate.value == pytest.approx(0.3, abs=0.05)
    assert found.rate.low <= 0.3 <= found.rate.high
    assert np.array_equal(found.suspects, pairs.corrupt)
    assert found.alarm
    assert not found.foreign.any()  # successors are not known
    assert found.quality == pytest.approx(1 - found.conflict)


def test_clean_data_raises_no_alarm() -> None:
    _, found = audited(0.0)
    assert found.rate.value < 0.05
    assert not found.alarm
    assert found.episode_quality[0].min() > 0.8


def test_single_bad_pairs_are_found() -> None:
    pairs = flipped_episodes(0.3, seed=1)
    found = audit(alone(pairs), device="cpu", **QUICK)
    assert roc_auc_score(pairs.corrupt, -found.quality) > 0.95
    assert found.rate.value == pytest.approx(0.3, abs=0.05)
    assert found.single_pairs


def test_what_was_asked_is_remembered() -> None:
    pairs = flipped_episodes(0.0, episodes=3, length=10)
    names = ["ann", "bob", "ann"]
    found = audit(pairs, "mlp", 7, "cpu", sources=names, dataset="our/x-v0", **{**QUICK, "steps": 10})
    assert (found.method, found.seed, found.dataset, found.sources) == ("mlp", 7, "our/x-v0", ("ann", "bob", "ann"))
    assert found.settings == {**QUICK, "steps": 10, "hidden": [32, 32]}
    assert found.pairs_sha256 == pairs_digest([pairs])
    assert np.array_equal(found.episodes, pairs.episodes)


def test_same_seed_same_bits() -> None:
    pairs, found = audited(0.3)
    again = audit(pairs, device="cpu", **QUICK)
    assert all(getattr(again, name).tobytes() == getattr(found, name).tobytes() for name in ARRAYS)
    assert again.rate == found.rate
    other = audit(pairs, seed=1, device="cpu", **QUICK)
    assert not np.array_equal(other.quality, found.quality)


def test_company_changes_nothing() -> None:
    pairs, found = audited(0.3)
    beside = flipped_episodes(0.1, 5, episodes=12)
    first, second = audit_fleet([beside, pairs], seeds=[5, 0], device="cpu", **QUICK)
    for name in ARRAYS:  # beyond rounding, of which training makes more
        assert getattr(second, name) == pytest.approx(getattr(found, name), abs=0.02)
    assert second.pairs_sha256 == found.pairs_sha256
    assert first.seed == 5
    assert len(first) == len(beside)


def test_the_truth_is_never_looked_at() -> None:
    pairs, found = audited(0.3)
    assert pairs.corrupt is not None
    again = audit(replace(pairs, corrupt=~pairs.corrupt), device="cpu", **QUICK)
    assert again.quality.tobytes() == found.quality.tobytes()


def test_settings_are_those_of_the_judges() -> None:
    assert judging_settings("choicenet", {}) == {"steps": STEPS}
    assert judging_settings("mlp", {"steps": 5}) == {"steps": 5}
    assert judging_settings("gpr", {}) == {}
    pairs = flipped_episodes(0.0)
    with pytest.raises(RobustBCError, match="method 'choicenet' has no setting 'stepps'"):
        audit(pairs, stepps=5)
    with pytest.raises(RobustBCError, match="method 'gpr' has no setting 'steps'"):
        audit(pairs, "gpr", steps=5)
    with pytest.raises(RobustBCError, match="'nobody'"):
        audit(pairs, "nobody")
    with pytest.raises(RobustBCError, match="method 'choicenet-duel' holds a duel, and so does the audit"):
        audit(pairs, "choicenet-duel")


def test_a_gaussian_process_can_judge() -> None:
    pairs = flipped_episodes(0.2, episodes=10, length=12)
    found = audit(pairs, "gpr", device="cpu")
    assert roc_auc_score(pairs.corrupt, -found.quality) > 0.95
    assert found.method == "gpr"


def test_foreign_pairs_are_bad_whatever_they_do() -> None:
    both = together(cycle(120, 0.0), cycle(60, 3.0, np.pi))
    found = audit(both, device="cpu", **QUICK)
    assert found.foreign.tolist() == [0.0] * 120 + [1.0] * 60
    assert (found.quality[120:] == 0).all()
    assert found.quality[:120].mean() > 0.9
    assert found.rate.value == pytest.approx(1 / 3, abs=0.06)
    blind = audit(replace(both, successors=None), device="cpu", **QUICK)
    assert not blind.foreign.any()


def test_a_rare_action_that_is_usual_where_it_is_shown_is_in_no_conflict() -> None:
    """A gripper that closes in one corner of the states: 9 % of the pairs, all of them right."""
    states = np.random.default_rng(0).normal(size=(1000, 3))
    closed = states[:, 0] > 1.3
    actions = np.where(closed, 1.0, -1.0)[:, None]
    found = audit(Demonstrations.from_arrays(states, actions, np.repeat(np.arange(20), 50)), steps=200)
    assert found.suspects[states[:, 0] > 1.8].mean() < 0.2  # at the border most neighbours do otherwise
    assert not found.suspects[~closed].any()


def test_what_cannot_be_explained_is_said() -> None:
    generator = np.random.default_rng(0)
    noise = Demonstrations.from_arrays(generator.normal(size=(300, 2)), generator.normal(size=(300, 2)))
    found = audit(noise, steps=60)
    assert not found.explains
    assert "Nothing can be said for sure" in headline(found)


def test_nobody_audits_inside_of_an_audit() -> None:
    with pytest.raises(RobustBCError, match="audits by itself"):
        audit(make_pairs(0), method="choicenet-clean")
    with pytest.raises(RobustBCError, match="empty"):
        audit_fleet([])
    with pytest.raises(RobustBCError, match="seed"):
        audit(make_pairs(0), seed=-1)


def test_a_second_look_judges_anew_and_may_lift_a_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    both = together(cycle(120, 0.0), cycle(60, 3.0, np.pi))
    first = audit(both, device="cpu", **QUICK)
    asked: list[bool] = []

    def again(pairs: Demonstrations, quality: NDArray[np.float64], strangers: bool) -> NDArray[np.float64]:
        asked.append(strangers)
        assert (quality[120:] == 0).all()  # as the first look leaves it
        anew = quality.copy()
        anew[0], anew[120], anew[121] = 0.25, 0.75, 0.4
        return anew

    monkeypatch.setattr("robust_bc.auditing.audits.look_again", again)
    found = audit(both, device="cpu", **QUICK)
    assert asked == [True]
    assert (found.quality[0], found.conflict[0], found.foreign[0]) == (0.25, 0.75, 0)
    assert found.spread[0] > 0.4  # the two looks are far apart
    assert (found.quality[120], found.foreign[120]) == (0.75, 0)
    assert (found.quality[121], found.foreign[121]) == (0, 1)  # not lifted: as before
    assert (first.foreign[120:] == 1).all()
