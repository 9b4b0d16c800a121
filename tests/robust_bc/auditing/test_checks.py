"""Checks of the recording itself: each fault is found, named by episode and step, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray
from scipy import stats

from robust_bc import Demonstrations, audit
from robust_bc.auditing.judging.checks import run_checks
from robust_bc.auditing.judging.lags import TAILS, Lags, find_lags, t_log_densities, t_scales
from robust_bc.auditing.judging.scaled import Scaled
from robust_bc.data.normalisation import Affine
from tests.robust_bc.auditing.toys import flipped_episodes, moving


def changed(observations: object = None, actions: object = None, **more: object) -> Demonstrations:
    pairs = moving()
    given = {"observations": pairs.observations, "actions": pairs.actions, "episodes": pairs.episodes, **more}
    given |= {"observations": observations} if observations is not None else {}
    given |= {"actions": actions} if actions is not None else {}
    return Demonstrations.from_arrays(**given)  # type: ignore[arg-type]


def found_in(pairs: Demonstrations) -> list[tuple[str, int | None, int | None, bool]]:
    return [(finding.check, finding.episode, finding.step, finding.spoils) for finding in run_checks(pairs)]


def test_a_good_recording_has_no_findings() -> None:
    assert found_in(moving()) == []


def test_duplicated_rows() -> None:
    pairs = moving()
    rows = np.concatenate([np.repeat(np.flatnonzero(pairs.episodes == 2), 3), np.flatnonzero(pairs.episodes != 2)])
    assert found_in(pairs.select(rows)) == [("duplicated-rows", 2, 0, True)]
    at_rest = np.array(pairs.observations)
    at_rest[200:290], actions = 0.0, np.array(pairs.actions)
    actions[200:290] = 0.0
    assert ("duplicated-rows", 2, 0, True) not in found_in(changed(at_rest, actions))


def test_duplicated_episode() -> None:
    pairs = moving()
    states, actions = np.array(pairs.observations), np.array(pairs.actions)
    states[500:600], actions[500:600] = states[100:200], actions[100:200]
    assert found_in(changed(states, actions)) == [("duplicated-episode", 5, None, False)]


@pytest.mark.parametrize("part", ["sensor", "actuator"])
def test_frozen(part: str) -> None:
    pairs = moving()
    values = np.array(pairs.observations if part == "sensor" else pairs.actions)
    values[330:395, 1] = 0.1234
    found = found_in(changed(values) if part == "sensor" else changed(actions=values))
    assert (f"frozen-{part}", 3, 30, False) in found
    values = np.array(pairs.observations)
    values[330:395, 1] = values[:, 1].max()  # at the end of its range a sensor may rest
    assert "frozen-sensor" not in {check for check, *_ in found_in(changed(values))}


@pytest.mark.parametrize("part", ["sensor", "actuator"])
def test_dead(part: str) -> None:
    """What never moves in one episode, and elsewhere nearly always, spoils it; what often rests does not."""
    pairs = moving()
    values = np.array(pairs.observations if part == "sensor" else pairs.actions)

    def found(rows: slice | NDArray[np.int_] = slice(None)) -> set[tuple[str, int | None, int | None, bool]]:
        given = changed(values) if part == "sensor" else changed(actions=values)
        return set(found_in(given.select(np.arange(len(values))[rows])))

    values[300:400, 1] = 0.1234
    dead = (f"dead-{part}", 3, 0, True)
    assert found() == {dead}
    assert dead in found(np.r_[0:305, 400:800])
    assert dead not in found(np.r_[0:304, 400:800])
    assert dead not in found(np.r_[300:400, 500:600])  # the pairs of no majority
    values[::4, 1] = values[1::4, 1]  # elsewhere it stands still in a quarter of the steps
    assert dead not in found()


def test_saturated() -> None:
    actions = np.clip(moving().actions, -1.9, 1.9)
    actions[420:500] = 2.0
    space = spaces.Box(-2.0, 2.0, (2,), np.float64)
    assert ("saturated", 4, 20, False) in found_in(changed(actions=actions, action_space=space))


def test_odd_lengths() -> None:
    pairs = moving()
    assert found_in(pairs.select(np.r_[0:120, 200:800])) == [("length", 1, None, False)]


def test_time_stamps() -> None:
    times = np.tile(np.arange(100) * 0.1, 8)
    assert found_in(changed(timestamps=times)) == []
    times[350:400] += 7.0
    times[620] = times[619]
    found = found_in(changed(timestamps=times))
    assert found == [("timestamps", 6, 20, False), ("timestamps", 3, 50, False)]


def lags_of(pairs: Demonstrations) -> Lags:
    return find_lags(Scaled.of(pairs, Affine), np.random.default_rng(0))


@pytest.mark.parametrize("lag", [-1, 1])
def test_a_pile_that_is_off_by_one(lag: int) -> None:
    assert lags_of(moving(lag)) == Lags(lag, {})
    assert ("misaligned", None, None, False) in found_in(moving(lag))


@pytest.mark.parametrize("lag", [-1, 1])
def test_single_episodes_that_are_off_by_one(lag: int) -> None:
    assert found_in(moving(lag, wrong=3)) == [("misaligned", episode, None, True) for episode in range(3)]
    assert audit(moving(lag, wrong=3)).bad_episodes.tolist() == [True] * 3 + [False] * 5


def test_lags_of_more_episodes_than_the_dynamics_are_learned_from() -> None:
    assert lags_of(moving(1, episodes=90, wrong=30)) == Lags(0, dict.fromkeys(range(30), 1))


def test_no_lag_is_told_where_most_episodes_cannot_tell() -> None:
    """Thirty episodes of six rows are right and tell little, a long one is off."""
    short, long = moving(0, episodes=30, length=6), moving(1, episodes=1, length=100, seed=1)
    both = Demonstrations.from_arrays(
        np.concatenate([short.observations, long.observations]) + 0.1 * np.random.default_rng(0).normal(size=(280, 2)),
        np.concatenate([short.actions, long.actions]),
        np.concatenate([short.episodes, long.episodes + 100]),
    )
    assert lags_of(both) == Lags(0, {})


def test_blows_and_actions_that_matter_by_the_state_do_not_hide_a_lag() -> None:
    generator = np.random.default_rng(0)
    states, actions = generator.normal(size=(2, 1200, 1))
    blows = np.where(generator.random((1200, 1)) < 0.01, 1e6, 0.0)
    after = states + states * actions + blows  # x must have s⊗a, and blows little weight
    episodes = np.repeat(np.arange(12), 100)
    actions[:300] = np.roll(actions[:300], 1, axis=0)
    pairs = Demonstrations.from_arrays(states, actions, episodes, successors=after)
    assert lags_of(pairs) == Lags(0, dict.fromkeys(range(3), 1))


def test_densities_of_lags_are_those_of_students_t() -> None:
    errors, scales = np.random.default_rng(0).standard_t(TAILS, (1, 4000, 2)) * [1.0, 3.0], np.array([1.0, 9.0])
    literal = stats.t.logpdf(errors, TAILS, scale=np.sqrt(scales)) - stats.t.logpdf(0, TAILS, scale=np.sqrt(scales))
    assert t_log_densities(errors**2, scales) == pytest.approx(literal.mean(2))
    assert t_scales(errors[0] ** 2) == pytest.approx(scales, rel=0.1)


def test_nothing_can_be_told_of_few_rows() -> None:
    unrelated = (moving(1, 6, 5, seed) for seed in range(20))
    assert all(lags_of(pairs).pile == 0 for pairs in unrelated)
    assert lags_of(flipped_episodes(0.0, episodes=400, length=1)) == Lags(0, {})
