"""Tasks with a card and without, and what their reversed rewards are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector import SyncVectorEnv as GymnasiumVector
from numpy.typing import NDArray

import robust_bc_envs
from robust_bc.errors import RobustBCError
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.lanes.batch import LaneDrivingBatch
from robust_bc_envs.mujoco_batch import MujocoBatch
from robust_bc_envs.tasks import CARDS, find_task

WALKERS = ["halfcheetah", "hopper", "walker2d"]


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("halfcheetah", "HalfCheetah-v5"),
        ("hopper", "Hopper-v5"),
        ("walker2d", "Walker2d-v5"),
        ("reacher", "Reacher-v5"),
        ("pendulum", "Pendulum-v1"),
        ("double-pendulum", "InvertedDoublePendulum-v5"),
        ("lunar-lander", "LunarLanderContinuous-v3"),
        ("lane-driving", "RobustBC/LaneDriving-v0"),
    ],
)
def test_a_card_is_found_by_its_name_and_by_its_environment(name: str, environment: str) -> None:
    card = find_task(name)
    assert (card.name, card.environment) == (name, environment)
    assert find_task(environment) is card
    assert gymnasium.spec(card.environment).id == environment


def test_any_other_gymnasium_id_is_a_task_without_a_card() -> None:
    task = find_task("MountainCarContinuous-v0")
    assert (task.name, task.environment) == ("MountainCarContinuous-v0", "MountainCarContinuous-v0")
    assert (task.metrics, task.reversed_settings, task.development) == ((), None, False)
    assert task.name not in CARDS


def test_settings_are_chosen_on_three_tasks_and_measured_on_the_others() -> None:
    assert {card.name for card in CARDS.values() if card.development} == {"halfcheetah", "hopper", "lane-driving"}


def test_an_adversary_that_would_end_itself_is_paid_for_what_it_does_until_then() -> None:
    true, false, actions = both("double-pendulum")
    for action in actions:
        _, rewards, *_, infos = true.step(action)
        _, turned, *_ = false.step(action)
        assert np.allclose(rewards, infos["reward_survive"] - turned)
        assert (turned > 0).all()
    true.close()
    false.close()


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "Box2D" or name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(
        RobustBCError, match=r"needs Box2D, which is not installed: pip install 'robust-bc\[box2d\]'\.$"
    ):
        make_batch(find_task("lunar-lander"), 1)


def test_a_module_before_the_id_is_imported_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "worlds_of_a_user.py").write_text(
        "import gymnasium\n"
        "entry = 'gymnasium.envs.classic_control.pendulum:PendulumEnv'\n"
        "gymnasium.register('OfAUser/Swing-v0', entry, max_episode_steps=7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))
    task = find_task("worlds_of_a_user:OfAUser/Swing-v0")
    worlds = make_batch(task, 2)
    worlds.reset(seed=0)
    assert [bool(worlds.step(np.zeros((2, 1), np.float32))[3].all()) for _ in range(7)] == [False] * 6 + [True]
    worlds.close()
    assert find_task("robust_bc_envs:RobustBC/LaneDriving-v0").reversed_settings == {"reward": "reversed"}


@pytest.mark.parametrize("name", ["driving", "Nothing-v0", "Pendulum-v99", "no_such_module:Thing-v0", "", "a b"])
def test_an_unknown_task_is_one_sentence_with_the_cards(name: str) -> None:
    with pytest.raises(
        RobustBCError,
        match=r"^there is no task '.*'; the cards are halfcheetah, hopper, walker2d, .*lane-driving, .*\.$",
    ):
        find_task(name)


@pytest.mark.parametrize("name", CARDS)
def test_every_card_reads_its_metrics_from_what_the_environment_tells(name: str) -> None:
    task = find_task(name)
    worlds = make_batch(task, 2)
    worlds.reset(seed=0)
    *_, infos = worlds.step(np.zeros((2, *worlds.single_action_space.shape), np.float32))  # type: ignore[misc]
    worlds.close()
    for metric in task.metrics:
        assert infos[metric.info].shape == (2,)
        assert (infos[metric.info].dtype == np.bool_) == (metric.kind == "rate")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("halfcheetah", MujocoBatch),
        ("Hopper-v5", MujocoBatch),
        ("lane-driving", LaneDrivingBatch),
        ("Pendulum-v1", GymnasiumVector),
    ],
)
@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_batch_is_the_fastest_form_there_is(name: str, kind: type, mode: AutoresetMode) -> None:
    worlds = make_batch(find_task(name), 3, autoreset_mode=mode)
    assert type(worlds) is kind
    assert worlds.num_envs == 3
    assert worlds.metadata["autoreset_mode"] == mode
    seen, done = boxes(worlds)
    assert (seen, done) == (worlds.single_observation_space, worlds.single_action_space)
    worlds.close()
    if mode is AutoresetMode.DISABLED:
        default = make_batch(find_task(name), 1)
        assert default.metadata["autoreset_mode"] == mode
        default.close()


def both(name: str, **settings: Any) -> tuple[VectorEnv[Any, Any, Any], VectorEnv[Any, Any, Any], NDArray[Any]]:
    """A task as it is and reversed, both reset, and actions (T, N, A) for them."""
    true, false = (make_batch(find_task(name), 4, reversed_reward=flag, settings=settings) for flag in (False, True))
    first, second = true.reset(seed=1)[0], false.reset(seed=1)[0]
    assert np.array_equal(first, second)
    shape, generator = true.action_space.shape, np.random.default_rng(0)
    assert shape is not None
    return true, false, generator.uniform(-0.5, 0.5, (5, *shape)).astype(np.float32)


@pytest.mark.parametrize("name", WALKERS)
def test_a_reversed_walker_is_paid_for_the_other_direction_only(name: str) -> None:
    true, false, actions = both(name)
    for action in actions:
        first, rewards, *_, infos = true.step(action)
        second, turned, *_, told = false.step(action)
        assert np.array_equal(first, second)
        assert np.array_equal(told["x_velocity"], infos["x_velocity"])
        assert np.array_equal(told["reward_forward"], -infos["reward_forward"])
        assert np.array_equal(told["reward_ctrl"], infos["reward_ctrl"])
        assert np.abs(infos["reward_forward"]).min() > 1e-4
        survive = infos["reward_survive"] if name != "halfcheetah" else 0.0
        assert (infos["reward_ctrl"] < 0).all()
        assert np.allclose(rewards, infos["x_velocity"] + infos["reward_ctrl"] + survive)
        assert np.allclose(turned, -infos["x_velocity"] + infos["reward_ctrl"] + survive)
    true.close()
    false.close()


def test_a_reward_without_a_weight_is_negated() -> None:
    true, false, actions = both("Pendulum-v1")
    for action in actions:
        first, rewards, *_ = true.step(action)
        second, turned, *_ = false.step(action)
        assert np.array_equal(first, second)
        assert (rewards < 0).all()
        assert np.array_equal(turned, -rewards)
    true.close()
    false.close()


def test_a_reversed_driver_earns_what_the_expert_loses() -> None:
    true, false, actions = both("lane-driving")
    for action in actions:
        _, rewards, *_, infos = true.step(action)
        _, turned, *_ = false.step(action)
        assert np.array_equal(turned, -infos["reward_loss"])
        assert np.allclose(rewards, infos["reward_progress"] - turned)
        assert (turned > 0).all()
    true.close()
    false.close()


def test_the_settings_reach_the_environment_and_the_reversal_goes_before_them() -> None:
    worlds = make_batch(
        find_task("lane-driving"), 2, reversed_reward=True, settings={"lanes": 5, "cars": 1, "reward": "driving"}
    )
    assert isinstance(worlds, LaneDrivingBatch)
    assert (worlds.settings.lanes, worlds.settings.cars, worlds.settings.reward) == (5, 1, "reversed")
    pendulum = make_batch(find_task("Pendulum-v1"), 2, settings={"g": 0.0})
    assert isinstance(pendulum, GymnasiumVector)
    assert pendulum.get_attr("g") == (0.0, 0.0)
    pendulum.close()


@pytest.mark.parametrize(
    ("name", "named"), [("CartPole-v1", "action space Discrete"), ("FrozenLake-v1", "observation space Discrete")]
)
def test_an_environment_without_boxes_is_one_sentence(name: str, named: str) -> None:
    with pytest.raises(RobustBCError, match=rf"^the environment has the {named}\(.*\), but a Box .* is needed; .*\.$"):
        make_batch(find_task(name), 2)


def test_the_package_gives_its_public_names_and_lists_them_when_asked_for_another() -> None:
    assert robust_bc_envs.make_batch is make_batch
    assert robust_bc_envs.find_task is find_task
    for name in robust_bc_envs.__all__:
        assert getattr(robust_bc_envs, name) is not None
    with pytest.raises(
        AttributeError, match=r"no attribute 'wheels'; it has: CARDS, LANE_DRIVING, LaneSettings, .*step_pose$"
    ):
        robust_bc_envs.wheels  # noqa: B018
