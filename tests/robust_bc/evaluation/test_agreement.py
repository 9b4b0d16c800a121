"""Our evaluation and Stable-Baselines3's agree to the bit, and the batch makes no difference."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv

import robust_bc_envs  # noqa: F401 (registers lane driving)
from robust_bc import evaluate, evaluate_fleet
from robust_bc.evaluation.rollouts import episode_seeds
from robust_bc.evaluation.worlds import World, find_world
from tests.robust_bc.evaluation.policies import quick_policy

SHORT = {"max_episode_steps": 60}


class SeededResets(gym.Wrapper[Any, Any, Any, Any]):
    """Hands out the seeds of our episodes: `evaluate_policy` resets without any, once more than it counts."""

    def __init__(self, environment: gym.Env[Any, Any], seeds: list[int]) -> None:
        super().__init__(environment)
        self.seeds = iter([*seeds, seeds[0]])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self.env.reset(seed=next(self.seeds), options=options)


class ExactVecEnv(DummyVecEnv):
    """Stable-Baselines3's own keeps rewards in single precision."""

    def __init__(self, environment: gym.Env[Any, Any]) -> None:
        super().__init__([lambda: environment])
        self.buf_rews = self.buf_rews.astype(np.float64)


def by_sb3(policy: Any, environment: str, seeds: list[int], **settings: Any) -> tuple[list[float], list[int]]:
    worlds = ExactVecEnv(SeededResets(gym.make(environment, **settings), seeds))
    found: tuple[list[float], list[int]] = evaluate_policy(  # type: ignore[assignment]
        policy, worlds, len(seeds), deterministic=True, return_episode_rewards=True, warn=False
    )
    return found


@pytest.mark.parametrize(
    ("environment", "episodes", "settings"),
    [("HalfCheetah-v5", 4, SHORT), ("Walker2d-v5", 6, {}), ("RobustBC/LaneDriving-v0", 6, {})],
)
@pytest.mark.parametrize("method", ["choicenet", "mdn"])
def test_evaluate_policy_of_stable_baselines_says_the_same(
    environment: str, episodes: int, settings: dict[str, Any], method: str
) -> None:
    policy = quick_policy(environment, method)
    ours = evaluate(policy, environment, episodes, seed=3, settings=settings)
    returns, lengths = by_sb3(policy, environment, episode_seeds(3, episodes), **settings)
    assert [row["return"] for row in ours.rows] == returns
    assert [row["length"] for row in ours.rows] == lengths
    assert len(set(returns)) == episodes


def test_neither_the_batch_nor_the_company_is_felt(monkeypatch: pytest.MonkeyPatch) -> None:
    policies = [quick_policy("walker2d", method, seed) for seed, method in enumerate(("choicenet", "mdn", "mlp"))]
    alone = [evaluate(policy, "walker2d", 7, seed=1, keep=2) for policy in policies]
    world = find_world("walker2d")
    for slots in (1, 4, 1000):
        changed = World(world.task, world.environment, world.metrics, world.reference, world.make, slots)
        monkeypatch.setattr("robust_bc.evaluation.evaluating.find_world", lambda name, found=changed: found)
        together = evaluate_fleet([*policies, lambda o: o[:, :6]], "walker2d", 7, seed=1, keep=2)
        for one, other in zip(alone, together, strict=False):
            assert one.rows == other.rows
            assert len(other.kept) == 2
            for mine, theirs in zip(one.kept, other.kept, strict=True):
                assert np.array_equal(mine.observations, theirs.observations)
                assert np.array_equal(mine.actions, theirs.actions)
    assert len({evaluation.rows[0]["return"] for evaluation in together}) == 4
