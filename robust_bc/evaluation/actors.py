"""Many policies that act side by side, each in its own episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.guarding import reason_of
from robust_bc.evaluation.rollouts import NO_EPISODE, Slots

Array = NDArray[Any]
Function = Callable[[Array], Array]


class FleetActor:
    """P policies with E episodes each, policy by policy: episode i of a rollout belongs to policy i // E.

    A policy is anything with `predict(observations, deterministic=True) -> (actions, state)`, or a function from
    observations (B, S) to actions (B, A); memory between steps is not kept, so recurrent policies are not for it. An
    actor with `begin` and `act` can remember, but must be alone.
    """

    def __init__(self, policies: Sequence[Any], episodes: int, slots: Slots, actions: spaces.Box) -> None:
        self.policies = policies
        self.episodes = episodes
        self.slots = slots
        self.space = actions
        self.remembering = remembers(policies[0])
        assert not self.remembering or len(policies) == 1
        self.functions = [None if remembers(policy) else as_function(policy) for policy in policies]
        self.broken: dict[int, str] = {}
        """Policies that raised or gave no actions, and why. They are not asked again."""
        self._seen = np.zeros(0, np.intp)
        self._rows: list[tuple[int, NDArray[np.intp]]] = []

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """Only an actor that remembers wants to know."""
        if self.remembering:
            self.policies[0].begin(count, slots, generators)

    def act(self, observations: Array) -> Array:
        """Each policy's actions in its own slots; zero where no one acts."""
        actions = np.zeros((len(observations), *self.space.shape), self.space.dtype)
        finite = np.asarray(np.isfinite(observations).all(1))
        for policy, rows in self._policies():
            if not finite[rows].all():
                self._fail(rows[~finite[rows]], "an observation of the environment is not a finite number.")
                rows = rows[finite[rows]]
            if policy in self.broken:
                self._fail(rows, self.broken[policy])
            elif len(rows):
                self._ask(policy, observations, rows, actions)
        return actions

    def _policies(self) -> list[tuple[int, NDArray[np.intp]]]:
        """Policies that have something to do, and in which slots."""
        episode = self.slots.episode
        if not np.array_equal(episode, self._seen):
            self._seen = episode.copy()
            owner = np.where(episode == NO_EPISODE, NO_EPISODE, episode // self.episodes)
            self._rows = [
                (policy, np.flatnonzero(owner == policy)) for policy in np.unique(owner[owner != NO_EPISODE]).tolist()
            ]
        return self._rows

    def _ask(self, policy: int, observations: Array, rows: NDArray[np.intp], actions: Array) -> None:
        function = self.functions[policy]
        try:
            if function is None:
                given = np.asarray(self.policies[policy].act(observations))[rows]
            else:
                given = np.asarray(function(observations if len(rows) == len(observations) else observations[rows]))
        except RobustBCError as problem:
            sentence = str(problem)
        except MemoryError:  # no fault of the policy, and nothing to keep as its failure
            raise
        except Exception as problem:  # whatever someone's policy does
            sentence = f"the policy failed: {reason_of(problem)}."
        else:
            wanted = (len(rows), *self.space.shape)
            if given.shape == wanted and given.dtype.kind in "fiu":
                actions[rows] = given
                return
            sentence = (
                f"the policy gives actions of the shape {given.shape}, but the task takes {wanted}."
                if given.shape != wanted
                else f"the policy gives actions of the type {given.dtype}, but the task takes {self.space.dtype}."
            )
        self.broken[policy] = sentence
        self._fail(rows, sentence)

    def _fail(self, rows: NDArray[np.intp], sentence: str) -> None:
        self.slots.failures |= dict.fromkeys(rows.tolist(), sentence)


def remembers(policy: Any) -> bool:
    """Whether it is an actor of its own, which is told when an episode begins."""
    return callable(getattr(policy, "begin", None)) and callable(getattr(policy, "act", None))


def as_function(policy: Any) -> Function:
    """Observations (B, S) to actions (B, A)."""
    predict = getattr(policy, "predict", None)
    if callable(predict):
        return lambda observations: predict(observations, deterministic=True)[0]
    if callable(policy):
        return policy  # type: ignore[no-any-return]
    raise RobustBCError(
        f"a {type(policy).__name__} is no policy: it is not a function and has neither `predict` nor `begin` and `act`."
    )


def misfit(policy: Any, seen: spaces.Box, done: spaces.Box) -> str | None:
    """One sentence if the policy says of itself that it takes or gives another number of values than the task."""
    for what, size, space in (
        ("takes observations", _size(policy, "observation"), seen),
        ("gives actions", _size(policy, "action"), done),
    ):
        if size is not None and size != space.shape[0]:
            return f"the policy {what} of {size} numbers, but the task has {space.shape[0]}."
    return None


def _size(policy: Any, which: str) -> int | None:
    """As our policies say it, or as models of Stable-Baselines3 do."""
    size = getattr(policy, f"{which}_size", None)
    if isinstance(size, int):
        return size
    shape = getattr(getattr(policy, f"{which}_space", None), "shape", None)
    return int(np.prod(shape)) if isinstance(shape, tuple) else None
