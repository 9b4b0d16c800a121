"""Replays for the page of the driving benchmark: the first seed's policies and the expert, in the same episodes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.core.contenders import EXPERT, shown_name, with_oracles
from robust_bc_benchmarks.showing.grids import percent
from robust_bc_benchmarks.suites.control import EVALUATION_SEED
from robust_bc_benchmarks.suites.mixes import make_teacher
from robust_bc_envs.evaluation_replays import driving_replay
from robust_bc_envs.tasks import find_task

if TYPE_CHECKING:
    from robust_bc.report import Block
    from robust_bc_benchmarks.core.running import Results
    from robust_bc_benchmarks.suites.control import ControlSuite

SHOWN_RATE = 0.3
LOOKED_AT = 50
"""Episodes among which a first collision is looked for."""


def replays_of(suite: ControlSuite, results: Results, kind: str, out: Path) -> Sequence[Block]:
    """One replay, at the highest rate up to 30 %."""
    from robust_bc.evaluation.evaluating import evaluate_fleet
    from robust_bc.policies.files import load_policy

    plan = suite.plan
    (task,) = plan.tasks
    rate = max((rate for rate in plan.rates if rate <= SHOWN_RATE), default=None)
    if rate is None:
        return []
    drivers: dict[str, Any] = {}
    for method in with_oracles(plan.methods):
        key = suite.key(task, kind, rate, method, plan.seeds[0])
        if key in results.cells:
            with contextlib.suppress(RobustBCError):  # a lost or damaged one must not cost the tables
                drivers[shown_name(method)] = load_policy(suite.policy_folder(key, out), device="cpu")
    card = find_task(task)
    drivers[EXPERT] = make_teacher(card, card.good)
    policies, count = list(drivers.values()), min(LOOKED_AT, suite.episodes)
    settings = dict(suite.settings)
    found = evaluate_fleet(policies, task, count, EVALUATION_SEED, names=list(drivers), settings=settings)
    title = f"Policies of seed {plan.seeds[0]} with {percent(rate)} bad pairs ({kind})"
    replay = driving_replay(card, policies, found, settings, title)
    return [] if replay is None else [replay]
