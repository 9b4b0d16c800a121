"""`fit`: demonstrations in, a policy out; `fit_fleet`: many data sets at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.methods import AUTO
from robust_bc.methods.direct import DirectMethod
from robust_bc.policies.policy import Policy
from robust_bc.training.plan import FitPlan
from robust_bc.training.progress import Progress, ProgressCallback, TrainingProgress

LARGEST_FLEET = 64
"""Networks of different policies that are trained together; it bounds the memory of a benchmark's column."""
SMALLEST_FLEET = 4
"""Networks to which a fleet is padded where each policy must have the same bits in any fleet."""


def fit(
    demonstrations: Demonstrations,
    method: str = AUTO,
    members: int = 1,
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    clean: bool | None = None,
    **settings: Any,
) -> Policy:
    """Fit a policy to demonstrations of mixed quality.

    Unless a method is named, an audit drops what is bad and `auto` chooses the method; `policy.choice` tells which and
    why. With `clean`, a method learns from what an audit keeps (`audit.keep()`), and `policy.cleaning` tells what was
    left out and why; by default only `auto` cleans. `members` above 1 gives an ensemble whose actions are averaged.
    `settings` are those of the method (`robust-bc methods` lists the methods, `robust-bc train --method M --help` the
    settings of one). The same seed gives the same policy, to the bit on the same machine.
    """
    return fit_fleet([demonstrations], method, members, [seed], device, progress, clean, **settings)[0]


def fit_fleet(
    demonstrations: Sequence[Demonstrations],
    method: str = AUTO,
    members: int = 1,
    seeds: Sequence[int] | None = None,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    clean: bool | None = None,
    *,
    padded: bool = False,
    **settings: Any,
) -> list[Policy]:
    """Fit one policy to each of many demonstrations of the same shape, all at once.

    Every policy depends on its own demonstrations and seed only (0, 1, 2, ... unless given), not on the others.
    With `clean`, each data set has an audit of its own, with the seed of its policy. Its number of pairs decides about
    what is not given of its settings, and those with the same settings are trained together. `padded` makes this
    independence one to the bit, at some cost for small fleets; else it is one to rounding.
    """
    plan = FitPlan.make(demonstrations, method, members, seeds, device, settings, clean)
    tell = progress or (lambda state: None)
    plan = plan.cleaned(_total(plan), tell)
    fitted: dict[int, Policy] = {}
    done, total = plan.audit_steps, _total(plan)
    for which in _fleets(plan):
        if (choice := plan.learners[which[0]].choice) is not None:
            tell(Progress(done, total, None, " ".join(choice.lines)))
        trained = _padded(plan, which) if padded else which
        policies = _fit(plan, trained, done, total, tell)
        fitted |= dict(zip(which, policies[: len(which)], strict=True))
        done += plan.steps(which)
    return [fitted[policy] for policy in range(len(fitted))]


def _fleets(plan: FitPlan) -> list[list[int]]:
    """Policies that are trained together, as many as memory allows; of a method that is computed in one go, each."""
    fleets = []
    for group in plan.groups:
        network = not isinstance(plan.learners[group[0]].method, DirectMethod)
        size = max(1, LARGEST_FLEET // plan.networks_per_policy(group[0])) if network else 1
        fleets += [group[start : start + size] for start in range(0, len(group), size)]
    return fleets


def _fit(plan: FitPlan, which: list[int], done: int, total: int, progress: ProgressCallback) -> list[Policy]:
    if isinstance(plan.learners[which[0]].method, DirectMethod):
        policies = [plan.computed(which[0])]
        progress(Progress(done + plan.steps(which[:1]), total, None))
        return policies
    trainer = plan.trainer(which)
    trainer.run(TrainingProgress(trainer, done, total, progress))
    return plan.policies(which, trainer)


def _total(plan: FitPlan) -> int:
    return plan.audit_steps + sum(plan.steps(which) for which in _fleets(plan))


def _padded(plan: FitPlan, which: list[int]) -> list[int]:
    """Products of many matrices round the last one of an odd number otherwise, so the last policy stands there again.

    Beside an even number a policy has the same bits in any fleet: whichever seeds of a benchmark were missing.
    """
    if isinstance(plan.learners[which[0]].method, DirectMethod):
        return which
    networks = plan.networks_per_policy(which[0])
    padded = list(which)
    while len(padded) * networks % 2 or len(padded) * networks < SMALLEST_FLEET:
        padded.append(which[-1])
    return padded
