from __future__ import annotations

import dataclasses
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from minari import create_dataset_from_buffers
from minari.data_collector import EpisodeBuffer

from robust_bc import Demonstrations, method_names
from robust_bc.data.json_files import sealed
from robust_bc.methods import get_method
from robust_bc.methods.network import NetworkMethod
from robust_bc.system.files import write_json

QUICK: dict[str, Any] = {"steps": 60, "batch_size": 32, "hidden": (16, 16)}
"""Settings under which a fit takes a moment; for tests of mechanics, not of learning."""


def known_settings(method: str, **given: Any) -> dict[str, Any]:
    """Those of the given settings that the method has: a Gaussian process takes no steps."""
    known = {field.name for field in dataclasses.fields(get_method(method).settings_type)}
    return {name: value for name, value in given.items() if name in known}


def network_method(name: str) -> NetworkMethod[Any]:
    """The method of that name, which trains networks."""
    method = get_method(name)
    assert isinstance(method, NetworkMethod)
    return method


NETWORK_METHODS = tuple(name for name in method_names() if isinstance(get_method(name), NetworkMethod))


def quick(method: str) -> dict[str, Any]:
    """Settings under which a fit of this method takes a moment."""
    return known_settings(method, **QUICK)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody says, networks are small and train briefly."""
    small = {"HIDDEN": (64, 64), "BATCH_SIZE": 128, "FEWEST_STEPS": 400, "MOST_STEPS": 400}
    for name, value in small.items():
        monkeypatch.setattr(f"robust_bc.training.budget.{name}", value)


def change_config(folder: Path, entry: str, change: dict[str, Any]) -> None:
    """Of a saved policy, under a seal that fits."""
    content = json.loads((folder / "config.json").read_text())
    content.pop("sha256")
    content[entry] |= change
    write_json(folder / "config.json", sealed(content))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_works() -> None:
    """Whoever starts the tests in the background makes them, and all that they start, deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def pairs() -> Demonstrations:
    """200 pairs of 3 observations and 2 actions, in 10 episodes."""
    return make_pairs(0)


def make_pairs(seed: int, count: int = 200) -> Demonstrations:
    generator = np.random.default_rng(seed)
    observations = generator.normal(size=(count, 3))
    actions = observations @ generator.normal(size=(3, 2)) + 0.1 * generator.normal(size=(count, 2))
    return Demonstrations.from_arrays(observations, actions, episodes=np.arange(count) // 20)


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: Demonstrations) -> str:
    """The same pairs as a local Minari dataset of that id."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return make_dataset(pairs)


def make_dataset(pairs: Demonstrations, name: str = "test/pairs-v0") -> str:
    buffers = []
    for episode in np.unique(pairs.episodes):
        mine = pairs.episodes == episode
        length = int(mine.sum())
        observations = np.concatenate([pairs.observations[mine], np.full((1, 3), 99.0)])  # the last has no action
        buffers.append(
            EpisodeBuffer(
                id=int(episode),
                observations=list(observations),
                actions=list(pairs.actions[mine]),
                rewards=[0.0] * length,
                terminations=[False] * length,
                truncations=[False] * (length - 1) + [True],
            )
        )
    create_dataset_from_buffers(
        name,
        buffer=buffers,
        observation_space=spaces.Box(-np.inf, np.inf, (3,), np.float64),
        action_space=spaces.Box(-1.0, 1.0, (2,), np.float64),
        algorithm_name="test",
        author="test",
        author_email="test@example.org",
        code_permalink="none",
        description="made for a test",
    )
    return name
