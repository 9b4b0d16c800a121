"""What pairs nearby say, against a search by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc.auditing import neighbourhood
from robust_bc.auditing.neighbourhood import company, novelty, share_nearby

MARK = (0, 0)


def random_states(count: int = 300) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(count, 2)).astype(np.float32)


def by_distance(states: NDArray[np.float32], pair: int, allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
    away = np.where(allowed, ((states - states[pair]) ** 2).sum(1), np.inf)
    return np.argsort(away)


def test_the_share_nearby_is_that_of_the_nearest_eligible_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "SIDES", 4)
    monkeypatch.setattr(neighbourhood, "QUERIES", 7)
    states, generator = random_states(), np.random.default_rng(1)
    sides, eligible = generator.random(300) < 0.5, generator.random(300) < 0.7
    shares = share_nearby(states, sides, eligible, MARK)
    for pair in (0, 123, 299):
        assert shares[pair] == sides[by_distance(states, pair, eligible)[:4]].mean()
    monkeypatch.setattr(neighbourhood, "REFERENCES", 20)
    assert share_nearby(states, np.ones(300, np.bool_), eligible, MARK).tolist() == [1.0] * 300


def test_novelty_is_the_distance_to_what_other_folds_have_seen() -> None:
    states, fold = random_states(), np.arange(300) % 5
    found = novelty(states, fold, MARK)
    for pair in (0, 77, 299):
        nearest = by_distance(states, pair, fold != fold[pair])[neighbourhood.NEAREST - 1]
        assert np.exp(found[pair]) == pytest.approx(np.linalg.norm(states[pair] - states[nearest]), abs=1e-4)
    assert found[np.abs(states).max(1).argmax()] > np.median(found) + 1  # far out, where nobody else was


def test_company_counts_who_does_the_same_nearby() -> None:
    states, fold = random_states(), np.arange(300) % 5
    actions = np.where(states[:, :1] > 1.0, 1.0, -1.0)
    alone = 17
    actions[alone] *= -1
    everybody = np.ones(300, np.bool_)
    found = company(states, actions, np.ones(1), fold, everybody, MARK)
    near = by_distance(states, alone, fold != fold[alone])[: neighbourhood.COMPANY]
    # Two actions are the same up to half of the median distance of any two, which is 0 here: most are the same.
    assert found[alone] == (actions[near, 0] == actions[alone, 0]).mean()
    deep = states[:, 0] > 1.6
    assert found[deep].min() >= 0.5
    nobody = company(states, actions, np.ones(1), fold, states[:, 0] < -9, MARK)
    assert not nobody.any()
