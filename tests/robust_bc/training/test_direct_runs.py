"""Runs of methods that are computed in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc import RobustBCError, load_policy
from robust_bc.training.runs import train_run
from tests.conftest import make_pairs


def test_a_run_of_what_is_computed_in_one_go(tmp_path: Path) -> None:
    pairs = make_pairs(0, 40)
    told: list[Any] = []
    policy = train_run(tmp_path / "run", pairs, source="test", method="gpr", device="cpu", progress=told.append)
    assert policy.history is None
    assert [(state.done, state.total, state.loss) for state in told] == [(1, 1, None)]
    loaded = load_policy(tmp_path / "run", device="cpu")
    assert np.array_equal(loaded.predict(pairs.observations)[0], policy.predict(pairs.observations)[0])
    again = train_run(tmp_path / "run", pairs, source="test", method="gpr", device="cpu", resume=True)
    assert np.array_equal(again.predict(pairs.observations)[0], policy.predict(pairs.observations)[0])


def test_a_run_computed_in_one_go_is_not_resumed_with_other_data(tmp_path: Path) -> None:
    train_run(tmp_path, make_pairs(0, 40), source="test", method="gpr", device="cpu")
    with pytest.raises(RobustBCError, match="was started with another set of pairs"):
        train_run(tmp_path, make_pairs(1, 40), source="test", method="gpr", device="cpu", resume=True)


def test_too_many_pairs_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match="max_pairs"):
        train_run(tmp_path / "run", make_pairs(0, 40), source="test", method="lgpr", device="cpu", max_pairs=30)
    assert not (tmp_path / "run").exists()
