"""A guard around one environment of many: what it raises ends its own episode, with the reason in `info`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

FAILURE = "robust_bc.failure"
"""The entry of `info` with one sentence, in the last step of an episode that failed; an environment may have a
`failure` of its own."""


def reason_of(problem: BaseException) -> str:
    """Kind and first line of an exception, without a full stop."""
    words = (str(problem).strip().splitlines() or [""])[0].rstrip(".")
    return f"{type(problem).__name__}: {words}" if words else type(problem).__name__


class Guard(gym.Wrapper[Any, Any, Any, Any]):
    """Passes everything on; an exception in `reset` or `step` becomes the end of the episode.

    An episode whose reset failed has one step, which tells why.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._trouble: str | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._trouble = None
        try:
            return self.env.reset(seed=seed, options=options)
        except Exception as problem:  # whatever someone's environment does
            self._trouble = f"the environment failed in a reset: {reason_of(problem)}."
            return self._nothing(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._trouble is None:
            try:
                return self.env.step(action)
            except Exception as problem:  # whatever someone's environment does
                self._trouble = f"the environment failed in a step: {reason_of(problem)}."
        return self._nothing(), 0.0, True, False, {FAILURE: self._trouble}

    def _nothing(self) -> Any:
        space = self.observation_space
        return np.zeros(space.shape or (), space.dtype)
