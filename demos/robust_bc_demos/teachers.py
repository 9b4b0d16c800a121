"""Finding a teacher by name or path: shipped networks, scripted drivers, random actions, the user's own policies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from scipy.special import ndtri

from robust_bc.data.json_files import parse_json, read_json
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Actor
from robust_bc_demos.drivers import STYLES, ScriptedDriver
from robust_bc_demos.network_teacher import CARD_FILE, NetworkTeacher, load_network_teacher, read_card
from robust_bc_envs.names import LANE_DRIVING
from robust_bc_envs.tasks import Task

SHIPPED = Path(__file__).parent / "shipped"
MEDIUM = "medium"
ROLES = ("expert", "adversary", MEDIUM)
"""What PPO trains: for the reward, for its reverse, and as the first but stopped half-way."""
RANDOM = "random"
DRIVING = "lane-driving"
NO_BOUND = 1e30
DRIVERS_FILE = "drivers.json"
"""What was measured of the scripted drivers, which have no network and no folder."""


class Teacher(Actor, Protocol):
    """Acts in episodes, and says what it would do in a state that it never came to by itself."""

    @property
    def name(self) -> str:
        """The very teacher."""

    def label(self, observations: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
        """Actions (N, A) for states (N, S) that have no past."""


@dataclass
class RandomTeacher:
    """Uniform over the action space, or standard normal where that has no bounds."""

    space: spaces.Box
    name: str = RANDOM
    streams: dict[int, np.random.Generator] = field(default_factory=dict)

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        self.streams |= dict(zip(slots.tolist(), generators, strict=True))

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([random_actions(self.space, 1, self.streams[slot]) for slot in range(len(observations))])

    def label(self, observations: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
        return random_actions(self.space, len(observations), generator)


def random_actions(space: spaces.Box, count: int, generator: np.random.Generator) -> NDArray[Any]:
    """(count, A): uniform between two bounds, half a normal from a single one, and normal without any."""
    low, high = limits(space)
    below, above = np.isfinite(low), np.isfinite(high)
    draws = generator.random((count, 2, *space.shape))  # row by row: more rows begin with the same ones
    share, normal = draws[:, 0], ndtri(np.clip(draws[:, 1], 1e-12, 1 - 1e-12))
    first, last = np.where(below, low, 0.0), np.where(above, high, 0.0)
    one_sided = np.where(below, first + np.abs(normal), np.where(above, last - np.abs(normal), normal))
    uniform = first + share * (np.where(below & above, last, first) - first)
    return np.asarray(np.where(below & above, uniform, one_sided), space.dtype)


def limits(space: spaces.Box) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high (A,); bounds beyond all measure, such as the largest float, are none."""
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    return np.where(low < -NO_BOUND, -np.inf, low), np.where(high > NO_BOUND, np.inf, high)


def half_range(space: spaces.Box) -> NDArray[np.float64]:
    """(A,): half the action space, the unit of all noise; 1 where that has no bounds."""
    low, high = limits(space)
    bounded = np.isfinite(low) & np.isfinite(high)
    return np.where(bounded, (np.where(bounded, high, 2.0) - np.where(bounded, low, 0.0)) / 2, 1.0)


@dataclass(frozen=True)
class PolicyTeacher:
    """Anything with `predict(observations) -> (actions, state)`: a policy of ours, a model of Stable-Baselines3."""

    name: str
    policy: Any

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """Nothing to remember."""

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.policy.predict(observations, deterministic=True)[0])

    def label(self, observations: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
        return self.act(observations)


def shipped_cards() -> list[dict[str, Any]]:
    """The cards of all teachers that ship: networks, sorted by name, and the scripted drivers."""
    networks = [read_card(path.parent) for path in sorted(SHIPPED.glob(f"*/{CARD_FILE}"))]
    measured = read_json(SHIPPED / DRIVERS_FILE)
    drivers = [{"name": name, "task": DRIVING, "role": name, "measured": measured[name]} for name in STYLES]
    return networks + drivers


def teacher_names(task: Task) -> list[str]:
    """What `find_teacher` knows by name for a task."""
    names = [role for role in ROLES if (SHIPPED / f"{task.name}-{role}" / CARD_FILE).exists()]
    return names + (list(STYLES) if task.environment == LANE_DRIVING else []) + [RANDOM]


def find_teacher(
    task: Task, name: str, observation_space: spaces.Box, action_space: spaces.Box, *, trust_pickle: bool = False
) -> Teacher:
    """The teacher of that name, or the one in that folder or file, checked against the task's spaces."""
    if name in teacher_names(task):
        if name == RANDOM:
            return RandomTeacher(action_space)
        if name in STYLES:
            return ScriptedDriver(name)
        return _fits(load_network_teacher(SHIPPED / f"{task.name}-{name}"), observation_space, action_space)
    path = Path(os.path.expanduser(name))  # noqa: PTH111 (Path.expanduser fails for people who are not there)
    if path.suffix == ".zip" and path.is_file():
        return PolicyTeacher(str(path), _load_sb3(path, trust_pickle, observation_space, action_space))
    if (path / CARD_FILE).is_file():
        return _fits(load_network_teacher(path), observation_space, action_space)
    if any((place / "config.json").is_file() for place in (path, path / "policy")):
        from robust_bc.policies.files import load_policy

        policy = load_policy(path)
        _same_size(str(path), "observations", policy.observation_size, observation_space)
        _same_size(str(path), "actions", policy.action_size, action_space)
        return PolicyTeacher(str(path), policy)
    raise RobustBCError(
        f"task '{task.name}' has no policy '{name}'; its teachers are {', '.join(teacher_names(task))}, and a"
        " path may name a run or policy folder, a teacher's folder or a Stable-Baselines3 .zip."
    )


def _fits(teacher: NetworkTeacher, observation_space: spaces.Box, action_space: spaces.Box) -> NetworkTeacher:
    _same_size(teacher.name, "observations", len(teacher.mean), observation_space)
    _same_size(teacher.name, "actions", len(teacher.low), action_space)
    return teacher


def _same_size(name: str, what: str, size: int, space: spaces.Box) -> None:
    if (size,) != space.shape:
        raise RobustBCError(f"'{name}' takes {what} of {size} numbers, but the task has {space.shape[0]}.")


def _load_sb3(path: Path, trust_pickle: bool, observation_space: spaces.Box, action_space: spaces.Box) -> Any:
    """A model of Stable-Baselines3; its file may run code when it is read, so the person must say so."""
    if not trust_pickle:
        raise RobustBCError(
            f"'{path}' holds pickled Python, which can run code when it is read; say --trust-pickle if you trust it."
        )
    import zipfile

    import stable_baselines3 as sb3

    try:
        with zipfile.ZipFile(path) as archive:
            settings = parse_json(archive.read("data"), f"{path}/data")
        # The file does not name its algorithm; each has a setting that no other has.
        marks = {"clip_range": sb3.PPO, "target_entropy": sb3.SAC, "policy_delay": sb3.TD3, "exploration_rate": sb3.DQN}
        algorithm: Any = next((kind for mark, kind in marks.items() if mark in settings), sb3.A2C)
        model = algorithm.load(path, device="cpu")
        sizes = model.observation_space.shape[0], model.action_space.shape[0]
    except Exception as problem:  # a pickle can raise anything
        reason = f"{type(problem).__name__}: {problem}"
        raise RobustBCError(f"'{path}' cannot be read as a model of Stable-Baselines3: {reason}.") from problem
    _same_size(str(path), "observations", sizes[0], observation_space)
    _same_size(str(path), "actions", sizes[1], action_space)
    return model
