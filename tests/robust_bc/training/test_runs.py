"""Runs in a folder: what they leave behind, and that a stop changes nothing."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from robust_bc import Demonstrations, RobustBCError, load_policy
from robust_bc.training.progress import Progress
from robust_bc.training.runs import train_run
from tests.conftest import QUICK, make_pairs

RUN: dict[str, Any] = {**QUICK, "steps": 200, "members": 2, "restarts": 2, "early_stopping": True, "evaluate_every": 20}


class Killed(BaseException):
    """Stands for kill -9 inside one process: nothing may clean up after it."""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes by one second per look at the clock, so that every third block or so is saved."""
    ticks = itertools.count()
    monkeypatch.setattr("robust_bc.training.runs.time.monotonic", lambda: float(next(ticks)))


def start(folder: Path, pairs: Demonstrations, stop_at: int | None = None, **changes: Any) -> None:
    def watch(progress: Progress) -> None:
        if stop_at is not None and progress.done >= stop_at:
            raise Killed

    train_run(
        folder,
        pairs,
        source="test",
        device="cpu",
        progress=watch,
        **{"method": "choicenet", "checkpoint_seconds": 3, **RUN, **changes},
    )


def test_a_run_leaves_everything_behind(tmp_path: Path, pairs: Demonstrations) -> None:
    start(tmp_path / "run", pairs)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "run.json",
        "history.csv",
        "checkpoints",
        "tensorboard",
        "policy",
    }
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["finished"] is True
    assert about["settings"]["tau_inverse"] == 1e-2
    assert about["versions"]["torch"] == torch.__version__
    assert any((tmp_path / "run" / "tensorboard").iterdir())
    assert load_policy(tmp_path / "run").members == 2  # a run folder can be loaded as it is
    assert (tmp_path / "run" / "history.csv").read_text().count("held_out") == 10 * 4


@pytest.mark.parametrize("stop_at", [25, 75, 150, 199])
@pytest.mark.parametrize("method", ["choicenet", "mlp"])
def test_stopped_and_resumed_is_the_same_to_the_bit(
    tmp_path: Path, pairs: Demonstrations, stop_at: int, method: str
) -> None:
    start(tmp_path / "whole", pairs, method=method)
    with pytest.raises(Killed):
        start(tmp_path / "stopped", pairs, stop_at, method=method)
    assert json.loads((tmp_path / "stopped" / "run.json").read_text())["finished"] is False
    saved = tmp_path / "stopped" / "checkpoints" / "latest.safetensors"
    assert saved.exists() == (stop_at >= 75)  # once with none, else with one that lies behind
    start(tmp_path / "stopped", pairs, resume=True, method=method)
    assert_same(tmp_path / "whole", tmp_path / "stopped")


def test_resume_goes_on_and_does_not_start_anew(tmp_path: Path, pairs: Demonstrations) -> None:
    with pytest.raises(Killed):
        start(tmp_path, pairs, 100)
    assert shown_steps(tmp_path) == [25, 50, 75, 100]
    (events,) = (tmp_path / "tensorboard").iterdir()
    events.rename(events.with_name("events.out.tfevents.1.77.robust-bc"))  # as another process would have named it
    seen: list[int] = []
    options = {**RUN, "method": "choicenet", "resume": True}
    train_run(tmp_path, pairs, source="test", device="cpu", progress=lambda state: seen.append(state.done), **options)
    assert seen[0] == 100  # the checkpoint was written at 75
    assert shown_steps(tmp_path) == [25, 50, 75, 100, 125, 150, 175, 200]
    assert shown_steps(tmp_path, "held_out/network-3") == list(range(20, 201, 20))


def test_a_write_that_was_killed_does_not_block_the_folder(tmp_path: Path, pairs: Demonstrations) -> None:
    (tmp_path / ".run.json.77.part").touch()
    start(tmp_path, pairs)
    (tmp_path / "policy" / ".config.json.77.part").touch()
    start(tmp_path, pairs, resume=True)
    assert not list(tmp_path.rglob("*.part"))


def test_a_negative_interval_is_refused(tmp_path: Path, pairs: Demonstrations) -> None:
    with pytest.raises(RobustBCError, match="checkpoint_seconds must be 0 or more"):
        start(tmp_path / "run", pairs, checkpoint_seconds=float("nan"))
    assert not (tmp_path / "run").exists()


def test_resume_of_nothing_starts(tmp_path: Path, pairs: Demonstrations) -> None:
    start(tmp_path / "new", pairs, resume=True)
    assert load_policy(tmp_path / "new").members == 2


def test_resume_of_a_finished_run_changes_nothing(tmp_path: Path, pairs: Demonstrations) -> None:
    start(tmp_path, pairs)
    before = (tmp_path / "policy" / "model.safetensors").read_bytes()
    start(tmp_path, pairs, resume=True)
    assert (tmp_path / "policy" / "model.safetensors").read_bytes() == before


def test_a_run_is_never_overwritten(tmp_path: Path, pairs: Demonstrations) -> None:
    start(tmp_path / "run", pairs)
    with pytest.raises(RobustBCError, match="already has a run; go on with it by --resume"):
        start(tmp_path / "run", pairs)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(RobustBCError, match="has other files in it"):
        start(tmp_path / "other", pairs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 300}, "started with another settings.steps; resume with the same"),
        ({"seed": 1, "members": 1}, "another number of members and seed"),
        ({"method": "mlp"}, "another method"),
    ],
)
def test_resume_with_something_else_is_refused(
    tmp_path: Path, pairs: Demonstrations, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Killed):
        start(tmp_path, pairs, 75)
    with pytest.raises(RobustBCError, match=message):
        start(tmp_path, pairs, resume=True, **changes)


def test_resume_with_other_data_is_refused(tmp_path: Path, pairs: Demonstrations) -> None:
    with pytest.raises(Killed):
        start(tmp_path, pairs, 75)
    with pytest.raises(RobustBCError, match="was started with another set of pairs"):
        start(tmp_path, make_pairs(1), resume=True)


def test_a_broken_checkpoint_is_said(tmp_path: Path, pairs: Demonstrations) -> None:
    with pytest.raises(Killed):
        start(tmp_path, pairs, 75)
    checkpoint = tmp_path / "checkpoints" / "latest.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:200])
    with pytest.warns(UserWarning, match=r"is not a whole safetensors file.*; the run begins anew"):
        start(tmp_path, pairs, resume=True)
    start(tmp_path / "never stopped", pairs)
    assert_same(tmp_path, tmp_path / "never stopped")
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(RobustBCError, match="it does not describe a run"):
        start(tmp_path, pairs, resume=True)


def assert_same(one: Path, other: Path) -> None:
    """Policy, history and the state of the optimiser."""
    assert (one / "history.csv").read_text() == (other / "history.csv").read_text()
    for name in ("policy/model.safetensors", "checkpoints/latest.safetensors"):
        tensors, others = load_file(one / name), load_file(other / name)
        assert tensors.keys() == others.keys()
        for key, tensor in tensors.items():  # a part of the loss that had no weight is NaN in the history
            torch.testing.assert_close(tensor, others[key], rtol=0, atol=0, equal_nan=True)


def shown_steps(folder: Path, tag: str = "total/network-0") -> list[int]:
    """What TensorBoard itself reads."""
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return [event.step for event in events.Scalars(tag)]
