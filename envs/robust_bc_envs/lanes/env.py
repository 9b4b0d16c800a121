"""`RobustBC/LaneDriving-v0`: one road as a Gymnasium environment, with pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc_envs.lanes.worlds import LaneSettings, LaneWorlds

if TYPE_CHECKING:
    from robust_bc_envs.lanes.drawing import RoadView

ONLY = np.zeros(1, np.intp)


class LaneDriving(gym.Env[Any, Any]):
    """Keep the lane and pass the static cars; the settings are those of `LaneSettings`.

    The action is the desired heading relative to the lane, in radians. The observation is the free distance in the
    left, own and right lane and the deviation from the lane's centre, in metres. An episode ends in a collision, off
    the road, or at its end.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["human", "rgb_array"], "render_fps": 20}  # type: ignore[misc]

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        self.settings = make_settings(settings)
        self.worlds = LaneWorlds(self.settings, 1)
        self.observation_space = self.settings.observation_space()
        self.action_space = self.settings.action_space()
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            modes = ", ".join(self.metadata["render_modes"])
            raise RobustBCError(f"there is no render mode '{render_mode}'; the modes are {modes}.")
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": round(1 / self.settings.dt)}  # type: ignore[misc]
        self.path: list[NDArray[np.float64]] = []
        """Where the car has been in this episode, (2,) each."""
        self._view: RoadView | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """A new episode: other cars, another lane."""
        super().reset(seed=seed)
        self.worlds.reset(ONLY, [self.np_random])
        self.path = [self.worlds.poses[0, :2].copy()]
        if self.render_mode == "human":
            self.render()
        return self.worlds.observations()[0], {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One step of `dt` seconds."""
        rewards, over, infos = self.worlds.step(np.reshape(action, (1, 1)))
        self.path.append(self.worlds.poses[0, :2].copy())
        if self.render_mode == "human":
            self.render()
        told = {name: values[0].item() for name, values in infos.items()}
        return self.worlds.observations()[0], float(rewards[0]), bool(over[0]), False, told

    @property
    def pose(self) -> NDArray[np.float64]:
        """x, y and heading of the driven car."""
        return np.array(self.worlds.poses[0])

    @property
    def cars(self) -> NDArray[np.float64]:
        """Poses (n, 3) of the static cars."""
        return np.array(self.worlds.cars[0])

    def render(self) -> NDArray[np.uint8] | None:
        """A top view: an array (H, W, 3), or a frame in the window."""
        if self.render_mode is None:
            gym.logger.warn("render() was called, but the environment was made without a render_mode")
            return None
        from robust_bc_envs.lanes.drawing import RoadView

        if self._view is None:
            self._view = RoadView(self.worlds.road, window=self.render_mode == "human")
        frame = self._view.draw(self.pose, self.cars, np.array(self.path), self.worlds.seen[0])
        if self.render_mode == "human":
            self._view.show(self.metadata["render_fps"])
            return None
        return frame

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._view is not None:
            self._view.close()
            self._view = None


def make_settings(given: dict[str, Any]) -> LaneSettings:
    """The settings by name; an unknown one is an error that lists the known ones."""
    known = LaneSettings.__dataclass_fields__
    unknown = [name for name in given if name not in known]
    if unknown:
        raise RobustBCError(f"lane driving has no setting '{unknown[0]}'; its settings are {', '.join(known)}.")
    return LaneSettings(**given)
