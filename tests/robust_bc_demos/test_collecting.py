"""Collecting: an episode is what its seed and its teacher make it, on any task."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import pytest

from robust_bc import Demonstrations, fit
from robust_bc.errors import RobustBCError
from robust_bc_demos.collecting import collect
from robust_bc_demos.datasets import check_free, local_datasets
from robust_bc_demos.mixing.datasets import MixRequest, mix
from robust_bc_envs.quiet import quiet_mujoco
from robust_bc_envs.tasks import find_task

DRIVING = find_task("lane-driving")


def test_an_episode_is_what_the_environment_gives_for_its_seed_and_actions(datasets: Path) -> None:
    collect("halfcheetah", "random", "our/cheetah-v0", episodes=2, seed=3)
    dataset = minari.load_dataset("our/cheetah-v0")
    with quiet_mujoco():
        environment = dataset.recover_environment()
    metadata = list(dataset.storage.get_episode_metadata(dataset.episode_indices))
    for episode, about in zip(dataset.iterate_episodes(), metadata, strict=True):
        observation, _ = environment.reset(seed=about["seed"])
        assert np.array_equal(observation, episode.observations[0])
        for step, action in enumerate(episode.actions[:30]):
            observation, reward, *_ = environment.step(action)
            assert np.array_equal(observation, episode.observations[step + 1])
            assert reward == episode.rewards[step]
        assert len(episode) == 1000
        assert episode.truncations[-1]
        assert not episode.terminations.any()
        assert about["source"] == "random"
        assert about["teacher"] == "random"
        assert about["return"] == pytest.approx(episode.rewards.sum())
        assert "x_velocity" in about
    assert dataset.env_spec.id == "HalfCheetah-v5"


def test_plain_minari_reads_it_without_our_code(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/safe-v0", episodes=2, settings={"length": 60.0, "cars": 1})
    code = (
        "import minari; d = minari.load_dataset('our/safe-v0'); e = d[0]; w = d.recover_environment();"
        "import sys; o, _ = w.reset(seed=d.storage.metadata and list(d.storage.get_episode_metadata([0]))[0]['seed']);"
        "print(len(d), e.observations.shape[1], (o == e.observations[0]).all(), w.unwrapped.settings.length,"
        " 'robust_bc_demos' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "4", "True", "60.0", "False"]


def test_the_same_seed_is_the_same_dataset_and_a_longer_one_begins_with_it(datasets: Path) -> None:
    for name, episodes, seed in (
        ("our/one-v0", 3, 0),
        ("our/two-v0", 3, 0),
        ("our/longer-v0", 5, 0),
        ("our/other-v0", 3, 1),
    ):
        collect("lane-driving", "careless", name, episodes=episodes, seed=seed)
    one, two, longer, other = (
        Demonstrations.from_minari(f"our/{name}-v0") for name in ("one", "two", "longer", "other")
    )
    assert np.array_equal(one.actions, two.actions)
    assert np.array_equal(one.observations, longer.observations[: len(one)])
    assert not np.array_equal(one.observations[:5], other.observations[:5])


@pytest.mark.parametrize("task", ["halfcheetah", "walker2d", "lane-driving"])
def test_an_experts_episode_does_not_feel_its_company(task: str, datasets: Path) -> None:
    for count in (1, 3):
        collect(task, "expert", f"our/x{count}-v0", episodes=count)
    one, three = (minari.load_dataset(f"our/x{count}-v0")[0] for count in (1, 3))
    assert np.array_equal(one.observations, three.observations)
    assert np.array_equal(one.actions, three.actions)


class Picky(gym.Env[Any, Any]):
    """Registered by its class, as many do; fails in the third step if told so."""

    def __init__(self, fails: bool = False) -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.fails = fails

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.fails and self.count == 3:
            raise RuntimeError("a wheel came off")
        return np.zeros(1, np.float32), 0.0, False, False, {}


@pytest.fixture
def picky() -> Any:
    made_by: Any = Picky
    gym.register("Picky-v0", entry_point=made_by, max_episode_steps=7)
    yield "Picky-v0"
    del gym.registry["Picky-v0"]


def test_an_environment_that_is_registered_by_its_class(picky: str, datasets: Path) -> None:
    collect(picky, "random", "our/x-v0", episodes=2)
    assert minari.load_dataset("our/x-v0").env_spec.entry_point == f"{__name__}:Picky"
    collect(picky, "random", "our/y-v0", episodes=1, settings={"max_episode_steps": 4})
    dataset = minari.load_dataset("our/y-v0")
    assert (dataset.total_steps, dataset.env_spec.max_episode_steps, dataset.env_spec.kwargs) == (4, 4, {})
    mix(MixRequest(find_task(picky), "flip", 0.5, pairs=4, clean="our/y-v0"), "our/z-v0")
    assert minari.load_dataset("our/z-v0").env_spec.max_episode_steps == 4


def test_an_environment_that_fails_gets_one_sentence(picky: str, datasets: Path) -> None:
    with pytest.raises(RobustBCError, match="the environment failed in a step: RuntimeError: a wheel came off"):
        collect(picky, "random", "our/x-v0", settings={"fails": True})
    for name in ("threads", "num_envs", "render_mode", "autoreset_mode"):
        with pytest.raises(RobustBCError, match=f"'{name}' is not a setting of the environment"):
            collect("lane-driving", "safe", "our/x-v0", settings={name: 2})
    with pytest.raises(RobustBCError, match="no setting 'reversed_reward'"):
        collect("lane-driving", "safe", "our/x-v0", settings={"reversed_reward": True})
    assert not local_datasets().rows


def test_any_gymnasium_task_can_be_collected_and_trained_on(datasets: Path) -> None:
    collect("MountainCarContinuous-v0", "random", "our/car-v0", episodes=2)
    policy = fit(Demonstrations.from_minari("our/car-v0"), "mlp", steps=20, device="cpu")
    policy.save(datasets / "policy")
    collect("MountainCarContinuous-v0", str(datasets / "policy"), "our/again-v0", episodes=1)
    (about,) = minari.load_dataset("our/again-v0").storage.get_episode_metadata([0])
    assert about["source"] == "policy"


def test_bad_requests_get_one_sentence(datasets: Path, tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match=r"has no policy 'sage'; its teachers are .*safe, careless, random"):
        collect("lane-driving", "sage", "our/x-v0")
    with pytest.raises(RobustBCError, match="'MountainCarContinuous-v0' has no policy 'expert'"):
        collect("MountainCarContinuous-v0", "expert", "our/x-v0")
    with pytest.raises(RobustBCError, match="episodes must be at least 1"):
        collect("lane-driving", "safe", "our/x-v0", episodes=0)
    for name in ("no version", "our/x", "../x-v0/"):
        with pytest.raises(RobustBCError, match="an id looks like mine/demos-v0"):
            collect("lane-driving", "safe", name)
    (datasets / "our/x-v0").mkdir(parents=True)
    with pytest.raises(RobustBCError, match="it is not a dataset"):
        check_free("our/x-v0", overwrite=True)
    policy = fit(Demonstrations.from_arrays(np.zeros((4, 7)), np.zeros((4, 1))), "mlp", steps=1, device="cpu")
    policy.save(tmp_path / "seven")
    with pytest.raises(RobustBCError, match="takes observations of 7 numbers, but the task has 4"):
        collect("lane-driving", str(tmp_path / "seven"), "our/y-v0")
    assert not local_datasets().rows
