"""Groups: the likeliest of all splits, and when two groups count."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from robust_bc import Demonstrations, audit
from robust_bc.auditing.judging.agreement import compare_episodes
from robust_bc.auditing.judging.features import Features
from robust_bc.auditing.judging.groups import CONTRAST, Search, find_groups
from robust_bc.auditing.judging.policies import Fitted, Shown
from robust_bc.auditing.judging.scaled import Scaled
from robust_bc.auditing.judging.views import fit_policies
from robust_bc.auditing.settings import AuditSettings
from tests.robust_bc.auditing.toys import flipped_episodes


def episodes(seed: int, signs: Sequence[float], length: int = 12) -> Fitted:
    """Of sin(1.5x), some of its mirror image."""
    generator = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(signs)), length)
    inputs = generator.uniform(-2, 2, (len(owners), 1)).astype(np.float32)
    actions = np.sin(1.5 * inputs) * np.array(signs)[owners, None] + 0.1 * generator.normal(size=(len(owners), 2))
    features = Features.at(np.eye(1), np.linspace(-2, 2, 8)[:, None].astype(np.float32))
    shown = Shown.of(features.of(inputs), actions, [length] * len(signs))
    return Fitted(features, shown, np.full(len(signs), float(length)))


@pytest.mark.parametrize("seed", range(3))
def test_the_split_is_the_likeliest_of_all(seed: int) -> None:
    fitted = replace(episodes(seed, [1, 1, 1, 1, -1, -1]), alike=1.5)
    found = Search(fitted).likeliest(np.random.default_rng(seed))
    everybody = np.ones(6, np.bool_)
    values = {}
    for choice in itertools.product([True, False], repeat=6):
        first = np.array(choice)
        if 3 <= first.sum() < 6:
            own = np.where(first, fitted.told(first).density, fitted.told(~first).density)
            share = first.mean()
            price = -first.sum() * np.log(share) - (~first).sum() * np.log(1 - share)
            values[choice] = 12 / 1.5 * (own - fitted.told(everybody).density).sum() - price
    assert found is not None
    assert found[0] == pytest.approx(max(values.values()))
    assert found[1].tolist() == [True] * 4 + [False] * 2


def test_two_groups_count_if_they_contradict_each_other() -> None:
    mirrored = find_groups(episodes(0, [1] * 7 + [-1] * 3), np.random.default_rng(0))
    assert mirrored is not None
    assert mirrored.counts
    assert mirrored.majority.tolist() == [True] * 7 + [False] * 3
    assert mirrored.contrast > 2 * CONTRAST
    fitted = episodes(0, [1.0] * 7 + [0.92] * 3, length=80)
    styles = find_groups(fitted, np.random.default_rng(0))
    assert styles is not None
    assert styles.evidence > Search(fitted).price(styles.majority)  # likelier, but no contradiction
    assert not styles.counts


def test_the_second_group_may_be_the_easier_one_to_predict() -> None:
    scaled = Scaled.of(still_minority())
    fitted = fit_policies(scaled, np.arange(20), AuditSettings(), np.random.default_rng(0))
    found = find_groups(fitted, np.random.default_rng(0))
    assert found is not None
    assert found.counts
    assert found.majority.tolist() == [False] * 8 + [True] * 12


def still_minority() -> Demonstrations:
    """Eight of twenty episodes have both actuators at zero."""
    pairs = flipped_episodes(0.0)
    actions = np.array(pairs.actions)
    actions[pairs.episodes < 8] = 0.0
    return type(pairs).from_arrays(pairs.observations, actions, pairs.episodes)


def test_episodes_that_were_not_compared_are_judged_by_the_same_policies() -> None:
    pairs = flipped_episodes(0.25, episodes=40)
    scaled, settings = Scaled.of(pairs), AuditSettings(compared=12)
    found, bad, _ = compare_episodes(scaled, settings, np.random.default_rng(1))
    assert len(found.compared) == 12
    assert found.evidence > 10
    assert (bad > 0.5).tolist() == [True] * 10 + [False] * 30
    assert found.scores[:10].min() > found.scores[10:].max()


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


def test_an_episode_that_a_view_cannot_judge_is_not_the_best_of_all() -> None:
    pairs = moving(np.random.default_rng(0), mirrored=4)
    short = np.random.default_rng(1).normal(size=(20, 1))
    both = Demonstrations.from_arrays(
        np.concatenate([pairs.observations, short]),
        np.concatenate([pairs.actions, short]),
        np.concatenate([pairs.episodes, 100 + np.arange(20)]),
    )
    found = audit(both)
    assert found.bad_episodes.tolist() == [True] * 4 + [False] * 28
    assert (found.scores[12:] == 0).all()
