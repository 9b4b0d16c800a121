"""The pictures of an episode, drawn while its actions are played once more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from robust_bc.data.recording import Episode
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.guarding import reason_of

if TYPE_CHECKING:
    from robust_bc_envs.tasks import Task


def prepare_filming() -> None:
    """Call before MuJoCo is imported: without a screen, only some ways to draw work."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("MUJOCO_GL", "egl")


class Film:
    """The pictures of an episode, drawn while its actions are played once more."""

    def __init__(self, task: Task, settings: Mapping[str, Any], episode: Episode) -> None:
        from robust_bc_envs.quiet import quiet_mujoco  # brings MuJoCo

        self._quiet = quiet_mujoco
        given = {**task.settings, **settings}
        try:
            with self._quiet():
                self._environment = gym.make(task.environment, render_mode="rgb_array", **given)
        except Exception as problem:  # whatever someone's environment does
            raise RobustBCError(f"'{task.environment}' cannot be filmed: {reason_of(problem)}.") from problem
        self._task, self._episode = task, episode
        self.frames_per_second = float(self._environment.metadata.get("render_fps") or 30)

    def frames(self) -> Iterator[NDArray[np.uint8]]:
        """(H, W, 3) each, before and after every step."""
        try:
            with self._quiet():
                self._environment.reset(seed=self._episode.seed)
            yield self._picture()
            for action in self._episode.actions:
                with self._quiet():
                    self._environment.step(action)
                yield self._picture()
        finally:
            self._environment.close()

    def _picture(self) -> NDArray[np.uint8]:
        try:
            with self._quiet():
                picture: Any = self._environment.render()
        except Exception as problem:  # drivers and screens fail in many ways
            raise RobustBCError(
                f"'{self._task.environment}' cannot be drawn here ({reason_of(problem)}); without a screen, MuJoCo"
                " needs MUJOCO_GL=egl (Debian: apt-get install libegl1) or MUJOCO_GL=osmesa (libosmesa6)."
            ) from problem
        if not isinstance(picture, np.ndarray):
            raise RobustBCError(f"'{self._task.environment}' draws no pictures: render() gave {picture!r}.")
        return picture
