"""Learning curves for TensorBoard, written by the thread that trains: an error of the disk is seen where it happens."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

import numpy as np

from robust_bc.errors import RobustBCError
from robust_bc.networks.history import History
from robust_bc.system.files import make_folder

Result = TypeVar("Result")

FILE_VERSION = "brain.Event:2"


class TensorBoardCurves:
    """One event file that always shows the history as it is.

    A resumed run starts the file anew from the history in its checkpoint, so steps that a killed run had logged after
    it are not shown twice.
    """

    def __init__(self, folder: Path) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        make_folder(folder)
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        self.path = folder / f"events.out.tfevents.{int(time.time())}.{os.getpid()}.robust-bc"
        self._rows = 0
        self._looks = 0
        self._file: BinaryIO = self._try(lambda: self.path.open("wb"))
        self._records = RecordWriter(self._file)
        self._write(Event(wall_time=time.time(), file_version=FILE_VERSION))

    def update(self, history: History) -> None:
        """Append what the history has gained."""
        for step, row in zip(history.steps[self._rows :], history.values[self._rows :], strict=True):
            self._write_step(step, dict(zip(history.names, row, strict=True)))
        for step, score in zip(history.held_out_steps[self._looks :], history.held_out[self._looks :], strict=True):
            self._write_step(step, {"held_out": score})
        self._rows, self._looks = len(history.steps), len(history.held_out_steps)
        self._try(self._file.flush)

    def __enter__(self) -> TensorBoardCurves:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._try(self._file.close)

    @staticmethod
    def possible() -> bool:
        """Whether TensorBoard is installed; a run does without it."""
        return find_spec("tensorboard") is not None

    def _write_step(self, step: int, values: dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        shown = [
            Summary.Value(tag=f"{name}/network-{network}", simple_value=float(value))
            for name, networks in values.items()
            for network, value in enumerate(networks)
            if np.isfinite(value)
        ]
        self._write(Event(wall_time=time.time(), step=step, summary=Summary(value=shown)))

    def _write(self, event: Any) -> None:
        self._try(lambda: self._records.write(event.SerializeToString()))

    def _try(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except OSError as problem:
            raise RobustBCError(f"cannot write '{self.path}': {problem.strerror}.") from problem
