"""Scripted drivers for the road: smooth and human-like, one safe, one careless.

A driver sees the four features a moment late, keeps the lane, changes it when a car comes near, steers smoothly and
weaves a little. Careless ones look late, react late and weave much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc_envs.lanes.worlds import LARGEST_HEADING

Array = NDArray[np.float64]

WAVES = 3
"""Sine waves whose sum is a driver's weaving: smooth, never the same twice, and without a draw per step."""
STEP_SECONDS = 0.05
"""The road's own step, for which these people are made: on a road with another dt they react and weave otherwise."""
LEFT, OWN, RIGHT, DEVIATION = range(4)


@dataclass(frozen=True)
class Style:
    """How someone drives; a pair is a range from which each episode takes its own value."""

    look: tuple[float, float]
    """Metres to a car ahead at which the lane is changed."""
    delay: tuple[int, int]
    """Steps between seeing and acting."""
    heading: tuple[float, float]
    """Radians of a lane change."""
    weave: tuple[float, float]
    """Radians, the amplitude of each wave."""
    pull: float
    """Radians per metre of deviation: how firmly the lane is kept."""
    smoothness: float
    """Share of the old steering that is kept each step."""


STYLES = {
    "safe": Style(look=(25, 28), delay=(2, 4), heading=(0.26, 0.34), weave=(0.0, 0.02), pull=0.2, smoothness=0.5),
    "careless": Style(look=(12, 24), delay=(3, 7), heading=(0.35, 0.6), weave=(0.02, 0.12), pull=0.08, smoothness=0.6),
}


class ScriptedDriver:
    """Drives any number of cars, each with its own memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.style = STYLES[name]
        self._make_room(0)

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """Another person takes the wheel in these slots."""
        if count != len(self.clock):
            self._make_room(count)
        style = self.style
        for slot, generator in zip(slots, generators, strict=True):
            draws = generator.random(3 + 3 * WAVES)
            self.look[slot], self.turn[slot] = _within(style.look, draws[0]), _within(style.heading, draws[1])
            self.delay[slot] = style.delay[0] + int(draws[2] * (style.delay[1] - style.delay[0] + 1))
            waves = draws[3:].reshape(3, WAVES)
            self.amplitude[slot] = _within(style.weave, waves[0])
            self.frequency[slot] = 0.5 + 2.5 * waves[1]  # radians a second times one
            self.phase[slot] = 2 * np.pi * waves[2]
        self.side[slots] = 0
        self.steering[slots] = 0
        self.clock[slots] = 0

    def act(self, observations: NDArray[Any]) -> Array:
        """Desired headings (N, 1) for the features (N, 4)."""
        longest, rows = self.memory.shape[1], np.arange(len(observations))
        self.memory[rows, self.clock % longest] = observations
        seen = self.memory[rows, np.maximum(self.clock - self.delay, 0) % longest]  # (N, 4)
        self.side[:] = choose_side(seen, self.side, self.look)
        wanted = np.where(self.side == 0, -self.style.pull * seen[:, DEVIATION], self.side * self.turn)
        self.steering += (1 - self.style.smoothness) * (wanted - self.steering)
        seconds = STEP_SECONDS * self.clock[:, None]
        weaving = (self.amplitude * np.sin(self.frequency * seconds + self.phase)).sum(-1)
        self.clock += 1
        return _headings(self.steering + weaving)

    def label(self, observations: NDArray[Any], generator: np.random.Generator) -> Array:
        """What such drivers would do in each of these states, seen without a past: (N, 1)."""
        count, style = len(observations), self.style
        draws = generator.random((count, 2 + 2 * WAVES))
        look, turn = _within(style.look, draws[:, 0]), _within(style.heading, draws[:, 1])
        side = choose_side(np.asarray(observations, np.float64), np.zeros(count, np.int64), look)
        wanted = np.where(side == 0, -style.pull * observations[:, DEVIATION], side * turn)
        amplitude, phase = _within(style.weave, draws[:, 2 : 2 + WAVES]), 2 * np.pi * draws[:, 2 + WAVES :]
        return _headings(wanted + (amplitude * np.sin(phase)).sum(-1))

    def _make_room(self, count: int) -> None:
        self.look: Array = np.zeros(count)
        self.turn: Array = np.zeros(count)
        self.steering: Array = np.zeros(count)
        self.delay: NDArray[np.int64] = np.zeros(count, np.int64)
        self.side: NDArray[np.int64] = np.zeros(count, np.int64)
        self.clock: NDArray[np.int64] = np.zeros(count, np.int64)
        self.amplitude: Array = np.zeros((count, WAVES))
        self.frequency: Array = np.zeros((count, WAVES))
        self.phase: Array = np.zeros((count, WAVES))
        self.memory: Array = np.zeros((count, self.style.delay[1] + 1, 4))


def choose_side(seen: Array, side: NDArray[np.int64], look: Array) -> NDArray[np.int64]:
    """Which way to change lanes, (N,): 1 left, −1 right, 0 stay.

    A change begins to the freer side, to the left if both are alike, as soon as that side is freer than the own lane.
    Once begun, it goes on until the own lane is free.
    """
    left, own, right = seen[:, LEFT], seen[:, OWN], seen[:, RIGHT]
    freer = np.where(np.maximum(left, right) > own, np.where(left >= right, 1, -1), 0)
    begun = np.where(side == 0, freer, side)
    return np.where(own < look, begun, 0)


def _headings(wanted: Array) -> Array:
    """What the road takes, (N, 1)."""
    return np.asarray(np.clip(wanted, -LARGEST_HEADING, LARGEST_HEADING)[:, None])


def _within(limits: tuple[float, float], share: Any) -> Any:
    return limits[0] + share * (limits[1] - limits[0])
