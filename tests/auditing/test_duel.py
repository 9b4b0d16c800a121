"""The duel of two functions: its predictions literally, and what it lets stand of mixes with known bad pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from robust_bc.auditing import duel
from robust_bc.auditing.duel import CLEARLY, LEAST_NOISE, alone, elsewhere, left_out, uncontradicted

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def good_policy(states: Floats) -> Floats:
    return np.stack([np.sin(2 * states[:, 0]) + states[:, 1], np.cos(2 * states[:, 1])], 1)


def other_policy(states: Floats) -> Floats:
    return np.stack([np.cos(2 * states[:, 0]), states[:, 0] - np.sin(states[:, 1])], 1) * 1.5


def mix(rate: float, how: str, seed: int, count: int = 300) -> tuple[Floats, Floats, Flags]:
    """Scaled states and actions, and which are bad."""
    generator = np.random.default_rng(seed)
    states = generator.normal(size=(count, 2))
    bad = generator.random(count) < rate
    instead = {
        "other": other_policy(states),
        "flip": -good_policy(states),
        "uniform": generator.uniform(-2, 2, (count, 2)),
    }[how]
    actions = np.where(bad[:, None], instead, good_policy(states)) + 0.03 * generator.normal(size=(count, 2))
    return states, (actions - actions.mean(0)) / actions.std(0), bad


def test_a_pair_left_out_is_what_a_fit_without_it_says() -> None:
    generator = np.random.default_rng(0)
    points, targets = generator.normal(size=(12, 2)), generator.normal(size=(12, 3))
    kernel = np.exp(-((points[:, None] - points) ** 2).sum(2) / 2)
    noise = generator.uniform(0.1, 2, 12)
    means, variances = left_out(kernel.astype(np.float32), noise, targets)
    for one in range(12):
        rest = np.arange(12) != one
        inverse = np.linalg.inv(kernel[np.ix_(rest, rest)] + np.diag(noise[rest]))
        across = kernel[one, rest]
        assert means[one] == pytest.approx(across @ inverse @ targets[rest], abs=1e-4)
        assert variances[one] == pytest.approx(1 - across @ inverse @ across, abs=1e-4)


@pytest.mark.parametrize("how", ["other", "flip", "uniform"])
@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_what_stands_is_good(how: str, rate: float) -> None:
    for seed in range(2):
        states, actions, bad = mix(rate, how, seed)
        stands = uncontradicted(states, actions, seed)
        assert bad[stands].mean() < 0.03
        assert stands[~bad].mean() > 0.85


def test_elsewhere_is_the_formula_with_as_little_noise_as_there_may_be() -> None:
    """In double precision; by an inverse in single precision the variance would be off by more than its size."""
    generator = np.random.default_rng(0)
    points, asked, targets = (generator.uniform(-1, 1, shape) for shape in ((400, 2), (50, 2), (400, 3)))
    kernel, across = (np.exp(-((at[:, None] - points) ** 2).sum(2) / 2) for at in (points, asked))
    noise = np.full(400, LEAST_NOISE)
    means, variances = elsewhere(kernel.astype(np.float32), noise, targets, across.astype(np.float32))
    inverse = np.linalg.inv(kernel + np.diag(noise))
    assert means == pytest.approx(across @ inverse @ targets, abs=5e-3)
    literal = 1 - ((across @ inverse) * across).sum(1)
    assert np.median(np.abs(variances - literal) / literal) < 0.1


def test_one_function_alone_by_its_formula() -> None:
    generator = np.random.default_rng(0)
    points, targets = generator.normal(size=(30, 2)), generator.normal(size=(30, 2))
    kernel = np.exp(-((points[:, None] - points) ** 2).sum(2) / 2)
    literal = []
    for noise in duel.NOISES:
        means, spread = left_out(kernel.astype(np.float32), np.full(30, noise), targets)
        normal = stats.norm.logpdf(targets, means, np.sqrt(spread + noise)[:, None]).sum(1).mean()
        literal.append(normal + np.log(2 * np.pi))  # constants are left out: one ln(2π)/2 for each dimension
    assert alone(kernel.astype(np.float32), targets) == pytest.approx(max(literal), abs=1e-4)


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_clean_pairs_stand_however_unsteady_the_hand(noise: float) -> None:
    states, actions, _ = mix(0.0, "flip", 0)
    shaken = actions + noise * np.random.default_rng(1).normal(size=actions.shape)
    assert uncontradicted(states, shaken / shaken.std(0), 0).all()


def test_two_functions_must_be_clearly_better_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    states, actions, bad = mix(0.4, "other", 1, count=150)
    assert uncontradicted(states, actions, 0)[bad].mean() < 0.1
    usual = duel.alone
    monkeypatch.setattr(duel, "alone", lambda kernel, targets: usual(kernel, targets) + 100 * CLEARLY)
    assert uncontradicted(states, actions, 0).all()


def test_all_are_asked_where_some_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel, "MOST", 200)
    monkeypatch.setattr(duel, "QUERIES", 300)
    states, actions, bad = mix(0.4, "other", 5, count=1000)
    stands = uncontradicted(states, actions, 0)
    assert bad[stands].mean() < 0.05
    assert stands[~bad].mean() > 0.8
    assert np.array_equal(stands, uncontradicted(states, actions, 0))


def test_the_likeliest_after_half_of_the_way_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, finish = duel.maximise, duel._to_the_end
    halfway: list[duel.Stand] = []
    went_on: list[int] = []
    finished: list[duel.Stand] = []

    def counted(kernel: Floats, targets: Floats, owners: Floats, noise: float, steps: int, power: float) -> duel.Stand:
        stand = usual(kernel, targets, owners, noise, steps, power)
        if power == duel.FIRST_POWER:
            halfway.append(stand)
        elif steps == duel.HALFWAY:
            went_on.append(next(place for place, before in enumerate(halfway) if before.owners is owners))
            assert noise == halfway[went_on[-1]].noise
            assert power == pytest.approx(duel.FIRST_POWER + duel.POWER_STEP * duel.HALFWAY)
        return stand

    def finishing(kernel: Floats, targets: Floats, stand: duel.Stand) -> duel.Stand:
        finished.append(finish(kernel, targets, stand))
        return finished[-1]

    monkeypatch.setattr(duel, "maximise", counted)
    monkeypatch.setattr(duel, "_to_the_end", finishing)
    monkeypatch.setattr(duel, "GO_ON", duel.STARTS // 2)  # so many that they end differently
    states, actions, _ = mix(0.4, "other", 6, count=150)
    kernel = np.exp(-((states[:, None] - states) ** 2).sum(2) / 2).astype(np.float32)
    best = duel._best_start(kernel, actions.astype(np.float32), np.random.default_rng(3))
    assert len(halfway) == duel.STARTS
    ranked = np.argsort([-stand.likelihood for stand in halfway], kind="stable")
    assert went_on == ranked[: duel.GO_ON].tolist()
    likelihoods = [stand.likelihood for stand in finished]
    assert np.ptp(likelihoods) > 0.01
    assert best.likelihood == max(likelihoods)


def test_the_same_seed_is_the_same_duel() -> None:
    states, actions, _ = mix(0.4, "other", 6, count=150)
    assert np.array_equal(uncontradicted(states, actions, 3), uncontradicted(states, actions, 3))


def test_where_there_is_nothing_to_tell_all_stand() -> None:
    states, actions, _ = mix(0.4, "other", 0, count=60)
    assert uncontradicted(states[: duel.FEWEST - 1], actions[: duel.FEWEST - 1], 0).all()
    assert uncontradicted(states, np.zeros_like(actions), 0).all()
    assert uncontradicted(np.zeros_like(states), actions, 0).all()
    states, actions, bad = mix(0.4, "other", 0, count=150)
    locked = np.column_stack([actions, np.full(150, 0.1, np.float32)])  # a joint that never moves says nothing
    assert np.array_equal(uncontradicted(states, locked, 0), uncontradicted(states, actions, 0))
    assert not uncontradicted(states, locked, 0)[bad].all()
