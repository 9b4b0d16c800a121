"""Detectors: what they compute, by the literal formula, and that nobody sees a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from robust_bc import Demonstrations, fit_fleet
from robust_bc.auditing.truth import told_apart
from robust_bc.benchmark import detectors
from robust_bc.benchmark.detectors import DETECTORS, Detection, Detector, distances, find_detector, folds_of
from robust_bc.errors import RobustBCError
from tests.benchmark_audit.fakes import mix, teacher


def literal_neighbours(pairs: Demonstrations, several: bool = True) -> np.ndarray[Any, Any]:
    """The definition, pair by pair."""
    states = (pairs.observations - pairs.observations.mean(0)) / pairs.observations.std(0)
    found = []
    for index in range(len(pairs)):
        other = pairs.episodes != pairs.episodes[index] if several else np.arange(len(pairs)) != index
        (rows,) = np.nonzero(other)
        near = rows[np.argsort(((states[rows] - states[index]) ** 2).sum(1))[: detectors.NEIGHBOURS]]
        away = (pairs.actions[index] - np.median(pairs.actions[near], axis=0)) / pairs.actions.std(0)
        found.append(np.sqrt((away**2).mean()))
    return np.array(found)


def random_pairs(sizes: Sequence[int], apart: float = 0.0) -> Demonstrations:
    """Episodes of these lengths; each is `apart` from the next."""
    generator = np.random.default_rng(5)
    episodes = np.repeat(np.arange(len(sizes)), sizes)
    observations = generator.normal(size=(len(episodes), 3)) + apart * episodes[:, None]
    return Demonstrations.from_arrays(observations, generator.normal(size=(len(episodes), 2)), episodes)


@pytest.mark.parametrize("apart", [0.0, 20.0], ids=["mixed", "far apart, so that own neighbours come first"])
def test_neighbours_are_of_other_episodes(apart: float) -> None:
    pairs = random_pairs([30, 70, 25], apart)
    found = DETECTORS["knn"](pairs, 0, "cpu").suspicion
    np.testing.assert_allclose(found, literal_neighbours(pairs), rtol=1e-5)


def test_neighbours_of_single_pairs_and_of_a_single_episode() -> None:
    single = random_pairs([1] * 50)
    np.testing.assert_allclose(DETECTORS["knn"](single, 0, "cpu").suspicion, literal_neighbours(single), rtol=1e-5)
    alone = random_pairs([50])
    np.testing.assert_allclose(DETECTORS["knn"](alone, 0, "cpu").suspicion, literal_neighbours(alone, False), rtol=1e-5)


def test_fewer_others_than_neighbours() -> None:
    pairs = random_pairs([40, 4])  # the first episode has but four others
    np.testing.assert_allclose(DETECTORS["knn"](pairs, 0, "cpu").suspicion, literal_neighbours(pairs), rtol=1e-5)


def test_neighbours_in_small_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = random_pairs([30, 70, 25], 20.0)
    whole = DETECTORS["knn"](pairs, 0, "cpu").suspicion
    monkeypatch.setattr(detectors, "MOST_AT_ONCE", 100)
    np.testing.assert_array_equal(DETECTORS["knn"](pairs, 0, "cpu").suspicion, whole)


def test_few_references_are_enough_to_find_what_is_flipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors, "MOST_REFERENCES", 60)
    pairs = random_pairs([30, 70, 25])
    fewer = DETECTORS["knn"](pairs, 0, "cpu").suspicion
    assert np.isfinite(fewer).all()
    assert not np.allclose(fewer, literal_neighbours(pairs))
    np.testing.assert_array_equal(fewer, DETECTORS["knn"](pairs, 0, "cpu").suspicion)


def test_distances_leave_out_what_never_changes() -> None:
    actions = np.array([[1.0, 7.0, 0.0], [-1.0, 7.0, 4.0]])
    pairs = Demonstrations.from_arrays(np.zeros((2, 1)), actions)
    expected = np.array([[0.0, 5.0, 0.0], [-1.0, 7.0, 2.0]])
    # The scales are 1, none and 2; away by (1, 0) and by (0, 1) of them.
    np.testing.assert_allclose(distances(pairs, expected), [np.sqrt(0.5), np.sqrt(0.5)])
    still = Demonstrations.from_arrays(np.arange(4.0)[:, None], np.ones((4, 2)))
    np.testing.assert_array_equal(distances(still, np.zeros((4, 2))), np.zeros(4))


def test_folds_hold_whole_episodes() -> None:
    episodes = np.repeat(np.arange(12) * 3, np.arange(1, 13))
    folds = folds_of(episodes, 1)
    assert set(folds) == set(range(5))
    of_episode = [set(folds[episodes == episode]) for episode in np.unique(episodes)]
    assert all(len(found) == 1 for found in of_episode)
    counts = np.bincount([found.pop() for found in of_episode])
    assert counts.max() - counts.min() <= 1
    np.testing.assert_array_equal(folds, folds_of(episodes, 1))
    assert (folds != folds_of(episodes, 2)).any()
    assert set(folds_of(np.array([0, 0, 1]), 0)) == {0, 1}
    with pytest.raises(RobustBCError, match="at least 2 episodes"):
        folds_of(np.zeros(9, np.int64), 0)


def test_a_residual_is_of_a_network_that_has_not_seen_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = mix(0.2)
    seen: list[Demonstrations] = []

    def fit(parts: Sequence[Demonstrations], *given: Any, **rest: Any) -> Any:
        seen.extend(parts)
        return fit_fleet(parts, *given, **rest | {"steps": 20, "hidden": (8,)})

    monkeypatch.setattr(detectors, "fit_fleet", fit)
    found = DETECTORS["mlp-residual"](pairs, 3, "cpu").suspicion
    np.testing.assert_array_equal(found, DETECTORS["mlp-residual"](pairs, 3, "cpu").suspicion)
    folds = folds_of(pairs.episodes, 3)
    for fold, part in enumerate(seen[:5]):
        assert set(part.episodes) == set(pairs.episodes[folds != fold])
        assert part.corrupt is None


@pytest.mark.parametrize("name", ["mlp-residual", "knn"])
def test_flipped_episodes_are_found(name: str) -> None:
    generator = np.random.default_rng(1)
    observations = generator.normal(size=(400, 2))
    corrupt = np.arange(400) < 80
    actions = np.where(corrupt, -1, 1)[:, None] * np.tanh(observations)
    pairs = Demonstrations.from_arrays(observations, actions, np.arange(400) // 20, corrupt=corrupt)
    auroc, precision = told_apart(DETECTORS[name](pairs, 0, "cpu").suspicion, corrupt)
    assert auroc is not None
    assert precision is not None
    assert auroc > 0.9
    assert precision > 0.75


def test_a_forest_finds_what_is_far_from_all() -> None:
    pairs = mix(0.0)
    observations = np.array(pairs.observations)
    observations[:5] += 30
    shifted = Demonstrations.from_arrays(observations, teacher(observations), pairs.episodes)
    suspicion = DETECTORS["isolation-forest"](shifted, 0, "cpu").suspicion
    assert set(np.argsort(suspicion)[-5:]) == set(range(5))
    np.testing.assert_array_equal(suspicion, DETECTORS["isolation-forest"](shifted, 0, "cpu").suspicion)


def test_nobody_sees_a_label_and_everybody_judges_every_pair() -> None:
    seen = []

    def look(demonstrations: Demonstrations, seed: int, device: str) -> Detection:
        seen.append(demonstrations.corrupt)
        return Detection(np.full(len(demonstrations) - seed, np.nan if device == "nan" else 0.0))

    curious = Detector(look, "looks for labels")
    assert len(curious(mix(0.3), 0, "cpu").suspicion) == 120
    assert seen == [None]
    for seed, device in ((1, "cpu"), (0, "nan")):
        with pytest.raises(RobustBCError, match="no finite number for every pair"):
            curious(mix(0.3), seed, device)


def test_unknown_names_are_told() -> None:
    with pytest.raises(
        RobustBCError, match=r"no detector 'knm'; there are audit, mlp-residual, knn, isolation-forest\."
    ):
        find_detector("knm")
