"""Whether two vector environments say the same, to the bit."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray


def assert_same(mine: Any, theirs: Any, where: str = "") -> None:
    """Equal to the bit, with equal types, through tuples, dictionaries and arrays of objects."""
    if isinstance(theirs, dict):
        assert mine.keys() == theirs.keys(), where
        for key in theirs:
            assert_same(mine[key], theirs[key], f"{where}.{key}")
    elif isinstance(theirs, tuple):
        assert len(mine) == len(theirs), where
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(one, other, f"{where}[{index}]")
    elif isinstance(theirs, np.ndarray) and theirs.dtype == object:
        for one, other in zip(mine, theirs, strict=True):
            assert_same(one, other, where)
    elif theirs is None:
        assert mine is None, where
    else:
        assert mine.dtype == theirs.dtype, where
        assert np.array_equal(mine, theirs, equal_nan=True), where


def run(worlds: gymnasium.vector.VectorEnv[Any, Any, Any], actions: NDArray[Any]) -> list[Any]:
    """All that the worlds say, with resets by mask where they do not reset themselves."""
    said: list[Any] = [worlds.reset(seed=11)]
    for action in actions:
        said.append(worlds.step(action))
        ended = said[-1][2] | said[-1][3]
        if worlds.metadata["autoreset_mode"] == AutoresetMode.DISABLED and ended.any():
            said.append(worlds.reset(options={"reset_mask": ended}))
    worlds.close()
    return said
