"""Rollouts: every episode comes from its own seed, whatever the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.guarding import Guard
from robust_bc.evaluation.rollouts import Slots, batch_size, episode_seeds, roll_out


class Counting(gym.Env[Any, Any]):
    """Lasts 2 to 9 steps, as its seed says; observes the seed's draw and the step."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.draw = self.np_random.random()
        self.last, self.step_count = int(self.np_random.integers(2, 10)), 0
        return np.array([self.draw, 0.0]), {}

    def step(self, action: NDArray[Any]) -> Any:
        self.step_count += 1
        over = self.step_count == self.last
        told = {"action": float(action[0]), "step": self.step_count}
        return np.array([self.draw, float(self.step_count)]), float(self.step_count), over, False, told


class Remembering:
    """Acts with a number drawn at the start of the episode and counts the calls since."""

    def __init__(self) -> None:
        self.drawn, self.calls = np.zeros(0), np.zeros(0)

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        if len(self.drawn) != count:
            self.drawn, self.calls = np.zeros(count), np.zeros(count)
        self.drawn[slots] = [generator.random() for generator in generators]
        self.calls[slots] = 0

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        self.calls += 1
        assert np.array_equal(self.calls, observations[:, 1] + 1)  # told of every new episode, and only of those
        return self.drawn[:, None].copy()


def worlds(count: int, mode: AutoresetMode = AutoresetMode.DISABLED) -> gym.vector.SyncVectorEnv:
    return gym.vector.SyncVectorEnv([Counting] * count, autoreset_mode=mode)


def test_an_episode_depends_on_its_seed_alone() -> None:
    seeds = episode_seeds(3, 23)
    alone = [next(roll_out(worlds(1), Remembering(), [seed], ["action", "step"])) for seed in seeds]
    for count in (1, 4, 23, 40):
        together = list(roll_out(worlds(count), Remembering(), seeds, ["action", "step"]))
        assert [episode.seed for episode in together] == seeds
        for one, other in zip(together, alone, strict=True):
            assert len(one) == len(other) == len(one.actions) == len(one.observations) - 1
            assert np.array_equal(one.observations, other.observations)
            assert np.array_equal(one.actions, other.actions)
            assert np.array_equal(one.rewards, np.arange(1, len(one) + 1))
            assert np.array_equal(one.infos["step"], np.arange(1, len(one) + 1))
            assert np.array_equal(one.infos["action"], one.actions[:, 0])
            assert one.terminated


def test_long_episodes_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_bc.data.recording.FIRST_ROOM", 1)
    seeds = episode_seeds(0, 7)
    (first, *_) = roll_out(worlds(3), Remembering(), seeds, ["step"])
    assert np.array_equal(first.infos["step"], np.arange(1, len(first) + 1))


def test_the_time_limit_is_no_termination() -> None:
    environment = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.TimeLimit(Counting(), 2)] * 2, autoreset_mode=AutoresetMode.DISABLED
    )
    episodes = list(roll_out(environment, Remembering(), episode_seeds(0, 20)))
    assert {len(episode) for episode in episodes} == {2}
    assert {episode.terminated for episode in episodes} == {True, False}  # the shortest end by themselves


def test_seeds_are_nested_and_apart() -> None:
    assert episode_seeds(0, 5) == episode_seeds(0, 9)[:5]
    many = episode_seeds(0, 100) + episode_seeds(1, 100) + episode_seeds(0, 100, stream=1)
    assert len(set(many)) == 300


def test_the_actor_draws_other_numbers_than_the_world() -> None:
    (episode,) = roll_out(worlds(1), Remembering(), [5])
    assert episode.actions[0, 0] != episode.observations[0, 0]


def test_batches_are_balanced() -> None:
    assert [batch_size(n, 64) for n in (1, 64, 65, 100, 1000)] == [1, 64, 33, 50, 63]


class Broken(Remembering):
    def __init__(self, action: Any) -> None:
        super().__init__()
        self.action = action

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.array(self.action)


def test_only_what_is_asked_for_is_kept() -> None:
    seeds = episode_seeds(3, 11)
    whole = list(roll_out(worlds(4), Remembering(), seeds, ["step"]))
    some = list(roll_out(worlds(4), Remembering(), seeds, ["step"], keep=lambda number: number in (2, 9)))
    for number, (one, other) in enumerate(zip(whole, some, strict=True)):
        assert np.array_equal(one.rewards, other.rewards)
        assert np.array_equal(one.infos["step"], other.infos["step"])
        if number in (2, 9):
            assert np.array_equal(one.observations, other.observations)
            assert np.array_equal(one.actions, other.actions)
        else:
            assert other.observations.shape == (0, 2)
            assert other.actions.shape == (0, 1)


def test_the_actor_is_told_which_episode_is_where() -> None:
    slots = Slots()

    class Knowing(Remembering):
        def act(self, observations: NDArray[Any]) -> NDArray[Any]:
            seen.update(zip(slots.episode.tolist(), observations[:, 0].tolist(), strict=True))
            return super().act(observations)

    seen: dict[int, float] = {}
    seeds = episode_seeds(3, 11)
    episodes = list(roll_out(worlds(4), Knowing(), seeds, slots=slots))
    assert {number: seen[number] for number in range(11)} == {
        number: episode.observations[0, 0] for number, episode in enumerate(episodes)
    }


class Fragile(Counting):
    def step(self, action: NDArray[Any]) -> Any:
        raise ValueError("glass")


def test_a_guarded_world_that_fails_is_an_error_unless_failures_are_wanted() -> None:
    def fragile() -> gym.vector.SyncVectorEnv:
        return gym.vector.SyncVectorEnv([lambda: Guard(Fragile())] * 2, autoreset_mode=AutoresetMode.DISABLED)

    with pytest.raises(RobustBCError, match=r"the environment failed in a step: ValueError: glass\."):
        next(roll_out(fragile(), Remembering(), [0]))
    found = list(roll_out(fragile(), Remembering(), [0, 1, 2], ["step"], slots=Slots()))
    assert [episode.failure for episode in found] == ["the environment failed in a step: ValueError: glass."] * 3


def test_bad_actors_and_worlds_get_one_sentence() -> None:
    with pytest.raises(RobustBCError, match="not a finite number"):
        next(roll_out(worlds(1), Broken([[np.nan]]), [0]))
    with pytest.raises(RobustBCError, match=r"shape \(1, 2\), but the environment takes \(1, 1\)"):
        next(roll_out(worlds(1), Broken([[0.0, 0.0]]), [0]))
    with pytest.raises(RobustBCError, match="does not tell 'speed'"):
        next(roll_out(worlds(1), Remembering(), [0], ["speed"]))
    with pytest.raises(RobustBCError, match=r"AutoresetMode\.DISABLED"):
        next(roll_out(worlds(1, AutoresetMode.NEXT_STEP), Remembering(), [0]))
