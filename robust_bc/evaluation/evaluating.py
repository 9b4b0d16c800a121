"""Evaluating policies: all of their episodes as one batch, every policy in the same ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.vector import VectorEnv

from robust_bc.errors import RobustBCError
from robust_bc.evaluation.actors import FleetActor, as_function, misfit, remembers
from robust_bc.evaluation.metrics import Reference, metric_of
from robust_bc.evaluation.results import Evaluation, Row
from robust_bc.evaluation.rollouts import Episode, Slots, batch_size, episode_seeds, roll_out
from robust_bc.evaluation.worlds import Task, World, boxes, find_world, world_of
from robust_bc.system.progress import Progress

Measured = tuple[list[Row], list[Episode]]


def evaluate(
    policy: Any,
    task: Task,
    episodes: int = 100,
    seed: int = 0,
    *,
    settings: Mapping[str, Any] | None = None,
    name: str | None = None,
    reference: Reference | None = None,
    keep: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Roll a policy out and measure every episode.

    `policy` has `predict(observations, deterministic=True) -> (actions, state)` as ours and those of
    Stable-Baselines3 have, or is a function from observations (B, S) to actions (B, A). It gets many observations at
    once and no memory, so recurrent policies cannot be measured. `task` is the name of a card or any Gymnasium id, and
    `settings` are those of its environment. Or it is an environment, with all of its wrappers, or a function that makes
    one; a function lets episodes go side by side. The `reference` is the card's, unless there are settings.
    """
    (evaluation,) = _evaluate(
        [policy],
        task,
        episodes,
        seed,
        names=None if name is None else [name],
        settings=settings,
        reference=reference,
        keep=keep,
        progress=progress,
        strict=True,
    )
    return evaluation


def evaluate_fleet(
    policies: Sequence[Any],
    task: Task,
    episodes: int = 100,
    seed: int = 0,
    *,
    names: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    reference: Reference | None = None,
    keep: int = 0,
    progress: Progress | None = None,
) -> list[Evaluation]:
    """`evaluate` for many policies at once, all in the same episodes.

    A policy's numbers do not depend on who else is in the fleet. One that does not fit the task or raises has a
    failure in every row, and the others go on.
    """
    return _evaluate(
        policies,
        task,
        episodes,
        seed,
        names=names,
        settings=settings,
        reference=reference,
        keep=keep,
        progress=progress,
        strict=False,
    )


def play(policy: Any, task: str, seeds: Sequence[int], *, settings: Mapping[str, Any] | None = None) -> list[Episode]:
    """The episodes of these seeds with all that was seen and done.

    They are the very ones that `evaluate` measures, if the policy's answers do not depend on the batch. (Those of
    Stable-Baselines3's models do, in their last bits.)
    """
    world = find_world(task)
    worlds = world.make(batch_size(len(seeds), world.slots), dict(settings or {}))
    try:
        slots = Slots()
        actor = FleetActor([policy], len(seeds), slots, boxes(worlds)[1])
        return list(roll_out(worlds, actor, seeds, [metric.info for metric in world.metrics], slots=slots))
    finally:
        worlds.close()


def _evaluate(
    policies: Sequence[Any],
    task: Task,
    episodes: int,
    seed: int,
    *,
    names: Sequence[str] | None,
    settings: Mapping[str, Any] | None,
    reference: Reference | None,
    keep: int,
    progress: Progress | None,
    strict: bool,
) -> list[Evaluation]:
    if episodes < 1:
        raise RobustBCError(f"episodes must be at least 1, but it is {episodes}.")
    called = [_name(policy) for policy in policies] if names is None else list(names)
    if len(called) != len(policies):
        raise RobustBCError(f"there are {len(called)} names for {len(policies)} policies.")
    for policy in policies:
        if not remembers(policy):
            as_function(policy)
    world, given = world_of(task), dict(settings or {})
    seeds = episode_seeds(seed, episodes)
    alone = [[index] for index, policy in enumerate(policies) if remembers(policy)]
    together = [index for index, policy in enumerate(policies) if not remembers(policy)]
    worlds = world.make(batch_size(max(1, len(together)) * episodes, world.slots), given)
    try:
        unfit = _misfits(policies, worlds)
        if strict and unfit:
            raise RobustBCError(unfit[0])
        measuring = _Measuring(world, worlds, seeds, keep, progress or (lambda share, note: None))
        measuring.total = (len(policies) - len(unfit)) * episodes
        measured: dict[int, Measured] = {}
        for fleet in [*alone, together]:
            able = [index for index in fleet if index not in unfit]
            if able:
                measured |= dict(zip(able, measuring.measure([policies[index] for index in able]), strict=True))
    finally:
        worlds.close()
    measured |= {index: (_all_failed(seeds, sentence, world), []) for index, sentence in unfit.items()}
    return [
        Evaluation(
            policy=called[index],
            task=world.task,
            environment=world.environment,
            seed=seed,
            settings=given,
            metrics=world.metrics,
            reference=reference or (None if given else world.reference),
            rows=measured[index][0],
            kept=measured[index][1],
        )
        for index in range(len(policies))
    ]


class _Measuring:
    """Policies in the same worlds, one fleet after the other."""

    def __init__(
        self,
        world: World,
        worlds: VectorEnv[Any, Any, Any],
        seeds: Sequence[int],
        keep: int,
        progress: Progress,
    ) -> None:
        self.world, self.worlds, self.seeds, self.keep, self.progress = world, worlds, seeds, keep, progress
        self.done = self.total = 0

    def measure(self, policies: Sequence[Any]) -> list[Measured]:
        """Rows and kept episodes of each policy; all of them act as one batch."""
        episodes = len(self.seeds)
        results: list[Measured] = [([], []) for _ in policies]
        slots = Slots()
        actor = FleetActor(policies, episodes, slots, boxes(self.worlds)[1])
        rollout = roll_out(
            self.worlds,
            actor,
            list(self.seeds) * len(policies),
            [metric.info for metric in self.world.metrics],
            slots=slots,
            keep=lambda job: job % episodes < self.keep,
        )
        for job, episode in enumerate(rollout):
            rows, kept = results[job // episodes]
            rows.append(_row(len(rows), episode, self.world))
            if job % episodes < self.keep:
                kept.append(episode)
            self.done += 1
            self.progress(self.done / self.total, f"{self.done} of {self.total} episodes")
        for policy, sentence in actor.broken.items():
            # Which episodes were over when it broke depends on the batch; what is told must not.
            results[policy] = _all_failed(self.seeds, sentence, self.world), []
        return results


def _row(number: int, episode: Episode, world: World) -> Row:
    if episode.failure is not None:
        return _failed(number, episode.seed, episode.failure, world)
    values = {metric.name: metric_of(metric, episode) for metric in world.metrics}
    numbers = {"return": episode.total, **values}
    if wrong := [name for name, value in numbers.items() if not math.isfinite(value)]:
        return _failed(number, episode.seed, f"the {wrong[0]} of the episode is not a finite number.", world)
    start: Row = {"episode": number, "seed": episode.seed, "return": episode.total, "length": len(episode)}
    return {**start, **values, "failure": None}


def _failed(number: int, seed: int | None, sentence: str, world: World) -> Row:
    start: Row = {"episode": number, "seed": seed, "return": None, "length": None}
    return {**start, **{metric.name: None for metric in world.metrics}, "failure": sentence}


def _all_failed(seeds: Sequence[int], sentence: str, world: World) -> list[Row]:
    return [_failed(number, seed, sentence, world) for number, seed in enumerate(seeds)]


def _misfits(policies: Sequence[Any], worlds: VectorEnv[Any, Any, Any]) -> dict[int, str]:
    """The policies that do not fit the task, and why."""
    found = {index: misfit(policy, *boxes(worlds)) for index, policy in enumerate(policies)}
    return {index: sentence for index, sentence in found.items() if sentence is not None}


def _name(policy: Any) -> str:
    for given in (getattr(policy, "name", None), getattr(getattr(policy, "method", None), "name", None)):
        if isinstance(given, str):
            return given
    return getattr(policy, "__name__", None) or type(policy).__name__
