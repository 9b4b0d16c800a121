"""Datasets appear whole or not at all, and tell what is in them."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pytest

from robust_bc import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.collecting import collect
from robust_bc_demos.datasets import DatasetPlan, Recorded, check_free, local_datasets, write_dataset
from robust_bc_demos.mixing.datasets import MixRequest, mix
from robust_bc_demos.summary import draw_summary, histograms, summarise
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import find_task

DRIVING = find_task("lane-driving")


@pytest.mark.parametrize("name", ["a/b-v0", "a-v", "ours/b", "our ones/b-v0", "/b-v0", "ours/-v0", "ours/b-v0.1", ""])
def test_an_id_that_minari_does_not_take_is_told_what_is_allowed(name: str) -> None:
    with pytest.raises(RobustBCError) as told:
        check_free(name, overwrite=False)
    assert str(told.value) == (
        f"'{name}' is not the id of a dataset; an id looks like mine/demos-v0: a namespace of at least two characters"
        " and a slash, or neither, then a name and a version such as -v0, all of letters, digits, - and _."
    )


@pytest.mark.parametrize("name", ["ab/b-v0", "b-v0", "a/b/c-v0", "my-own_1/b-v12", "__/x-v0"])
def test_an_id_that_is_allowed_is_taken(name: str, datasets: Path) -> None:
    assert check_free(name, overwrite=False) == datasets / name


def test_a_dataset_is_never_overwritten_by_accident(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    before = (datasets / "our/x-v0/data/main_data.hdf5").read_bytes()
    with pytest.raises(RobustBCError, match="'our/x-v0' is there already"):
        collect("lane-driving", "careless", "our/x-v0", episodes=1)
    assert (datasets / "our/x-v0/data/main_data.hdf5").read_bytes() == before
    collect("lane-driving", "careless", "our/x-v0", episodes=2, overwrite=True)
    assert minari.load_dataset("our/x-v0").total_episodes == 2
    assert sorted(path.name for path in datasets.rglob("*") if path.name.startswith(".")) == []


def test_replacing_a_mix_leaves_no_labels_behind(datasets: Path) -> None:
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, episodes=1), "our/x-v0")
    assert Demonstrations.from_minari("our/x-v0", labels=True).corrupt is not None
    collect("lane-driving", "safe", "our/x-v0", episodes=1, overwrite=True)
    with pytest.raises(RobustBCError, match="nobody knows which pairs"):
        Demonstrations.from_minari("our/x-v0", labels=True)


def test_what_breaks_midway_leaves_nothing(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    worlds = make_batch(DRIVING, 1)
    seen, done = boxes(worlds)
    plan = DatasetPlan("our/x-v0", DRIVING, seen, done, "", "")
    episode = Episode(0, np.zeros((3, 4), np.float32), np.zeros((2, 1), np.float32), np.zeros(2), True)

    def broken() -> Any:
        yield Recorded(episode, "a", "a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(plan, broken(), overwrite=True)
    assert minari.load_dataset("our/x-v0").total_steps > 2  # the old one
    with pytest.raises(KeyboardInterrupt):
        write_dataset(DatasetPlan("our/new-v0", DRIVING, seen, done, "", ""), broken())
    assert [row["dataset"] for row in local_datasets().rows] == ["our/x-v0"]
    assert not list(datasets.glob(".*"))


def test_a_failed_replacement_brings_the_old_dataset_back(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    rename, calls = Path.rename, []

    def failing(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(RobustBCError, match=r"cannot be written: .*No space left.*; nothing was changed"):
        collect("lane-driving", "safe", "our/x-v0", episodes=2, overwrite=True)
    monkeypatch.undo()
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(datasets))
    assert minari.load_dataset("our/x-v0").total_episodes == 1
    assert not list(datasets.glob(".*"))


def test_ctrl_c_while_datasets_are_exchanged_waits(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=1)
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect("lane-driving", "safe", "our/x-v0", episodes=2, overwrite=True)
    assert minari.load_dataset("our/x-v0").total_episodes == 2


def test_a_full_disk_is_said_before_hdf5_meets_it(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 4 * 2**20))
    with pytest.raises(RobustBCError, match=r"the disk of .* is full; nothing was written"):
        collect("lane-driving", "safe", "our/x-v0", episodes=1)
    assert not list(datasets.glob(".*"))


def test_a_summary_tells_sources_returns_and_histograms(datasets: Path, tmp_path: Path) -> None:
    collect("lane-driving", "careless", "our/x-v0", episodes=4)
    summary = summarise("our/x-v0")
    pairs = Demonstrations.from_minari("our/x-v0")
    (source,) = summary.sources
    assert (source.source, source.episodes, source.pairs) == ("careless", 4, len(pairs))
    returns = [episode.rewards.sum() for episode in minari.load_dataset("our/x-v0").iterate_episodes()]
    assert source.return_mean == pytest.approx(np.mean(returns))
    assert source.return_std == pytest.approx(np.std(returns))
    assert set(source.metrics) == {metric.name for metric in DRIVING.metrics}
    assert summary.counts.sum() == len(pairs)
    assert summary.edges[0, 0] == pytest.approx(-np.pi / 4)
    assert summary.corrupt_known is None
    draw_summary(summary, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000


def test_histograms_of_numbers_beyond_measure() -> None:
    """Bounds that are none, and actions that are not finite or whose range is beyond the largest number."""
    actions = np.array([[1e308, np.inf, 0.0, 1e15], [-1e308, np.nan, 1.0, 1e15 + 0.125], [0.0, np.nan, 0.25, 1e15]])
    unbounded = np.full(4, np.inf)
    edges, counts = histograms(actions, -unbounded, unbounded)
    assert counts.sum(axis=1).tolist() == [3, 0, 3, 3]
    assert (counts[0, 0], counts[0, -1], counts[2, 6]) == (1, 1, 1)
    assert np.isfinite(edges).all()
    assert edges[0, 0] == -1e308
