"""The paper's functions, random teachers and house prices: errors against shares of bad pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.policies.policy import Policy
from robust_bc.system.progress import Progress
from robust_bc_benchmarks.core.cells import Key
from robust_bc_benchmarks.core.contenders import with_oracles
from robust_bc_benchmarks.core.plan import CLEAN
from robust_bc_benchmarks.suites import random_teachers
from robust_bc_benchmarks.suites.functions import (
    FUNCTIONS,
    REGION_FLIP,
    REGION_UNIFORM,
    in_region,
    make_function_problem,
)
from robust_bc_benchmarks.suites.housing import load_districts, make_housing_problem
from robust_bc_benchmarks.suites.learning import LearningSuite, Numbers
from robust_bc_benchmarks.suites.problems import Problem, held_out_distance

TEACHER, BOSTON = "teacher", "boston"
KINDS_OF = {
    **dict.fromkeys(FUNCTIONS, ("uniform", REGION_FLIP, REGION_UNIFORM)),
    TEACHER: random_teachers.KINDS,
    BOSTON: ("uniform",),
}
"""Kinds of corruption by task."""


@dataclass(frozen=True)
class RegressionSuite(LearningSuite):
    """Tasks are `cosexp`, `linear`, `step`, `teacher` and `boston`."""

    held_out: bool = False
    """Whether a fifth of the pairs, as bad as they are, is held out, and policies are judged by it as well."""
    problems: dict[tuple[str, str, float, int], Problem] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for task in self.plan.tasks:
            kinds = [kind for kind in self.plan.kinds if kind in KINDS_OF[task]]
            for kind in kinds[:1]:
                self._problem(task, kind, max(self.plan.rates), self.plan.seeds[0])  # or say why not

    def units(self) -> list[list[Key]]:
        """Method by method, so that all places of a method are fitted in one fleet."""
        methods = with_oracles(self.plan.methods)
        places = [place for place in self.plan.places(self.apart) if place[1] in (CLEAN, *KINDS_OF[place[0]])]
        units = (dict.fromkeys(key for place in places for key in self.keys_of(place, (method,))) for method in methods)
        seen: set[Key] = set()
        fresh = []
        for unit in units:
            for task in self.plan.tasks:  # of other sizes
                fresh.append([key for key in unit if key.task == task and key not in seen])
            seen.update(unit)
        return [unit for unit in fresh if unit]

    @property
    def apart(self) -> tuple[str, ...]:
        """Those of a region have pairs of their own; and pairs that are held out are as bad as their kind."""
        return self.plan.kinds if self.held_out else (REGION_FLIP, REGION_UNIFORM)

    @property
    def variant(self) -> str:
        """With less to learn from."""
        return "-held-out" if self.held_out else ""

    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> Demonstrations:
        """What the methods learn from."""
        return self._problem(task, kind, rate, seed).demonstrations

    def mark(self, task: str) -> dict[str, Any]:
        """The task's name says the rest."""
        return {"task": task, "held_out": self.held_out}

    def measure(self, keys: Sequence[Key], policies: Sequence[Policy], tell: Progress) -> list[Numbers | str]:
        """Errors, and what ρ says of the corrupt region."""
        return [self._numbers(key, policy) for key, policy in zip(keys, policies, strict=True)]

    def _numbers(self, key: Key, policy: Policy) -> Numbers:
        problem = self._problem(*self._place(key))
        numbers = {"rmse": problem.error(policy)}
        if problem.held_out is not None:
            numbers["held_out"] = held_out_distance(policy, problem.held_out)
        if key.kind in (REGION_FLIP, REGION_UNIFORM):
            inside = problem.observations[in_region(problem.observations[:, 0])]
            rho = policy.mixture(inside).correlations
            if rho is not None and rho.shape[-1] > 1:
                numbers |= {"rho_2_max": float(rho[..., 1].max()), "rho_2_mean": float(rho[..., 1].mean())}
        return numbers

    def _problem(self, task: str, kind: str, rate: float | None, seed: int) -> Problem:
        """The test inputs of a housing problem are its seed's, so it is kept and not made again."""
        place = task, kind, rate or 0.0, seed
        if place not in self.problems:
            made = make_problem(*place)
            self.problems[place] = made.holding_out(seed) if self.held_out else made
        return self.problems[place]


def make_problem(task: str, kind: str, rate: float, seed: int) -> Problem:
    """Of any task; clean ones are the same whatever the kind."""
    if task == TEACHER:
        return random_teachers.make_teacher_problem(random_teachers.KINDS[0] if kind == CLEAN else kind, rate, seed)
    if task == BOSTON:
        return make_housing_problem(load_districts(), rate, seed)
    return make_function_problem(task, kind, rate, seed)
