"""Agreement: the literal formulas, and groups whose answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import Demonstrations
from robust_bc.auditing.judging.agreement import agreement
from robust_bc.auditing.judging.scaled import Squashed, spread_evenly
from tests.robust_bc.auditing.toys import flipped_episodes


def test_states_are_drawn_evenly_over_what_was_visited() -> None:
    line = np.concatenate([np.zeros(50), np.linspace(0, 1, 6)])[:, None].astype(np.float32)
    assert sorted(line[spread_evenly(line, 6), 0].tolist()) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert spread_evenly(line[:3], 6).tolist() == [0, 1, 2]


def squashed(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """asinh((x − median)/u) in units of its deviation; u is the median absolute deviation, as of a normal one."""
    away = values - np.median(values, axis=0)
    inner = np.arcsinh(away / (1.4826 * np.median(np.abs(away), axis=0)))
    return np.asarray((inner - inner.mean(0)) / inner.std(0))


def test_columns_are_squashed_and_come_back() -> None:
    generator = np.random.default_rng(0)
    columns = generator.standard_cauchy(200), np.full(200, 3.0), np.zeros(200), generator.normal(size=200)
    values = np.stack(columns, 1)
    values[:5, 2] = 5.0  # all but a fortieth of it stands still
    scale = Squashed.of(values)
    assert scale.heavy.tolist() == [True, False, True, False]
    assert scale.forward(values)[:, 0] == pytest.approx(squashed(values[:, :1])[:, 0], rel=1e-5, abs=1e-6)
    assert scale.forward(values)[:, 3] == pytest.approx(
        (values[:, 3] - values[:, 3].mean()) / values[:, 3].std(), abs=1e-5
    )
    assert scale.backward(scale.forward(values).astype(np.float64)) == pytest.approx(values, rel=1e-4, abs=1e-5)
    assert (scale.scale > 0).tolist() == [True, False, True, True]
    assert scale.backward(np.full((1, 4), 1e3))[0] == pytest.approx(values.max(0))  # within what was seen
    for large in (values * 1e290, np.where(values == 5, 0, 3e38).astype(np.float32)):
        found = Squashed.of(large)
        assert np.isfinite(found.forward(large)).all()
        assert (found.scale > 0).any()


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


def test_the_majority_is_counted_in_pairs_not_in_episodes() -> None:
    good, bad = flipped_episodes(0.0, episodes=4, length=60), flipped_episodes(1.0, seed=1, episodes=20, length=6)
    both = Demonstrations.from_arrays(
        np.concatenate([good.observations, bad.observations]),
        np.concatenate([good.actions, bad.actions]),
        np.concatenate([good.episodes, bad.episodes + 100]),
    )
    found = agreement(both)
    assert found.compared[found.majority].tolist() == [0, 1, 2, 3]
