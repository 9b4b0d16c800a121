"""A person at the keyboard: how keys become steering, and a session of episodes to keep or to discard.

There is no window in here: `Session` takes keys and seconds, and tells what is to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from math import copysign
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robust_bc.evaluation.metrics import metric_of
from robust_bc.evaluation.rollouts import Episode, episode_seeds
from robust_bc_demos.datasets import Recorded
from robust_bc_envs.lanes.drawing_panels import Tone
from robust_bc_envs.lanes.env import LaneDriving
from robust_bc_envs.tasks import find_task

Mode = Literal["safe", "careless"]
Key = Literal["left", "right", "space", "enter", "discard", "restart", "pause", "away", "end"]
"""What a key means; away: the person looks at another window."""
Outcome = Literal["success", "collision", "off_road"]

TASK = "lane-driving"
SOURCE = "human"
STEERING_LIMIT = 0.5
"""Radians that a held key leads to: a lane change takes about a second, as in a car."""
STEERING_RATE = 1.2
"""Radians a second while a key is held; a short press corrects by a decimetre."""
RETURN_RATE = 2.0
"""Radians a second back to the lane's heading, as a wheel that is let go."""

TONES: dict[Mode, Tone] = {"safe": "good", "careless": "bad"}
OUTCOMES: dict[Outcome, str] = {"success": "Reached the end", "collision": "Collision", "off_road": "Off the road"}
KEY_LINES = ("← → steer, P pauses", "R restarts the road", "Enter keeps, Backspace discards", "Esc ends the session")


class Phase(StrEnum):
    """Where in an episode the person is."""

    WAITING = "waiting"
    DRIVING = "driving"
    PAUSED = "paused"
    FINISHED = "finished"


def next_command(held: Collection[str], command: float, seconds: float) -> float:
    """The desired heading after these seconds with these keys held; positive is left.

    It moves steadily: back to zero at the quicker rate, away from it at the slower one, so countersteering is both.
    """
    direction = ("left" in held) - ("right" in held)
    if direction * command <= 0:
        back = abs(command) / RETURN_RATE
        if seconds < back:
            return command - copysign(RETURN_RATE * seconds, command)
        command, seconds = 0.0, seconds - back
    moved = command + direction * STEERING_RATE * seconds
    return min(max(moved, -STEERING_LIMIT), STEERING_LIMIT)


class Session:
    """One episode after the other; the kept ones are the first roads of the seed, whatever was discarded.

    A discarded or restarted road comes again: nobody gets an easier road by discarding.
    """

    def __init__(
        self,
        world: LaneDriving,
        mode: Mode,
        save: Callable[[Sequence[Recorded]], Any],
        *,
        seed: int = 0,
        wanted: int = 0,
    ) -> None:
        self.world = world
        self.mode: Mode = mode
        self.wanted = wanted
        """Episodes to keep before the session is over; 0: as many as the person likes."""
        self.kept: list[Recorded] = []
        """All of them have been given to `save`."""
        self.discarded = 0
        self.over = False
        self.phase = Phase.WAITING
        self.command = 0.0
        """The desired heading, radians."""
        self._save = save
        self._seed = seed
        self._task = find_task(TASK)
        self._begin()

    def press(self, key: Key) -> None:
        """A key goes down."""
        phase, starts = self.phase, key in ("left", "right", "space")
        if key == "end":
            self.over = True
        elif phase is Phase.FINISHED and key in ("enter", "space"):
            self._keep()
        elif phase is Phase.FINISHED and key in ("discard", "restart"):
            self._discard()
        elif phase in (Phase.DRIVING, Phase.PAUSED) and key == "restart":
            self._begin()
        elif phase is Phase.DRIVING and key in ("pause", "away"):
            self.phase = Phase.PAUSED
        elif (phase is Phase.WAITING and starts) or (phase is Phase.PAUSED and (starts or key == "pause")):
            self.phase = Phase.DRIVING

    def advance(self, held: Collection[str]) -> None:
        """One step of the world, if the person is driving; `held` are the keys that are down."""
        if self.phase is not Phase.DRIVING or self.over:
            return
        self.command = next_command(held, self.command, self.world.settings.dt)
        action = np.array([self.command], np.float32)
        observation, reward, finished, _, told = self.world.step(action)
        self._observations.append(observation)
        self._actions.append(action)
        self._rewards.append(reward)
        self._told.append(told)
        if finished:
            self.phase = Phase.FINISHED

    @property
    def seconds(self) -> float:
        """Time driven in this episode."""
        return len(self._actions) * self.world.settings.dt

    @property
    def outcome(self) -> Outcome:
        """How the finished episode ended."""
        last = self._told[-1]
        return "collision" if last["collision"] else "off_road" if last["off_road"] else "success"

    def panel(self) -> list[str]:
        """What is always shown: the mode, the time, what was saved, the keys."""
        saved = f"{len(self.kept)} of {self.wanted}" if self.wanted else f"{len(self.kept)}"
        now = [f"{self.mode.capitalize()} driving", f"time {self.seconds:.1f} s", f"saved {saved}"]
        return [*now, f"discarded {self.discarded}", *KEY_LINES]

    def banner(self) -> tuple[list[str], Tone]:
        """What is shown large: a title and what to press, when the car stands still."""
        if self.phase is Phase.WAITING:
            return ["Ready?", "← or → or Space starts"], "neutral"
        if self.phase is Phase.PAUSED:
            return ["Paused", "P or Space goes on, R restarts"], "neutral"
        if self.phase is Phase.FINISHED:
            tone: Tone = "good" if self.outcome == "success" else "bad"
            return [OUTCOMES[self.outcome], "Enter keeps the episode, Backspace discards it"], tone
        return [], "neutral"

    def _begin(self) -> None:
        self.phase = Phase.WAITING
        self.command = 0.0
        self.episode_seed = episode_seeds(self._seed, len(self.kept) + 1)[-1]
        observation, _ = self.world.reset(seed=self.episode_seed)
        self._observations: list[NDArray[np.float32]] = [observation]
        self._actions: list[NDArray[np.float32]] = []
        self._rewards: list[float] = []
        self._told: list[dict[str, Any]] = []

    def _keep(self) -> None:
        episode = Episode(
            seed=self.episode_seed,
            observations=np.stack(self._observations),
            actions=np.stack(self._actions),
            rewards=np.array(self._rewards, np.float64),
            terminated=True,
            infos={name: np.array([told[name] for told in self._told]) for name in self._told[0]},
        )
        metrics = {metric.name: metric_of(metric, episode) for metric in self._task.metrics}
        more = {"return": episode.total, **metrics, "outcome": self.outcome}
        kept = [*self.kept, Recorded(episode, SOURCE, f"{SOURCE}-{self.mode}", more)]
        self._save(kept)
        self.kept = kept
        self.over = len(kept) == self.wanted
        self._begin()

    def _discard(self) -> None:
        self.discarded += 1
        self._begin()
