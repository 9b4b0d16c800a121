"""Stopping the training of a teacher early: when it is good enough, by chunks or by single updates."""

from __future__ import annotations

from collections.abc import Callable

from stable_baselines3.common.callbacks import BaseCallback

from robust_bc_demos.network_teacher import NetworkTeacher

Enough = Callable[[NetworkTeacher], bool]
"""Whether a teacher is good enough to stop its training."""


class StopWhenGoodEnough(BaseCallback):
    """Looks at the teacher after every update; what it looks at draws nothing from the streams of the training."""

    def __init__(self, current: Callable[[], NetworkTeacher], enough: Enough) -> None:
        super().__init__()
        self.current, self.enough = current, enough
        self.teacher: NetworkTeacher | None = None
        """The first one that was good enough."""
        self.steps = 0
        """How many steps of the environments it was trained for."""
        self.updated = False

    def _on_rollout_start(self) -> None:
        if self.updated:
            self._look()
        self.updated = True

    def _on_step(self) -> bool:
        return self.teacher is None

    def _on_training_end(self) -> None:
        if self.teacher is None:
            self._look()

    def _look(self) -> None:
        teacher = self.current()
        if self.enough(teacher):
            self.teacher, self.steps = teacher, self.model.num_timesteps
