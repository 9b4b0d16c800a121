"""What Gymnasium's MuJoCo environments pay, tell and call a fall, for many slots at once and to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc_envs.batch_env import Flags, Info

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """One control step of N slots."""

    before: Array
    """(N, 2): the first two positions before the step, (N, 1) where there is but one."""
    positions: Array
    """(N, nq)."""
    velocities: Array
    """(N, nv)."""
    actions: NDArray[Any]
    """(N, nu), in the number type they were given in: the control cost is computed in it."""
    seconds: float
    """How long the step lasts."""


@dataclass(frozen=True)
class Paid:
    """What N slots get for a step."""

    rewards: NDArray[Any]
    """(N,)."""
    terminated: Flags
    """(N,)."""
    info: Info
    """(N,) each, without what `Rule.place` tells."""


@dataclass(frozen=True)
class Rule:
    """One environment. Its observation is qpos without the first few, then qvel."""

    outcome: Callable[[Motion, Mapping[str, Any]], Paid]
    """From the motion and the environment's settings."""
    place: Callable[[Array, Array], Info]
    """What `info` tells at any time, after a reset as well, from positions (N, nq) and the model's own (nq,)."""
    normal_velocity: bool = False
    """Whether velocities are drawn from a normal distribution at a reset instead of a uniform one."""
    velocity_limit: float | None = None
    """Where velocities are cut off in the observation."""

    def draw(
        self, generator: np.random.Generator, scale: float, positions: int, velocities: int
    ) -> tuple[Array, Array]:
        """The noise of one reset: positions first, as `reset_model` draws them."""
        shift = generator.uniform(low=-scale, high=scale, size=positions)
        if self.normal_velocity:
            return shift, scale * generator.standard_normal(velocities)
        return shift, generator.uniform(low=-scale, high=scale, size=velocities)

    def observe(self, positions: Array, velocities: Array, skipped: int) -> Array:
        """(N, nq - skipped + nv), an array of its own."""
        if self.velocity_limit is not None:
            velocities = np.clip(velocities, -self.velocity_limit, self.velocity_limit)
        return np.concatenate((positions[:, skipped:], velocities), axis=1)


def _within(values: Array, limits: tuple[float, float]) -> Flags:
    low, high = limits
    return (low < values) & (values < high)


def _control_cost(motion: Motion, settings: Mapping[str, Any]) -> NDArray[Any]:
    cost: NDArray[Any] = settings["ctrl_cost_weight"] * np.sum(np.square(motion.actions), axis=1)  # (N,)
    return cost


def _run(motion: Motion, settings: Mapping[str, Any]) -> Paid:
    """HalfCheetah: forward velocity less the control cost, and no end."""
    velocity = (motion.positions[:, 0] - motion.before[:, 0]) / motion.seconds  # (N,)
    forward, cost = settings["forward_reward_weight"] * velocity, _control_cost(motion, settings)
    info = {"x_velocity": velocity, "reward_forward": forward, "reward_ctrl": -cost}
    return Paid(forward - cost, np.zeros(len(velocity), dtype=np.bool_), info)


def _swim(motion: Motion, settings: Mapping[str, Any]) -> Paid:
    """Swimmer: as HalfCheetah, and tells the sideways velocity too."""
    outcome = _run(motion, settings)
    outcome.info["y_velocity"] = (motion.positions[:, 1] - motion.before[:, 1]) / motion.seconds
    return outcome


def _walk_while(healthy: Flags, motion: Motion, settings: Mapping[str, Any]) -> Paid:
    """Forward velocity and a reward for being healthy less the control cost; the end when healthy no longer."""
    running = _run(motion, settings)
    survive = healthy * settings["healthy_reward"]
    # In this order of additions, which is Gymnasium's: floating point is not associative.
    rewards = running.info["reward_forward"] + survive + running.info["reward_ctrl"]
    terminated = ~healthy & bool(settings["terminate_when_unhealthy"])
    return Paid(rewards, terminated, {**running.info, "reward_survive": survive})


def _walk(motion: Motion, settings: Mapping[str, Any]) -> Paid:
    """Walker2d: healthy between two heights and two angles of the torso."""
    healthy = _within(motion.positions[:, 1], settings["healthy_z_range"])
    healthy &= _within(motion.positions[:, 2], settings["healthy_angle_range"])
    return _walk_while(healthy, motion, settings)


def _hop(motion: Motion, settings: Mapping[str, Any]) -> Paid:
    """Hopper: the same, with all angles and velocities bounded as well."""
    healthy = _within(motion.positions[:, 1], settings["healthy_z_range"])
    healthy &= _within(motion.positions[:, 2], settings["healthy_angle_range"])
    for state in (motion.positions[:, 2:], motion.velocities):
        healthy &= _within(state, settings["healthy_state_range"]).all(axis=1)
    return _walk_while(healthy, motion, settings)


def _balance(motion: Motion, settings: Mapping[str, Any]) -> Paid:
    """InvertedPendulum: one for every step in which the pole is within 0.2 rad of upright."""
    fallen = np.abs(motion.positions[:, 1]) > 0.2
    for state in (motion.positions, motion.velocities):
        fallen |= ~np.isfinite(state).all(axis=1)
    upright = (~fallen).astype(int)
    return Paid(upright, fallen, {"reward_survive": upright})


def _along(positions: Array, own: Array) -> Info:
    return {"x_position": positions[:, 0]}


def _along_and_up(positions: Array, own: Array) -> Info:
    return {"x_position": positions[:, 0], "z_distance_from_origin": positions[:, 1] - own[1]}


def _in_the_plane(positions: Array, own: Array) -> Info:
    x_and_y = np.ascontiguousarray(positions[:, :2])
    # One dot product per slot, as np.linalg.norm does it: a sum over the batch rounds differently.
    distance = np.sqrt(np.array([one.dot(one) for one in x_and_y]))
    return {"x_position": positions[:, 0], "y_position": positions[:, 1], "distance_from_origin": distance}


def _untold(positions: Array, own: Array) -> Info:
    return {}


RULES: Mapping[str, Rule] = {
    "HalfCheetah-v5": Rule(_run, _along, normal_velocity=True),
    "Hopper-v5": Rule(_hop, _along_and_up, velocity_limit=10),
    "InvertedPendulum-v5": Rule(_balance, _untold),
    "Swimmer-v5": Rule(_swim, _in_the_plane),
    "Walker2d-v5": Rule(_walk, _along_and_up, velocity_limit=10),
}
