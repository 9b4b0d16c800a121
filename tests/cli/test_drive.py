"""`robust-bc drive` as a person meets it: a real window on a virtual screen, with real keys."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import minari
import numpy as np
import pytest

import robust_bc_envs
from robust_bc import Demonstrations
from robust_bc.evaluation.rollouts import episode_seeds
from robust_bc_envs.lanes.drawing_panels import TONES
from tests.driving_person import Person, driving_person

SHORT = ("--length", "8", "--cars", "0")
"""Less than a second of driving."""
NAME = "mine/driven-v0"


def drive(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-m", "robust_bc.cli.main", "drive", *arguments],
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "minari"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    return folder


def keep_one(person: Person) -> None:
    person.start()
    person.wait_for("finished")
    person.press("Return")
    person.wait_for("waiting, 1 saved")


def test_two_episodes_one_discarded_one_kept(datasets: Path, tmp_path: Path) -> None:
    road = ("--lanes", "2", "--cars", "0", "--length", "40", "--seed", "5")
    arguments = ("--mode", "careless", "--dataset", NAME, *road)
    with driving_person(*arguments, datasets=datasets) as person:
        person.start("Left")
        person.hold("Left")
        person.wait_for("finished")
        person.let_go("Left")
        person.look().save(tmp_path / "finished.png")
        person.press("BackSpace")
        person.wait_for("waiting, 0 saved")
        assert not list(datasets.rglob("*.hdf5"))
        person.start("Right")
        person.press("Up", "p")
        person.wait_for("paused")
        seen = np.asarray(person.look().convert("RGB")).reshape(-1, 3)
        person.press("p", "Down")
        person.wait_for("finished")
        person.press("Return")
        person.wait_for("waiting, 1 saved")
        person.start()
        person.press("Escape")  # in the middle of an episode, which is not kept
        code, out, err = person.end()
    assert (code, err) == (0, "")
    red = np.round(np.array(TONES["bad"][:3]) * 255)
    assert (seen == red).all(-1).sum() > 200, "the mode is shown in its colour"

    dataset = minari.load_dataset(NAME)
    assert dataset.total_episodes == 1
    assert out.splitlines()[0].startswith(f"saved 1 episode: {dataset.total_steps} pairs, ")
    assert out.splitlines()[1:] == [f"dataset: {NAME}", f"next: robust-bc show {NAME}"]
    (episode,) = dataset.iterate_episodes()
    (about,) = dataset.storage.get_episode_metadata([0])
    assert (about["source"], about["teacher"], about["seed"]) == ("human", "human-careless", episode_seeds(5, 1)[0])
    assert dataset.env_spec.id == robust_bc_envs.LANE_DRIVING
    assert dataset.env_spec.kwargs == {"lanes": 2, "length": 40.0, "cars": 0}
    assert "robust-bc drive --mode careless" in dataset.storage.metadata["algorithm_name"]
    world = dataset.recover_environment()
    assert (world.observation_space, world.action_space) == (dataset.observation_space, dataset.action_space)
    observation, _ = world.reset(seed=int(about["seed"]))
    assert (observation == episode.observations[0]).all()
    for step, action in enumerate(episode.actions):
        assert dataset.action_space.contains(action)
        observation, reward, over, _, told = world.step(action)
        assert (observation == episode.observations[step + 1]).all()
        assert reward == episode.rewards[step]
        assert over == episode.terminations[step]
    assert not episode.truncations.any()
    assert told[about["outcome"]]
    assert np.ptp(episode.actions) > 0.05, "both keys have steered"
    assert len(Demonstrations.from_minari(NAME)) == len(episode.actions)


@pytest.mark.parametrize(
    ("finish", "code"),
    [
        (lambda person: person.close_window(), 0),
        (lambda person: person.process.send_signal(signal.SIGINT), 130),
        (lambda person: person.process.send_signal(signal.SIGTERM), 130),
        (lambda person: person.process.kill(), -signal.SIGKILL),
    ],
    ids=["window closed", "SIGINT", "SIGTERM", "SIGKILL"],
)
def test_what_was_kept_stays_however_the_session_ends(
    finish: Callable[[Person], None], code: int, datasets: Path
) -> None:
    with driving_person("--mode", "safe", "--json", *SHORT, datasets=datasets) as person:
        keep_one(person)
        person.start()
        finish(person)
        ended, out, err = person.end()
    assert ended == code, err
    dataset = minari.load_dataset("human/lane-driving-safe-v0")
    assert dataset.total_episodes == 1
    if code >= 0:
        told = {"dataset": dataset.id, "episodes": 1, "pairs": dataset.total_steps, "collisions": 0}
        assert json.loads(out) == told
        assert err == ("robust-bc: interrupted.\n" if code else "")
        assert sorted(path.name for path in datasets.iterdir()) == ["human"]


def test_the_session_ends_after_the_episodes_that_were_asked_for(datasets: Path, dataset: str) -> None:
    assert minari.load_dataset(dataset).total_episodes == 10
    arguments = ("--mode", "safe", "--dataset", dataset, "--overwrite", "--episodes", "2", *SHORT)
    with driving_person(*arguments, datasets=datasets) as person:
        assert minari.load_dataset(dataset).total_episodes == 10, "nothing is replaced before there is something new"
        keep_one(person)
        person.start()
        person.wait_for("finished")
        person.press("space")
        code, out, err = person.end()
    assert (code, err) == (0, "")
    assert out.startswith("saved 2 episodes: ")
    again = minari.load_dataset(dataset)
    assert [about["seed"] for about in again.storage.get_episode_metadata(range(2))] == episode_seeds(0, 2)


def test_without_a_kept_episode_nothing_is_written(datasets: Path) -> None:
    with driving_person("--mode", "safe", datasets=datasets) as person:
        person.start()
        person.press("Escape")
        code, out, err = person.end()
    assert (code, out, err) == (0, "", "no episode was kept, so nothing is written.\n")
    assert not [path for path in datasets.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mode", "safe"], "no window can be opened here (there is no display)"),
        (["--mode", "safe", "--dataset", "test/pairs-v0"], "dataset 'test/pairs-v0' is there already"),
        (["--mode", "safe", "--dataset", "pairs"], "'pairs' is not the id of a dataset"),
        (["--mode", "safe", "--cars", "9"], "200 m have room for 6"),
        (["--mode", "safe", "--lanes", "0"], "lanes"),
        (["--mode", "safe", "--episodes", "-1"], "--episodes must be 0 or more, but it is -1"),
        (["--mode", "safe", "--seed", "-1"], "seed must be a whole number"),
        (["--mode", "fast"], "invalid choice 'fast' for argument '--mode'"),
        ([], "Missing from robust-bc drive: --mode"),
    ],
)
def test_bad_input_is_one_sentence_before_any_window(
    arguments: list[str], message: str, dataset: str, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = drive(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_help_has_the_keys_and_an_example() -> None:
    done = drive("--help")
    assert done.returncode == 0
    assert "Example: robust-bc drive --mode" in done.stdout
    assert all(key in done.stdout for key in ("←", "Enter", "Backspace", "Esc"))
