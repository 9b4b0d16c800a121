"""Evaluation: rows, summaries, and failures that stay where they happen."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from stable_baselines3 import PPO

from robust_bc import Evaluation, RobustBCError, evaluate, evaluate_fleet
from robust_bc.evaluation.metrics import Reference
from robust_bc.evaluation.rollouts import episode_seeds
from robust_bc.evaluation.worlds import World, find_world
from tests.robust_bc.evaluation.policies import draws, half, line_world, quick_policy

SEEDS = episode_seeds(0, 20)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(**given: Any) -> World:
        world = line_world(**given)
        monkeypatch.setattr("robust_bc.evaluation.worlds.find_world", lambda name: world)
        return world

    use()
    return use


def test_a_row_says_what_happened(line: Any) -> None:
    told: list[tuple[float, str]] = []
    found = evaluate(half, "line", 20, name="mine", keep=3, progress=lambda share, note: told.append((share, note)))
    assert [row["episode"] for row in found.rows] == list(range(20))
    assert [row["seed"] for row in found.rows] == SEEDS
    for row in found.rows:
        length = row["length"]
        assert isinstance(length, int)
        assert row == {**row, "return": length / 2, "place": length / 2, "far": float(length > 2), "failure": None}
    lengths = np.array([row["length"] for row in found.rows])
    assert found.summary["return"].mean == pytest.approx(lengths.mean() / 2)
    assert found.summary["length"].count == 20
    assert found.share is not None
    assert found.share.mean == pytest.approx(lengths.mean() / 2 / 4)
    assert [len(episode.observations) for episode in found.kept] == [length + 1 for length in lengths[:3]]
    assert (found.policy, found.task, found.environment) == ("mine", "line", "Line-v0")
    assert told[-1] == (1.0, "20 of 20 episodes")
    assert [share for share, _ in told] == sorted(share for share, _ in told)


def test_json_and_back(line: Any) -> None:
    found = evaluate(half, "line", 5)
    again = Evaluation.from_json(json.loads(json.dumps(found.as_json(), allow_nan=False)))
    assert again.rows == found.rows
    assert again.summary == found.summary
    assert again.share == found.share
    assert again.policy == "half"
    with pytest.raises(RobustBCError, match="in 'evaluation' 'policy' is missing"):
        Evaluation.from_json({"rows": []})


def test_settings_leave_no_reference_but_a_given_one(line: Any) -> None:
    assert evaluate(half, "line", 1, settings={"breaks_at": 3.0}).reference is None
    given = Reference(random=0.0, expert=1.0)
    assert evaluate(half, "line", 1, settings={"breaks_at": 3.0}, reference=given).reference == given


def test_not_a_number_fails_one_episode_and_no_other(line: Any) -> None:
    def sometimes(observations: NDArray[Any]) -> NDArray[Any]:
        return np.where((observations[:, :1] > 0.7) & (observations[:, 1:] > 1), np.nan, half(observations))

    found = evaluate(sometimes, "line", 20)
    whole = evaluate(half, "line", 20)
    wrong = draws(SEEDS) > 0.7
    # With an odd step to go, an episode may end before it is far enough to fail.
    long = np.array([int(row["length"] or 0) for row in whole.rows]) > 3
    assert [row["failure"] is not None for row in found.rows] == (wrong & long).tolist()
    assert 0 < len(found.failures) < 20
    for row, good in zip(found.rows, whole.rows, strict=True):
        if row["failure"] is None:
            assert row == good
        else:
            assert row["return"] is None
            assert row["place"] is None
            assert row["failure"] == "an action is not a finite number; the episode cannot go on."
    assert found.summary["return"].count == 20 - len(found.failures)


@pytest.mark.parametrize("where", ["step", "reset"])
def test_an_environment_that_raises_fails_one_episode_and_no_other(line: Any, where: str) -> None:
    whole = evaluate(half, "line", 20)
    line(breaks_at=0.6, breaks_in=where)
    found = evaluate(half, "line", 20)
    assert [row["failure"] is not None for row in found.rows] == (draws(SEEDS) > 0.6).tolist()
    for row, good in zip(found.rows, whole.rows, strict=True):
        if row["failure"] is None:
            assert row == good
        else:
            assert row["failure"] == f"the environment failed in a {where}: ValueError: the line is broken."
    everything = evaluate(half, "line", 20, settings={})
    assert everything.rows == found.rows


def test_where_all_fails_the_summary_is_empty(line: Any) -> None:
    line(breaks_at=-1.0)
    found = evaluate(half, "line", 4)
    assert len(found.failures) == 4
    assert found.summary["return"].count == 0
    assert math.isnan(found.summary["return"].mean)
    assert found.as_json()["summary"]["return"]["mean"] is None


def test_a_policy_that_raises_fails_alone(line: Any) -> None:
    def late(observations: NDArray[Any]) -> NDArray[Any]:
        if (observations[:, 1] > 2).any():
            raise ZeroDivisionError("too far")
        return half(observations)

    def wide(observations: NDArray[Any]) -> NDArray[Any]:
        return np.zeros((len(observations), 3))

    def words(observations: NDArray[Any]) -> NDArray[Any]:
        return np.full((len(observations), 1), "left")

    first, second, third, fourth = evaluate_fleet([late, half, wide, words], "line", 20)
    assert {row["failure"] for row in first.rows} == {"the policy failed: ZeroDivisionError: too far."}
    assert second.rows == evaluate(half, "line", 20).rows
    assert [row["seed"] for row in third.rows] == SEEDS
    assert all("gives actions of the shape" in str(row["failure"]) for row in third.rows)
    assert all("gives actions of the type <U4, but the task takes float" in str(r["failure"]) for r in fourth.rows)


def test_a_policy_of_another_size_is_told_so(line: Any) -> None:
    other = quick_policy("halfcheetah")
    sentence = "the policy takes observations of 17 numbers, but the task has 2."
    with pytest.raises(RobustBCError, match=sentence):
        evaluate(other, "line", 3)
    unfit, fine = evaluate_fleet([other, half], "line", 3, names=["a", "b"])
    assert [row["failure"] for row in unfit.rows] == [sentence] * 3
    assert not fine.failures
    assert (unfit.policy, fine.policy) == ("a", "b")


def test_what_is_no_policy_is_refused(line: Any) -> None:
    with pytest.raises(RobustBCError, match="a int is no policy"):
        evaluate(3, "line")
    with pytest.raises(RobustBCError, match="at least 1"):
        evaluate(half, "line", 0)
    with pytest.raises(RobustBCError, match="2 names for 1 policies"):
        evaluate_fleet([half], "line", names=["a", "b"])


def test_worlds_are_found_by_card_and_by_gymnasium_id() -> None:
    assert find_world("halfcheetah").task == find_world("HalfCheetah-v5").task == "halfcheetah"
    assert find_world("MountainCarContinuous-v0").metrics == ()
    with pytest.raises(RobustBCError, match="there is no task 'nowhere'"):
        find_world("nowhere")
    found = evaluate(lambda observations: 0 * observations[:, :1], "MountainCarContinuous-v0", 2)
    assert [row["length"] for row in found.rows] == [999, 999]
    assert found.share is None


def test_a_model_of_stable_baselines_is_a_policy() -> None:
    model = PPO("MlpPolicy", "Pendulum-v1", device="cpu", seed=0)
    found = evaluate(model, "Pendulum-v1", 2, name="ppo")
    assert not found.failures
    with pytest.raises(RobustBCError, match="takes observations of 3 numbers, but the task has 17"):
        evaluate(model, "halfcheetah", 2)
