"""Agreement: the literal formulas, and groups whose answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from robust_bc import Demonstrations
from robust_bc.auditing.agreement import (
    LEAST_DISAGREEMENT,
    LEAST_VARIANCE,
    agreement,
    spread_evenly,
    two_groups,
)
from robust_bc.auditing.settings import AuditSettings
from tests.auditing.toys import Floats, flipped_episodes


def test_states_are_drawn_evenly_over_what_was_visited() -> None:
    line = np.concatenate([np.zeros(50), np.linspace(0, 1, 6)])[:, None].astype(np.float32)
    assert sorted(line[spread_evenly(line, 6), 0].tolist()) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert spread_evenly(line[:3], 6).tolist() == [0, 1, 2]


def test_disagreement_is_the_literal_formula() -> None:
    pairs = flipped_episodes(0.3, episodes=4, length=9)
    found = agreement(pairs)
    states = (pairs.observations - pairs.observations.mean(0)) / pairs.observations.std(0)
    actions = (pairs.actions - pairs.actions.mean(0)) / pairs.actions.std(0)
    directed = np.zeros((4, 4))
    for one, other in itertools.permutations(range(4), 2):
        mine, theirs = (np.flatnonzero(pairs.episodes == episode) for episode in (one, other))
        distance = ((states[mine][:, None] - states[theirs]) ** 2).sum(2)
        close = np.argsort(distance.min(1))[:5]  # half of nine, rounded up
        difference = actions[mine[close]] - actions[theirs[distance.argmin(1)[close]]]
        directed[one, other] = np.sqrt((difference**2).mean())
    assert found.disagreement == pytest.approx((directed + directed.T) / 2, rel=1e-4)


def literal(logs: Floats, group: np.ndarray, pairs: Floats) -> float:
    """Log likelihood of blocks, comparison by comparison, each with the weight of its pairs."""
    count = len(logs)
    weights = np.outer(pairs, pairs).astype(float)
    np.fill_diagonal(weights, 0)
    weights *= count * (count - 1) / weights.sum()
    total = 0.0
    kinds = group[:, None].astype(int) + group[None]
    for kind in (0, 1, 2):
        weight, value = weights[kinds == kind], logs[kinds == kind]
        if weight.sum() > 0:
            mean = (weight * value).sum() / weight.sum()
            variance = (weight * (value - mean) ** 2).sum() / weight.sum()
            total -= 0.5 * weight.sum() * np.log(variance + LEAST_VARIANCE)
    return total


def agrees_with_itself(logs: Floats, group: np.ndarray, pairs: Floats) -> bool:
    """Whether the side with more pairs agrees more with itself than with the other; half is enough for the first."""
    large = group if pairs[group].sum() * 2 >= pairs.sum() else ~group
    weights = np.outer(pairs, pairs)
    np.fill_diagonal(weights, 0)
    own, across = np.outer(large, large), np.outer(large, ~large)
    return bool(
        large.sum() > 1
        and (weights * logs)[own].sum() / weights[own].sum() < (weights * logs)[across].sum() / weights[across].sum()
    )


@pytest.mark.parametrize("seed", range(4))
def test_two_groups_are_the_likeliest_of_all(seed: int) -> None:
    generator = np.random.default_rng(seed)
    group = np.arange(7) < 4
    means = np.where(group[:, None] != group[None], 0.0, np.where(group[:, None], -1.5, -0.5))
    logs = means + 0.2 * generator.normal(size=(7, 7))
    logs = (logs + logs.T) / 2
    pairs = generator.integers(5, 9, 7).astype(float)
    found, contrast = two_groups(logs, pairs)
    every = [np.array(choice) for choice in itertools.product([True, False], repeat=7) if 0 < sum(choice) < 7]
    every = [choice for choice in every if agrees_with_itself(logs, choice, pairs)]
    best = max(literal(logs, choice, pairs) for choice in every)
    assert literal(logs, found, pairs) == pytest.approx(best)
    assert contrast == pytest.approx((best - literal(logs, np.ones(7, bool), pairs)) / 42)
    assert pairs[found].sum() >= pairs.sum() / 2


def test_those_who_disagree_with_everybody_are_no_majority() -> None:
    logs = np.full((5, 5), 1.0)
    logs[3:, 3:] = -3.0  # two episodes agree; the other three disagree with everybody
    found, _ = two_groups(logs, np.ones(5))
    assert found[3:].all()


def test_the_majority_is_counted_in_pairs_not_in_episodes() -> None:
    good, bad = flipped_episodes(0.0, episodes=4, length=60), flipped_episodes(1.0, seed=1, episodes=20, length=6)
    both = Demonstrations.from_arrays(
        np.concatenate([good.observations, bad.observations]),
        np.concatenate([good.actions, bad.actions]),
        np.concatenate([good.episodes, bad.episodes + 100]),
    )
    found = agreement(both)
    assert found.compared[found.majority].tolist() == [0, 1, 2, 3]


def test_more_episodes_than_are_compared_have_a_score_as_well() -> None:
    pairs = flipped_episodes(0.25, episodes=40)
    found = agreement(pairs, seed=3)
    few = agreement(pairs, AuditSettings(compared=12))
    assert len(few.compared) == 12
    assert len(few.scores) == len(found.scores) == 40
    assert few.scores[:10].min() > few.scores[10:].max()
    assert np.exp(few.scores).min() > LEAST_DISAGREEMENT
