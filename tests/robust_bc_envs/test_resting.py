"""Slots that rest: they stand still, cost nothing and do not disturb the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from robust_bc.errors import RobustBCError
from robust_bc_envs.batch_env import BatchEnv
from robust_bc_envs.lanes.batch import LaneDrivingBatch
from robust_bc_envs.mujoco_batch import MujocoBatch


def batch(kind: str, count: int) -> BatchEnv:
    if kind == "road":
        return LaneDrivingBatch(count, autoreset_mode=AutoresetMode.DISABLED)
    return MujocoBatch("HalfCheetah-v5", count, autoreset_mode=AutoresetMode.DISABLED)


@pytest.mark.parametrize("kind", ["road", "cheetah"])
def test_a_resting_slot_stands_still_and_the_others_do_not_notice(kind: str) -> None:
    some, whole = batch(kind, 4), batch(kind, 4)
    seen, _ = some.reset(seed=0)
    whole.reset(seed=0)
    resting = np.array([False, True, False, True])
    some.rest(resting)
    generator = np.random.default_rng(0)
    for _ in range(5):
        actions: Any = generator.uniform(-0.2, 0.2, some.action_space.shape or ()).astype(np.float32)
        wanted = whole.step(actions)
        actions[resting] = np.nan  # they do not count
        observations, rewards, terminated, truncated, infos = some.step(actions)
        assert np.array_equal(observations[resting], seen[resting])
        assert not rewards[resting].any()
        assert not (terminated | truncated)[resting].any()
        for mine, theirs in zip((observations, rewards, terminated), wanted[:3], strict=True):
            assert np.array_equal(mine[~resting], theirs[~resting])
        for name, values in infos.items():
            if not name.startswith("_"):
                assert np.array_equal(values[~resting], wanted[4][name][~resting])
                assert np.array_equal(infos[f"_{name}"], ~resting)
    again, _ = some.reset(seed=[None, 7, None, None], options={"reset_mask": np.array([False, True, False, False])})
    actions = np.full(some.action_space.shape or (), 0.2, np.float32)
    some.step(actions)
    moved = some.step(actions)[0]
    assert not np.array_equal(moved[1], again[1])
    assert np.array_equal(moved[3], seen[3])
    some.close()
    whole.close()


def test_only_a_batch_that_does_not_reset_itself_rests() -> None:
    with pytest.raises(RobustBCError, match="only in a batch with"):
        LaneDrivingBatch(2).rest(np.array([True, False]))
