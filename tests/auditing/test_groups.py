"""Groups: the likeliest of all splits, and what the recording shows that the policy does not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from robust_bc import Demonstrations, audit
from robust_bc.auditing.agreement import compare_episodes
from robust_bc.auditing.features import Features
from robust_bc.auditing.groups import LOUD, NOISIER, Search, fit_spreads
from robust_bc.auditing.policies import NOISES, Statistics
from robust_bc.auditing.scaled import Scaled
from robust_bc.auditing.settings import AuditSettings
from tests.auditing.toys import flipped_episodes


def episodes(seed: int, signs: list[int], length: int = 12, noise: float = 0.1) -> Statistics:
    """Of sin(1.5x) and of its mirror image."""
    generator = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(signs)), length)
    inputs = generator.uniform(-2, 2, (len(owners), 1)).astype(np.float32)
    actions = np.sin(1.5 * inputs) * np.array(signs)[owners, None] + noise * generator.normal(size=(len(owners), 2))
    features = Features.at(np.eye(1), np.linspace(-2, 2, 8)[:, None].astype(np.float32))
    return Statistics.of(features.of(inputs), actions, owners, len(signs))


@pytest.mark.parametrize("seed", range(3))
def test_the_split_is_the_likeliest_of_all(seed: int) -> None:
    statistics = episodes(seed, [1, 1, 1, 1, -1, -1])
    search = Search(np.full(6, 12.0), (4, 0), same=True, coarsening=1.0)
    found = search.likeliest(statistics, np.random.default_rng(seed))
    best = -np.inf
    for choice in itertools.product([True, False], repeat=6):
        first = np.array(choice)
        if first.any() and not first.all() and first.sum() >= 3:
            value, _ = fit_spreads(statistics, first, ((4, 0), (4, 0)), same=True)
            share = first.mean()
            price = -first.sum() * np.log(share) - (~first).sum() * np.log(1 - share)
            best = max(best, value - price)
    assert found is not None
    assert found.value == pytest.approx(best)
    assert found.first.tolist() == [True] * 4 + [False] * 2


def test_others_have_the_same_noise_or_far_more() -> None:
    for loud in (0.1, 1.5):
        quiet, noisy = episodes(0, [1] * 6), episodes(1, [1] * 4, noise=loud)
        arrays = [np.concatenate(parts) for parts in zip(_arrays(quiet), _arrays(noisy), strict=True)]
        both = Statistics(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4])
        first = np.arange(10) < 6
        _, (one, two) = fit_spreads(both, first, ((4, 0), (4, 0)), same=False)
        if loud == 0.1:
            assert two[0] == one[0]
        else:
            assert two[0] >= max(LOUD, one[0] + NOISIER)
            assert NOISES[two[0]] >= 10 * NOISES[one[0]]
        _, (one, two) = fit_spreads(both, first, ((4, 0), (4, 0)), same=True)
        assert one == two


def _arrays(statistics: Statistics) -> tuple[np.ndarray, ...]:
    return statistics.products, statistics.actions, statistics.squares, statistics.counts, statistics.missed


def moving(generator: np.random.Generator, mirrored: int) -> Demonstrations:
    """A body that random actions push about; some episodes are recorded with the opposite action."""
    actions = generator.normal(size=(12, 40, 1))
    speed = np.cumsum(np.concatenate([np.zeros((12, 1, 1)), 0.3 * actions], axis=1), axis=1)
    recorded = actions * np.where(np.arange(12) < mirrored, -1, 1)[:, None, None]
    return Demonstrations.from_arrays(
        speed[:, :-1].reshape(-1, 1), recorded.reshape(-1, 1), np.repeat(np.arange(12), 40)
    )


def test_a_mirrored_recording_contradicts_the_dynamics_where_actions_are_random() -> None:
    found = audit(moving(np.random.default_rng(0), mirrored=4))
    assert found.bad_episodes.tolist() == [True] * 4 + [False] * 8
    assert audit(moving(np.random.default_rng(0), mirrored=0)).keep().all()


def test_who_has_less_noise_is_not_bad_for_that() -> None:
    pairs = flipped_episodes(0.0)
    noise = np.where(pairs.episodes < 6, 0.0, 0.5)[:, None]
    actions = pairs.actions + noise * np.random.default_rng(0).normal(size=pairs.actions.shape)
    assert audit(replace(pairs, actions=actions)).keep().all()
    noisy = pairs.actions + (0.5 - noise) * np.random.default_rng(0).normal(size=pairs.actions.shape)
    assert audit(replace(pairs, actions=noisy)).bad_episodes.tolist() == [True] * 6 + [False] * 14


def test_one_odd_moment_makes_no_bad_episode() -> None:
    pairs = flipped_episodes(0.0, episodes=20, length=50)
    actions = np.array(pairs.actions)
    for episode in range(5):
        actions[episode * 50 + 10 : episode * 50 + 16] *= -1
    assert audit(replace(pairs, actions=actions)).keep().all()


def test_groups_tell_also_of_episodes_that_were_not_compared() -> None:
    pairs = flipped_episodes(0.25, episodes=40)
    found, groups, _ = compare_episodes(Scaled.of(pairs), AuditSettings(compared=12), np.random.default_rng(1))
    assert len(found.compared) == 12
    assert groups.evidence > 10
    assert (groups.ratios > 0).tolist() == [True] * 10 + [False] * 30
    assert found.scores[:10].min() > found.scores[10:].max()
