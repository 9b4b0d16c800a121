"""A batch gives Gymnasium's own episodes, to the bit."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.mujoco_batch import MujocoBatch
from robust_bc_envs.mujoco_rules import RULES
from robust_bc_envs.mujoco_simulations import ThreadedSimulations
from robust_bc_envs.quiet import quiet_mujoco
from tests.robust_bc_envs.same import assert_same, run

KINDS = ["native", "threaded"]
CASES: list[tuple[str, dict[str, Any]]] = [
    *((environment, {}) for environment in RULES),
    ("HalfCheetah-v5", {"forward_reward_weight": -1.0, "exclude_current_positions_from_observation": False}),
    ("HalfCheetah-v5", {"ctrl_cost_weight": 0, "reset_noise_scale": 0.3, "frame_skip": 3}),
    ("Walker2d-v5", {"forward_reward_weight": -1.0, "healthy_reward": 2, "healthy_z_range": (1.0, 1.5)}),
    ("Walker2d-v5", {"terminate_when_unhealthy": False, "ctrl_cost_weight": np.float64(0.7)}),
    ("Hopper-v5", {"healthy_state_range": (-3.0, 3.0), "healthy_reward": 0.3}),
    ("Hopper-v5", {"healthy_angle_range": (-0.1, 0.1), "exclude_current_positions_from_observation": False}),
    ("Swimmer-v5", {"exclude_current_positions_from_observation": False, "reset_noise_scale": 1.0}),
    ("InvertedPendulum-v5", {"reset_noise_scale": 0.15}),
]
NAMES = ["-".join([environment, *settings]) for environment, settings in CASES]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of stepping: MuJoCo's own threads, and Python's."""
    if request.param == "threaded":
        monkeypatch.setattr("robust_bc_envs.mujoco_batch.simulate", ThreadedSimulations)
    return str(request.param)


def some_actions(space: gymnasium.Space[Any], steps: int, seed: int = 0) -> NDArray[np.float32]:
    """Random actions, a little beyond what the space allows: the cost counts them in full."""
    assert isinstance(space, gymnasium.spaces.Box)
    scale = np.random.default_rng(seed).uniform(-1.2, 1.2, (steps, *space.shape))
    return (scale * space.high).astype(np.float32)


@pytest.mark.parametrize(("environment", "settings"), CASES, ids=NAMES)
def test_an_episode_is_that_of_the_environment_alone(environment: str, settings: dict[str, Any], kind: str) -> None:
    seeds = (3, 17, 2**31)
    steps = 150
    batch = MujocoBatch(environment, len(seeds), autoreset_mode=AutoresetMode.SAME_STEP, **settings)
    actions = some_actions(batch.action_space, steps)
    rows = [batch.reset(seed=list(seeds))]
    told = [batch.step(action) for action in actions]
    batch.close()
    for slot, seed in enumerate(seeds):
        with quiet_mujoco():
            alone = gymnasium.make(environment, **settings)
        observation, info = alone.reset(seed=seed)
        assert np.array_equal(rows[0][0][slot], observation)
        assert info == {key: values[slot] for key, values in rows[0][1].items() if not key.startswith("_")}
        ends = 0
        for action, (observations, rewards, terminated, truncated, infos) in zip(actions, told, strict=True):
            observation, reward, fell, over, info = alone.step(action[slot])
            assert (reward, fell, over) == (rewards[slot], terminated[slot], truncated[slot])
            if fell or over:
                ends += 1
                assert np.array_equal(infos["final_obs"][slot], observation)
                infos = infos["final_info"]
                observation, _ = alone.reset()
            assert np.array_equal(observations[slot], observation)
            assert info == {key: infos[key][slot] for key in info}
            assert all(infos[f"_{key}"][slot] for key in info)
        can_fall = environment in ("Walker2d-v5", "Hopper-v5", "InvertedPendulum-v5")
        assert (ends > 0) == (can_fall and settings.get("terminate_when_unhealthy", True))


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("environment", RULES)
def test_a_batch_says_what_gymnasiums_vector_says(environment: str, mode: AutoresetMode, kind: str) -> None:
    # A limit of 40 steps ends episodes by time, and all slots in one step where nobody falls.
    settings: dict[str, Any] = {"max_episode_steps": 40}
    with quiet_mujoco():
        theirs = gymnasium.make_vec(environment, 5, "sync", vector_kwargs={"autoreset_mode": mode}, **settings)
    mine = MujocoBatch(environment, 5, autoreset_mode=mode, **settings)
    assert mine.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(mine, space) == getattr(theirs, space)
    actions = some_actions(mine.action_space, 100)
    for index, (one, other) in enumerate(zip(run(mine, actions), run(theirs, actions), strict=True)):
        assert_same(one, other, f"call {index}")


def test_the_time_limit_is_that_of_the_spec() -> None:
    batch = MujocoBatch("HalfCheetah-v5", 1)
    batch.reset(seed=0)
    nothing = np.zeros((1, 6), dtype=np.float32)
    truncated = np.array([batch.step(nothing)[3] for _ in range(1001)])
    assert np.flatnonzero(truncated.all(axis=1)).tolist() == [999]  # and the next begins anew
    batch.close()


def test_actions_of_double_precision_cost_as_in_gymnasium() -> None:
    with quiet_mujoco():
        theirs = gymnasium.make_vec("HalfCheetah-v5", 2, "sync")
    mine = MujocoBatch("HalfCheetah-v5", 2)
    actions = np.random.default_rng(0).normal(size=(5, 2, 6))
    for one, other in zip(run(mine, actions), run(theirs, actions), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("environment", ["HalfCheetah-v5", "Walker2d-v5"])
def test_threads_do_not_change_a_bit(environment: str, kind: str) -> None:
    batches = [MujocoBatch(environment, 13, threads=threads) for threads in (1, 2, 3)]
    actions = some_actions(batches[0].action_space, 40)
    first, *others = [run(batch, actions) for batch in batches]
    for other in others:
        for one, two in zip(first, other, strict=True):
            assert_same(one, two)


def test_a_mask_resets_only_its_slots_and_with_their_own_seeds(kind: str) -> None:
    batch = MujocoBatch("Walker2d-v5", 3, autoreset_mode=AutoresetMode.DISABLED)
    first, _ = batch.reset(seed=5)
    moved, *_ = batch.step(np.zeros((3, 6), dtype=np.float32))
    options = {"reset_mask": np.array([False, True, False])}
    again, infos = batch.reset(seed=[None, 6, None], options=options)
    assert np.array_equal(again[1], first[1])
    assert np.array_equal(again[[0, 2]], moved[[0, 2]])
    assert infos["_x_position"].tolist() == [False, True, False]
    assert "reset_mask" in options
    batch.close()


def test_what_a_batch_gave_is_not_changed_by_its_next_step(kind: str) -> None:
    batch = MujocoBatch("Swimmer-v5", 2)
    begun, infos = batch.reset(seed=0)
    copies = begun.copy(), infos["x_position"].copy()
    batch.step(np.ones((2, 2), dtype=np.float32))
    assert np.array_equal(begun, copies[0])
    assert np.array_equal(infos["x_position"], copies[1])
    batch.close()


def test_without_a_seed_slots_differ() -> None:
    batch = MujocoBatch("HalfCheetah-v5", 2)
    observations, _ = batch.reset()
    assert not np.array_equal(observations[0], observations[1])
    batch.close()


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(RobustBCError, match=r"^there is no batch of 'Ant-v5'; there is one of HalfCheetah-v5, .*\.$"):
        MujocoBatch("Ant-v5", 2)
    with pytest.raises(RobustBCError, match=r"^HalfCheetah-v5 has no setting 'wind'; it has xml_file, .*\.$"):
        MujocoBatch("HalfCheetah-v5", 2, wind=1.0)
    with pytest.raises(RobustBCError, match=r"^num_envs is 0, but at least 1 is needed\.$"):
        MujocoBatch("HalfCheetah-v5", 0)
    batch = MujocoBatch("Hopper-v5", 2, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=1)
    action = np.zeros((2, 3), dtype=np.float32)
    with pytest.raises(RobustBCError, match="call reset"):
        batch.step(action)
    with pytest.raises(RobustBCError, match="reset all slots before some"):
        batch.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(RobustBCError, match="3 seeds for 2 slots"):
        batch.reset(seed=[1, 2, 3])
    batch.reset(seed=0)
    for mask in (np.array([True]), np.array([1, 0]), [True, False], np.array([False, False])):
        with pytest.raises(RobustBCError, match="reset_mask is"):
            batch.reset(options={"reset_mask": mask})
    with pytest.raises(RobustBCError, match=r"shape \(3,\), but \(2, 3\) is needed"):
        batch.step(action[0])
    batch.step(action)
    with pytest.raises(RobustBCError, match="the episode in slot 0 has ended"):
        batch.step(action)
    batch.close()
    with pytest.raises(RobustBCError, match="closed"):
        batch.step(action)


def test_it_says_what_it_supports() -> None:
    assert MujocoBatch.supports("Walker2d-v5")
    assert not MujocoBatch.supports("Walker2d-v4")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of the process")
def test_closing_ends_the_threads(kind: str) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208

    before = count()
    batch = MujocoBatch("Hopper-v5", 16, threads=3)
    batch.reset(seed=0)
    batch.step(np.zeros((16, 3), dtype=np.float32))
    # Python's pool starts its second thread only if the first one is still busy when there is more to do.
    assert before + (2 if kind == "native" else 1) <= count() <= before + 2
    batch.close()
    batch.close()
    for _ in range(500):  # the system lists a thread for a moment after it has ended
        if count() == before:
            break
        time.sleep(0.01)
    assert count() == before


def test_an_unstable_simulation_warns_in_python_and_leaves_no_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    batch = MujocoBatch("Walker2d-v5", 12, threads=2)
    batch.reset(seed=0)
    with pytest.warns(RuntimeWarning, match="Nan, Inf or huge value in CTRL"):
        batch.step(np.full((12, 6), np.nan, dtype=np.float32))
    batch.close()
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")
