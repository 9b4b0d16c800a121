"""Thousands of roads in one step are the single form, to the bit."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

import robust_bc_envs
from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.batch import LaneDrivingBatch
from robust_bc_envs.lanes.env import LaneDriving
from tests.robust_bc_envs.same import assert_same, run

LANE_DRIVING = robust_bc_envs.LANE_DRIVING


def make_both(count: int, mode: AutoresetMode, **settings: Any) -> tuple[LaneDrivingBatch, SyncVectorEnv]:
    """The vectorised form and Gymnasium's vector of the single form."""
    mine = gymnasium.make_vec(LANE_DRIVING, count, "vector_entry_point", autoreset_mode=mode, **settings)
    theirs = gymnasium.make_vec(LANE_DRIVING, count, "sync", vector_kwargs={"autoreset_mode": mode}, **settings)
    assert isinstance(mine, LaneDrivingBatch)
    assert isinstance(theirs, SyncVectorEnv)
    return mine, theirs


def some_actions(steps: int, count: int, seed: int = 0) -> NDArray[np.float32]:
    """Headings that wander (T, N, 1), wilder from slot to slot and now and then beyond what the space allows."""
    generator = np.random.default_rng(seed)
    wander = np.cumsum(generator.normal(size=(steps, count, 1)), axis=0) * generator.uniform(0, 0.05, (1, count, 1))
    wander[generator.random(wander.shape) < 0.3] = 0.0  # exactly straight on is a case of its own
    return wander.astype(np.float32)


def assert_says_the_same(mine: VectorEnv[Any, Any, Any], theirs: VectorEnv[Any, Any, Any], actions: Any) -> list[Any]:
    said, told = run(mine, actions), run(theirs, actions)
    for index, (one, other) in enumerate(zip(said, told, strict=True)):
        assert_same(one, other, f"call {index}")
    return said


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("shape", ["straight", "curved"])
def test_many_roads_say_what_gymnasiums_vector_of_single_ones_says(shape: str, mode: AutoresetMode) -> None:
    count, steps = 30, 55
    mine, theirs = make_both(count, mode, shape=shape, length=45.0, cars=1, speed=20.0)
    assert mine.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(mine, space) == getattr(theirs, space)
    said = assert_says_the_same(mine, theirs, some_actions(steps, count))
    ends = dict.fromkeys(("collision", "off_road", "success"), 0)
    for *_, infos in said:
        for name in ends:
            ends[name] += int(infos.get("final_info", infos).get(name, np.zeros(1)).sum())
    assert min(ends.values()) > 3, ends


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 257])
def test_the_size_of_the_batch_changes_no_bit(count: int) -> None:
    steps = max(6, min(1000 // count, 60))
    mine, theirs = make_both(count, AutoresetMode.SAME_STEP, shape="curved", length=75.0, cars=1, lanes=2, speed=30.0)
    assert_says_the_same(mine, theirs, some_actions(steps, count, seed=count))


@pytest.mark.parametrize(
    "settings",
    [
        {"cars": 0, "lanes": 1},
        {"reward": "reversed", "dt": 0.02, "length": 60.0, "cars": 1},
        {"speed": 25.0, "lanes": 5, "lane_width": 3.0, "shape": "curved", "cars": 5},
    ],
    ids=str,
)
def test_the_settings_are_those_of_the_single_form(settings: dict[str, Any]) -> None:
    mine, theirs = make_both(6, AutoresetMode.NEXT_STEP, **settings)
    assert_says_the_same(mine, theirs, some_actions(120, 6))


@pytest.mark.parametrize("cars", [1, 4])
def test_roads_and_cars_behind_what_is_told_are_the_same_too(cars: int) -> None:
    mine, theirs = make_both(15, AutoresetMode.SAME_STEP, shape="curved", cars=cars, speed=30.0)
    mine.reset(seed=2)
    theirs.reset(seed=2)
    for action in some_actions(40, 15):
        mine.step(action)
        theirs.step(action)
        for slot, world in enumerate(theirs.envs):
            single = world.unwrapped
            assert isinstance(single, LaneDriving)
            assert np.array_equal(mine.worlds.cars[slot], single.cars)
            assert np.array_equal(mine.worlds.poses[slot], single.pose)


def test_actions_of_double_precision_are_not_rounded() -> None:
    mine, theirs = make_both(5, AutoresetMode.SAME_STEP)
    assert_says_the_same(mine, theirs, np.random.default_rng(0).normal(0, 0.2, (50, 5, 1)))


def test_gymnasium_makes_the_vectorised_form_unless_told_otherwise() -> None:
    worlds = gymnasium.make_vec(LANE_DRIVING, num_envs=3)
    assert isinstance(worlds, LaneDrivingBatch)
    assert worlds.num_envs == 3
    assert worlds.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    observations, infos = worlds.reset(seed=0)
    assert worlds.observation_space.contains(observations)
    assert infos == {}
    worlds.close()


def test_a_thousand_roads_are_a_thousand_different_ones_and_each_that_of_its_seed() -> None:
    worlds = LaneDrivingBatch(1000)
    observations, _ = worlds.reset(seed=100)
    assert len(np.unique(observations[:, 3])) > 990
    again, _ = LaneDrivingBatch(3).reset(seed=[1099, 100, 612])
    assert np.array_equal(again, observations[[999, 0, 512]])
    other, _ = worlds.reset(seed=100)
    assert np.array_equal(other, observations)
    later, _ = worlds.reset()
    assert not np.array_equal(later, observations)


def test_without_a_seed_slots_differ() -> None:
    observations, _ = LaneDrivingBatch(2).reset()
    assert observations[0, 3] != observations[1, 3]


def test_a_mask_resets_only_its_slots_and_with_their_own_seeds() -> None:
    worlds = LaneDrivingBatch(3, autoreset_mode=AutoresetMode.DISABLED)
    first, _ = worlds.reset(seed=5)
    worlds.step(np.full((3, 1), 0.3, np.float32))  # turns, and the next step shows it
    moved, *_ = worlds.step(np.full((3, 1), 0.3, np.float32))
    assert not (moved == first).all(1).any()
    again, _ = worlds.reset(seed=[None, 6, None], options={"reset_mask": np.array([False, True, False])})
    assert np.array_equal(again[1], first[1])
    assert np.array_equal(again[[0, 2]], moved[[0, 2]])


def test_what_a_batch_gave_is_not_changed_by_its_next_step() -> None:
    worlds = LaneDrivingBatch(2, autoreset_mode=AutoresetMode.SAME_STEP, length=41.0, cars=0)
    given = [worlds.reset(seed=0)[0]]
    copies = [given[0].copy()]
    for action in some_actions(100, 2):
        observations, rewards, *_, infos = worlds.step(action)
        told = infos.get("final_info", infos)["lane_deviation_rms"]
        given += [observations, rewards, told]
        copies += [observations.copy(), rewards.copy(), told.copy()]
    for one, copy in zip(given, copies, strict=True):
        assert np.array_equal(one, copy)


def test_the_action_for_a_slot_that_begins_anew_does_not_count() -> None:
    mine, theirs = make_both(2, AutoresetMode.NEXT_STEP, cars=0, length=10.0)
    for worlds in (mine, theirs):
        worlds.reset(seed=0)
        ended = np.zeros(2, np.bool_)
        while not ended.any():
            ended = worlds.step(np.array([[0.0], [0.7]], np.float32))[2]
    actions = np.where(ended, np.nan, 0.1).astype(np.float32)[:, None]
    assert np.isnan(actions).any()
    assert_same(mine.step(actions), theirs.step(actions))


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(RobustBCError, match=r"^num_envs is 0, but at least 1 is needed\.$"):
        LaneDrivingBatch(0)
    with pytest.raises(RobustBCError, match=r"^lane driving has no setting 'wind'; its settings are lanes, .*\.$"):
        gymnasium.make_vec(LANE_DRIVING, 2, wind=1)
    with pytest.raises(RobustBCError, match=r"^many roads at once have no picture; .*\.$"):
        gymnasium.make_vec(LANE_DRIVING, 2, render_mode="rgb_array")
    worlds = LaneDrivingBatch(2, autoreset_mode=AutoresetMode.DISABLED, length=0.6, cars=0)
    action = np.zeros((2, 1), np.float32)
    with pytest.raises(RobustBCError, match="call reset"):
        worlds.step(action)
    with pytest.raises(RobustBCError, match="reset all slots before some"):
        worlds.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(RobustBCError, match="3 seeds for 2 slots"):
        worlds.reset(seed=[1, 2, 3])
    worlds.reset(seed=0)
    with pytest.raises(RobustBCError, match=r"shape \(2,\), but \(2, 1\) is needed"):
        worlds.step(action[:, 0])
    with pytest.raises(RobustBCError, match=r"^the action must be a number, but it is nan\.$"):
        worlds.step(np.array([[0.0], [np.nan]]))
    assert not worlds.step(action)[2].any()  # what was refused has not moved them
    assert worlds.step(action)[2].all()
    with pytest.raises(RobustBCError, match="the episode in slot 0 has ended"):
        worlds.step(action)
    worlds.close()
    with pytest.raises(RobustBCError, match="closed"):
        worlds.reset()
