"""The whole audit, on toys whose bad pairs are known, and on what is hostile or degenerate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robust_bc import Demonstrations, RobustBCError, audit
from robust_bc.auditing.truth import compare
from robust_bc.data.fingerprints import pairs_digest
from tests.robust_bc.auditing.toys import flipped_episodes

ARRAYS = ("clean", "conflict", "expected", "episode_clean", "scores", "known")


def alone(pairs: Demonstrations) -> Demonstrations:
    """The same pairs, each an episode of its own."""
    return replace(pairs, episodes=np.arange(len(pairs)))


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.45])
def test_bad_episodes_are_found_and_dropped(rate: float) -> None:
    pairs = flipped_episodes(rate)
    found = audit(pairs)
    assert pairs.corrupt is not None
    assert compare(found, pairs.corrupt).episode_auroc == 1
    assert found.rate.value == pytest.approx(rate, abs=0.03)
    assert found.verdict == "bad"
    assert np.array_equal(found.keep(), ~pairs.corrupt)


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_single_bad_pairs_are_found_and_dropped(rate: float) -> None:
    pairs = flipped_episodes(rate, seed=1)
    found = audit(alone(pairs))
    assert pairs.corrupt is not None
    assert found.single_pairs
    assert found.rate.value == pytest.approx(rate, abs=0.05)
    assert (found.keep() == ~pairs.corrupt).mean() > 0.97


def test_an_honest_minority_in_other_states_stays() -> None:
    pairs = flipped_episodes(0.0)
    states = np.array(pairs.observations)
    states[:80] = states[:80] * 0.2 + 0.7  # four episodes in a corner, with the same policy
    actions = np.stack([1 + 0.5 * np.sin(2 * states[:, 0]), states[:, 1]], 1)
    noise = 0.05 * np.random.default_rng(0).normal(size=actions.shape)
    found = audit(Demonstrations.from_arrays(states, actions + noise, pairs.episodes))
    assert found.keep().all()


@pytest.mark.parametrize("seed", range(5))
def test_clean_data_raise_no_alarm(seed: int) -> None:
    for pairs in (flipped_episodes(0.0, seed), alone(flipped_episodes(0.0, seed, 10, 10))):
        found = audit(pairs, seed=seed)
        assert found.verdict == "clean"
        assert found.keep().all()
        assert found.rate.value < 0.03


@pytest.mark.parametrize("count", [3, 10, 30, 60])
def test_few_clean_pairs_raise_no_alarm(count: int) -> None:
    pairs = flipped_episodes(0.0, episodes=1, length=count)
    for one in (pairs, alone(pairs)):
        found = audit(one)
        assert found.verdict != "bad"
        assert found.keep().all()


def test_clean_bang_bang_control_raises_no_alarm() -> None:
    generator = np.random.default_rng(0)
    states = generator.uniform(-1, 1, (600, 2))
    actions = np.where(states.sum(1, keepdims=True) > 0, 1.0, -1.0)
    for episodes in (np.repeat(np.arange(10), 60), np.arange(600)):
        found = audit(Demonstrations.from_arrays(states, actions, episodes))
        assert found.verdict != "bad"
        assert found.keep().all()
    for count in (60, 150, 300):
        assert audit(Demonstrations.from_arrays(states[:count], actions[:count])).keep().all()


@pytest.mark.parametrize("single", [False, True])
def test_an_even_conflict_cannot_be_told(single: bool) -> None:
    pairs = flipped_episodes(0.5, episodes=8, length=40)
    found = audit(alone(pairs) if single else pairs)
    assert found.verdict == "cannot tell"
    assert not found.bad_episodes.any()
    assert not found.bad_pairs.any()
    assert (found.rate.low, found.rate.high) == (0, 1)
    assert found.keep().all()
    assert (found.why_kept() or "").startswith("Everything is kept: two ")


@pytest.mark.parametrize(
    ("observations", "actions", "episodes"),
    [
        (np.eye(2), np.eye(2), None),
        (np.random.default_rng(0).normal(size=(90, 2)), np.zeros((90, 1)), np.repeat(np.arange(9), 10)),
        (np.zeros((90, 2)), np.random.default_rng(0).normal(size=(90, 1)), np.repeat(np.arange(9), 10)),
        (np.zeros((90, 2)), np.random.default_rng(0).normal(size=(90, 1)), None),
        (
            np.random.default_rng(0).normal(size=(40, 2)),
            np.random.default_rng(1).normal(size=(40, 1)),
            np.zeros(40, int),
        ),
        (1e200 * np.random.default_rng(0).normal(size=(90, 2)), np.ones((90, 1)), np.repeat(np.arange(9), 10)),
        (np.ones((90, 2)), np.ones((90, 1)), np.repeat(np.arange(9), 10)),
    ],
    ids=[
        "2 pairs",
        "constant actions",
        "constant states",
        "single, constant states",
        "one episode",
        "huge",
        "all the same",
    ],
)
def test_degenerate_input_is_kept(observations: object, actions: object, episodes: object) -> None:
    found = audit(Demonstrations.from_arrays(observations, actions, episodes))  # type: ignore[arg-type]
    assert found.verdict != "bad"
    assert found.keep().all()


def test_episodes_that_a_check_finds_spoiled_are_bad() -> None:
    pairs = flipped_episodes(0.0)
    copied = pairs.select(np.concatenate([np.repeat(np.arange(40), 3), np.arange(40, len(pairs))]))
    found = audit(copied)
    assert found.bad_episodes.tolist() == [True] * 2 + [False] * 18
    assert not found.keep()[:120].any()
    assert found.keep()[120:].all()


def test_the_same_seed_gives_the_same_bits_and_what_was_asked_is_remembered() -> None:
    pairs = flipped_episodes(0.3)
    names = ["ann", "bob"] * 10
    one, two = (audit(pairs, 7, sources=names, dataset="our/x-v0", states=40) for _ in range(2))
    assert all(getattr(one, name).tobytes() == getattr(two, name).tobytes() for name in ARRAYS)
    assert (one.seed, one.dataset, one.sources, one.settings.states) == (7, "our/x-v0", tuple(names), 40)
    assert one.pairs_sha256 == pairs_digest([pairs])


def test_settings_are_checked() -> None:
    pairs = flipped_episodes(0.0)
    with pytest.raises(RobustBCError, match="an audit has no setting 'steps'; it has: compared, states"):
        audit(pairs, steps=3)
    with pytest.raises(RobustBCError, match="tie is a share of at most 1, but it is 2"):
        audit(pairs, tie=2)
    with pytest.raises(RobustBCError, match="features must be at least 2, but it is 1"):
        audit(pairs, features=1)


def test_spoiled_recordings_have_no_say_in_who_is_the_majority() -> None:
    pairs = flipped_episodes(0.3, episodes=10, length=40)
    rows = np.concatenate([np.repeat(np.arange(40), 3), np.arange(40, 400)])  # the first episode, every row three times
    found = audit(pairs.select(rows))
    assert found.bad_episodes.tolist() == [True] * 3 + [False] * 7
    assert found.episode_rows()[0].findings == ("every row stands there 3 times",)
    alone = audit(pairs.select(np.arange(40, 400)))
    assert np.array_equal(found.conflict[120:], alone.conflict)
    assert found.agreement is not None
    assert alone.agreement is not None
    assert np.array_equal(found.agreement.compared, alone.agreement.compared + 1)
