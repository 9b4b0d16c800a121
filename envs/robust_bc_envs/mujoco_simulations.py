"""Many simulations of one MuJoCo model that step side by side in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

SLOTS_PER_THREAD = 4
"""With fewer slots a Python thread costs more than it gives."""


class Simulations(Protocol):
    """N simulations, the slots; the two arrays are live and always show where they are."""

    positions: NDArray[np.float64]  # (N, nq)
    velocities: NDArray[np.float64]  # (N, nv)

    def step(self, actions: NDArray[Any], slots: NDArray[np.intp] | None = None) -> None:
        """Advance all slots, or those given, by one control step; actions are (N, nu) in both cases."""

    def place(self, slots: NDArray[np.intp], positions: NDArray[np.float64], velocities: NDArray[np.float64]) -> None:
        """Begin anew in those slots from positions (n, nq) and velocities (n, nv)."""

    def close(self) -> None:
        """End the threads."""


def simulate(model: Any, frame_skip: int, count: int, threads: int) -> Simulations:
    """The faster of the two kinds: MuJoCo 4.0 brings its own batch; the bits are the same."""
    try:
        from mujoco.batch import Batch
    except ImportError:
        return ThreadedSimulations(model, frame_skip, count, threads)
    return NativeSimulations(Batch(model, count, min(threads, count)), frame_skip)


class NativeSimulations:
    """Simulations in MuJoCo's own threads, which never wait for the interpreter."""

    def __init__(self, batch: Any, frame_skip: int) -> None:
        self._batch = batch
        self._frame_skip = frame_skip
        self.positions: NDArray[np.float64] = batch.bind("qpos")
        self.velocities: NDArray[np.float64] = batch.bind("qvel")
        self._control: NDArray[np.float64] = batch.bind("ctrl")

    def step(self, actions: NDArray[Any], slots: NDArray[np.intp] | None = None) -> None:
        if slots is None:
            self._control[:] = actions
        else:
            self._control[slots] = actions[slots]
        self._batch.step(slots, self._frame_skip)

    def place(self, slots: NDArray[np.intp], positions: NDArray[np.float64], velocities: NDArray[np.float64]) -> None:
        self._batch.reset(slots, stage=int(mujoco.mjtStage.mjSTAGE_NONE))
        self.positions[slots] = positions
        self.velocities[slots] = velocities
        self._batch.forward(slots)

    def close(self) -> None:
        # The threads end with the batch, which lives as long as one of its arrays does.
        del self._batch, self.positions, self.velocities, self._control


class ThreadedSimulations:
    """Simulations in Python threads, for any MuJoCo: a step lets go of the interpreter."""

    def __init__(self, model: Any, frame_skip: int, count: int, threads: int) -> None:
        self._model = model
        self._frame_skip = frame_skip
        self._threads = max(1, min(threads, count // SLOTS_PER_THREAD))
        # The calling thread takes a share of its own.
        self._pool = ThreadPoolExecutor(self._threads - 1, "mujoco") if self._threads > 1 else None
        self.positions = np.zeros((count, model.nq))
        self.velocities = np.zeros((count, model.nv))
        # Each attribute of an MjData is a new array object: bound once, they cost nothing in a step.
        data = [mujoco.MjData(model) for _ in range(count)]
        self._slots = [
            (one, one.ctrl, one.qpos, one.qvel, position, velocity)
            for one, position, velocity in zip(data, self.positions, self.velocities, strict=True)
        ]

    def step(self, actions: NDArray[Any], slots: NDArray[np.intp] | None = None) -> None:
        chosen = self._slots
        if slots is not None:
            chosen, actions = [self._slots[slot] for slot in slots], actions[slots]
        share = max(1, -(-len(chosen) // self._threads))
        waiting = []
        if self._pool is not None:
            for start in range(share, len(chosen), share):
                end = start + share
                waiting.append(self._pool.submit(self._advance, chosen[start:end], actions[start:end]))
        self._advance(chosen[:share], actions[:share])
        for one in waiting:
            one.result()

    def _advance(self, chosen: list[tuple[Any, ...]], actions: NDArray[Any]) -> None:
        model, frame_skip, mj_step = self._model, self._frame_skip, mujoco.mj_step
        for (data, control, qpos, qvel, position, velocity), action in zip(chosen, actions, strict=True):
            control[:] = action
            # Gymnasium also calls mj_rnePostConstraint: contact forces, which nothing here reads and no step feels.
            mj_step(model, data, frame_skip)
            position[:] = qpos
            velocity[:] = qvel

    def place(self, slots: NDArray[np.intp], positions: NDArray[np.float64], velocities: NDArray[np.float64]) -> None:
        for slot, start, speed in zip(slots, positions, velocities, strict=True):
            data, _, qpos, qvel, position, velocity = self._slots[slot]
            mujoco.mj_resetData(self._model, data)
            qpos[:] = start
            qvel[:] = speed
            mujoco.mj_forward(self._model, data)
            position[:] = qpos
            velocity[:] = qvel

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
