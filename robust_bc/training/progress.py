"""How far a fit is, and how long it will take: said before most of it is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robust_bc.training.trainer import Trainer

MINUTE, HOUR = 60, 3600
SOON = 10
"""Seconds below which nobody wants to know more exactly."""


@dataclass(frozen=True)
class Progress:
    """How far a fit is: steps done and in all, and the mean loss of the latest block.

    Of methods that are computed in one go, a policy is a step, or as many as its audit, and there is no loss. The total
    may change after an audit, for budgets follow from the pairs that are left.
    """

    done: int
    total: int
    loss: float | None
    note: str = ""
    """What an audit is doing, what `auto` chose, or what training will take."""


ProgressCallback = Callable[[Progress], None]


class TrainingProgress:
    """Tells of a trainer after every block; after the first, also how long all of it takes."""

    def __init__(self, trainer: Trainer, before: int, total: int, progress: ProgressCallback) -> None:
        self.before, self.total, self.progress = before, total, progress
        self.begun, self.first = time.perf_counter(), trainer.step
        self.said = False

    def __call__(self, trainer: Trainer) -> None:
        note = "" if self.said else self._estimate(trainer)
        self.said = True
        loss = float(np.mean(trainer.history.values[-1][0]))
        self.progress(Progress(self.before + trainer.step, self.total, loss, note))

    def _estimate(self, trainer: Trainer) -> str:
        each = (time.perf_counter() - self.begun) / (trainer.step - self.first)
        steps, size = trainer.budget.steps, trainer.budget.batch_size
        return f"{steps:,} steps of {size:,}, {about((steps - self.first) * each)}"


def about(seconds: float) -> str:
    """A time as a person would say it."""
    if seconds < SOON:
        return "a few seconds"
    for size, name in ((HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= 0.75 * size:
            count = round(seconds / size)
            return f"about {count} {name}{'s' * (count != 1)}"
    return f"about {10 * round(seconds / 10)} seconds"
