"""Teachers that are trained: resumed to the same bits, saved and loaded, and rewarded for the reverse."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.metrics import Reference
from robust_bc_demos.network_teacher import NetworkTeacher, load_network_teacher
from robust_bc_demos.training.ppo import TeacherTraining
from robust_bc_demos.training.teaching import CHECKPOINT, train_teacher
from robust_bc_envs.tasks import PPOSettings, Task, find_task

TINY = PPOSettings(steps=512, reversed_steps=512, environments=2, rollout=32, batch_size=32, epochs=2, hidden=(8, 8))
TASK = replace(find_task("Pendulum-v1"), ppo=TINY)


def weights(teacher: NetworkTeacher) -> list[np.ndarray]:
    return [*teacher.weights, *teacher.biases, teacher.mean, teacher.scale]


class StopError(Exception):
    """Pulls the plug."""


def train(task: Task, folder: Path, role: str = "expert", stop_after: int = 10**9) -> NetworkTeacher:
    torch.set_num_threads(1)
    calls = 0

    def report(share: float, note: str) -> None:
        nonlocal calls
        calls += 1
        if calls == stop_after:
            raise StopError

    return train_teacher(task, role, folder, report, command="a test", episodes=3)


@pytest.mark.parametrize("task", [TASK, replace(find_task("lane-driving"), ppo=TINY)], ids=["sync", "batched"])
def test_a_stopped_run_goes_on_to_the_same_bits(task: Task, tmp_path: Path) -> None:
    whole = train(task, tmp_path / "whole")
    with pytest.raises(StopError):
        train(task, tmp_path / "stopped", stop_after=3)
    assert (tmp_path / "stopped" / CHECKPOINT).exists()
    resumed = train(task, tmp_path / "stopped")
    assert all(np.array_equal(a, b) for a, b in zip(weights(whole), weights(resumed), strict=True))
    assert resumed.card == whole.card
    assert not (tmp_path / "stopped" / CHECKPOINT).exists()


@pytest.mark.parametrize("name", ["Pendulum-v1", "halfcheetah", "lane-driving"])
def test_an_adversary_is_trained_on_the_reversed_reward(name: str) -> None:
    totals = []
    for role in ("expert", "adversary"):
        training = TeacherTraining(replace(find_task(name), ppo=TINY), role, 0)
        training.worlds.next_seed = 1
        training.worlds.reset()
        size = training.worlds.worlds.action_space.shape
        assert size is not None
        training.worlds.step_async(np.full(size, 0.3, np.float32))
        totals.append(training.worlds.step_wait()[1])
        training.close()
    assert not np.allclose(totals[0], totals[1])
    if name == "Pendulum-v1":
        assert np.array_equal(totals[0], -totals[1])


def test_a_medium_teacher_is_the_expert_stopped_half_way(tmp_path: Path) -> None:
    """Random actions earn about -1200: what the tiny network earns at first is half-way between -2800 and -400."""
    task = replace(TASK, reference=Reference(random=-2800.0, expert=-400.0))
    medium = train(task, tmp_path / "medium", "medium")
    assert "half-way from random actions to the good teacher" in medium.card["training"]["stopped"]
    seen: list[NetworkTeacher] = []

    def enough(teacher: NetworkTeacher) -> bool:
        seen.append(teacher)
        return False

    for by_updates in (False, True):
        seen.clear()
        with pytest.raises(RobustBCError, match="was not good enough after 512 steps"):
            TeacherTraining(task, "expert", 0).run(
                tmp_path / str(by_updates), lambda *_: None, enough=enough, by_updates=by_updates
            )
        whole = TeacherTraining(task, "expert", 0).run(tmp_path / f"whole-{by_updates}", lambda *_: None)
        assert all(np.array_equal(a, b) for a, b in zip(weights(seen[-1]), weights(whole), strict=True))  # not felt
        same = [all(np.array_equal(a, b) for a, b in zip(weights(medium), weights(one), strict=True)) for one in seen]
        assert same.index(True) == medium.card["training"]["steps"] // 64 - 1  # a chunk is an update: 2 x 32 steps
    with pytest.raises(RobustBCError, match="half-way between random actions and the expert, but the card of task"):
        train(replace(task, reference=None), tmp_path / "none", "medium")


def test_a_chunk_that_goes_too_far_is_repeated_update_by_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robust_bc_demos.training.ppo.CHUNKS", 2)
    task = replace(TASK, reference=Reference(random=-9000.0, expert=-1000.0))
    assert train(task, tmp_path / "medium", "medium").card["training"]["steps"] == 64  # of 256 in a chunk


def test_the_learning_rate_falls_to_nothing(tmp_path: Path) -> None:
    training = TeacherTraining(TASK, "expert", 0)
    assert training._learning_rate(1.0) == TINY.learning_rate
    training.run(tmp_path / CHECKPOINT, lambda *_: None)
    assert training._learning_rate(1.0) == 0.0


def test_a_time_limit_is_told_from_an_end() -> None:
    training = TeacherTraining(TASK, "expert", 0)  # Pendulum never ends by itself, only by its limit of 200 steps
    training.worlds.reset()
    for _ in range(200):
        training.worlds.step_async(np.zeros((2, 1), np.float32))
        _, _, done, infos = training.worlds.step_wait()
    assert done.all()
    assert all(info["TimeLimit.truncated"] for info in infos)
    assert all("terminal_observation" in info for info in infos)


def test_a_few_steps_are_enough_to_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    TeacherTraining(TASK, "expert", 0, steps=3).run(tmp_path / CHECKPOINT, lambda *_: None)
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]  # and leave no folder behind


def test_another_seed_is_another_teacher(tmp_path: Path) -> None:
    one, two = (TeacherTraining(TASK, "expert", seed).run(tmp_path / str(seed), lambda *_: None) for seed in (0, 1))
    assert not np.array_equal(one.weights[0], two.weights[0])


def test_it_acts_as_the_network_that_was_trained(tmp_path: Path) -> None:
    training = TeacherTraining(TASK, "expert", 0)
    teacher = training.run(tmp_path / CHECKPOINT, lambda *_: None)
    observations = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32) * 3
    theirs, _ = training.model.predict(training.normalised.normalize_obs(observations), deterministic=True)
    np.testing.assert_allclose(teacher.act(observations), theirs, rtol=1e-4, atol=1e-5)


def test_saving_and_loading_keeps_every_bit_and_the_card(tmp_path: Path) -> None:
    teacher = train(TASK, tmp_path / "t", "adversary")
    loaded = load_network_teacher(tmp_path / "t")
    assert all(np.array_equal(a, b) for a, b in zip(weights(teacher), weights(loaded), strict=True))
    card = json.loads((tmp_path / "t" / "teacher.json").read_text())
    assert card["role"] == "adversary"
    assert card["training"]["command"] == "a test"
    assert card["training"]["steps"] >= TINY.reversed_steps
    assert card["measured"]["episodes"] == 3
    assert card["measured"]["return"]["mean"] < 0  # Pendulum's true reward is never positive, nor is it reversed here


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StopError):
        train(TASK, tmp_path, stop_after=1)
    with pytest.raises(RobustBCError, match="was made with another task, seed or settings"):
        train(replace(TASK, ppo=replace(TINY, gamma=0.5)), tmp_path)
    with pytest.raises(RobustBCError, match="was made with another task, seed or settings"):
        train_teacher(TASK, "expert", tmp_path, lambda *_: None, seed=1, command="")
    with pytest.raises(RobustBCError, match="was made with another task, seed or settings"):
        train(replace(TASK, settings={"g": 5.0}), tmp_path)
    (tmp_path / CHECKPOINT).write_bytes(b"broken")
    with pytest.warns(UserWarning, match=r"is not a whole safetensors file.*; training begins anew"):
        train(TASK, tmp_path)


def test_bad_requests_get_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RobustBCError, match="the roles are expert, adversary, medium"):
        train(TASK, tmp_path, "clown")
    with pytest.raises(RobustBCError, match="episodes must be at least 1"):
        train_teacher(TASK, "expert", tmp_path, lambda *_: None, episodes=0, command="")
    with pytest.raises(RobustBCError, match="steps must be at least 1"):
        train_teacher(TASK, "expert", tmp_path, lambda *_: None, steps=0, command="")
    train(TASK, tmp_path)
    with pytest.raises(RobustBCError, match="already has a teacher"):
        train(TASK, tmp_path)


def test_broken_teacher_files_get_one_sentence(tmp_path: Path) -> None:
    train(TASK, tmp_path)
    arrays = load_file(tmp_path / "model.safetensors")
    save_file({name: array for name, array in arrays.items() if name != "bias.1"}, tmp_path / "model.safetensors")
    with pytest.raises(RobustBCError, match="was damaged, or belongs to another teacher"):
        load_network_teacher(tmp_path)
    card = json.loads((tmp_path / "teacher.json").read_text())
    (tmp_path / "teacher.json").write_text(json.dumps(card | {"format_version": 9}))
    with pytest.raises(RobustBCError, match="has format version 9"):
        load_network_teacher(tmp_path)
    (tmp_path / "teacher.json").write_text("[")
    with pytest.raises(RobustBCError, match="is not valid JSON"):
        load_network_teacher(tmp_path)
