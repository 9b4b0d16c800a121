"""Ablations of ChoiceNet: one setting changed at a time, on the synthetic functions and on random teachers.

Seeds are paired: a variant meets the same data from the same start as the defaults do, so that the difference of
both is measured seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.policies.policy import Policy
from robust_bc_benchmarks.ablation.variants import DEFAULT, Variant
from robust_bc_benchmarks.contenders import fit_contender
from robust_bc_benchmarks.rows import Row, summarise
from robust_bc_benchmarks.synthetic.functions import (
    FUNCTIONS,
    get_function,
    grid,
    root_mean_square_error,
    uniform_outliers,
)
from robust_bc_benchmarks.synthetic.running import ShareCallback
from robust_bc_benchmarks.teachers import HOWS, make_teacher_task

TEACHER = "teacher"
CLEAN = "clean"
ERROR, DIFFERENCE = "rmse", "difference"
"""Metrics of the rows: a variant's error, and its error less that of the defaults with the same seed."""
FEWEST_SEEDS = 5
"""An interval over fewer seeds is too easily on one side of zero."""
UNDECIDED, BETTER, WORSE = "", "better", "worse"


@dataclass(frozen=True)
class Column:
    """One kind of data: a function or a random teacher, and how and how far it is corrupt."""

    task: str
    how: str
    rate: float

    @property
    def name(self) -> str:
        if self.task != TEACHER:
            return f"{self.task} {self.rate:.0%}"
        return f"{self.how} {self.rate:.0%}" if self.rate else CLEAN


FUNCTION_COLUMNS = tuple(Column(name, "uniform", rate) for name in FUNCTIONS for rate in (0.0, 0.6, 0.8))
TEACHER_COLUMNS = (  # clean data are the same whatever the way
    Column(TEACHER, CLEAN, 0.0),
    *(Column(TEACHER, how, rate) for how in HOWS for rate in (0.3, 0.4)),
)
SUITES = {"synthetic functions": FUNCTION_COLUMNS, "random teachers": TEACHER_COLUMNS}
QUICK_SUITES = {"synthetic functions": FUNCTION_COLUMNS[1:2], "random teachers": TEACHER_COLUMNS[1:2]}


@dataclass(frozen=True, eq=False)
class Problem:
    """Demonstrations of one column and seed, and how far a policy is from what they should have shown."""

    column: Column
    seed: int
    demonstrations: Demonstrations
    error: Callable[[Policy], float]


def make_problem(column: Column, seed: int) -> Problem:
    """RMSE against the function, or against the teacher in units of its own deviation."""
    if column.task == TEACHER:
        task = make_teacher_task(HOWS[0] if column.how == CLEAN else column.how, column.rate, seed)
        return Problem(column, seed, task.demonstrations, task.error)
    function, inputs = get_function(column.task), grid()
    return Problem(
        column,
        seed,
        uniform_outliers(function, column.rate, seed),
        lambda policy: root_mean_square_error(policy.predict(inputs)[0], function, inputs),
    )


def run_ablation(
    variants: Sequence[Variant],
    columns: Sequence[Column],
    seeds: Sequence[int],
    device: str = "auto",
    progress: ShareCallback | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Rows of every variant and column, `rmse` and `difference`; all columns must have the same sizes.

    `settings` are for all variants alike, as far as they have them.
    """
    problems = [make_problem(column, seed) for column in columns for seed in seeds]
    errors: dict[str, dict[Column, list[float]]] = {}
    for number, variant in enumerate(variants):

        def report(share: float, number: int = number, variant: Variant = variant) -> None:
            if progress is not None:
                progress((number + share) / len(variants), variant.label)

        policies = fit_contender(
            variant.method,
            [problem.demonstrations for problem in problems],
            [problem.column.rate for problem in problems],
            [problem.seed for problem in problems],
            device,
            report,
            {**(settings or {}), **variant.settings},
        )
        mine = errors.setdefault(variant.label, {})
        for problem, policy in zip(problems, policies, strict=True):
            mine.setdefault(problem.column, []).append(problem.error(policy))
    return [
        row
        for column in columns
        for variant in variants
        for row in _rows(column, variant.label, errors[variant.label][column], errors[DEFAULT][column])
    ]


def _rows(column: Column, label: str, errors: list[float], defaults: list[float]) -> list[Row]:
    """Of one cell; both lists have one error for each seed, in the same order."""
    differences = [error - default for error, default in zip(errors, defaults, strict=True)]
    return [
        summarise(values, task=column.task, how=column.how, rate=column.rate, method=label, metric=metric)
        for metric, values in ((ERROR, errors), (DIFFERENCE, differences))
    ]


def verdict(difference: Row) -> str:
    """Whether a variant's paired difference to the defaults is beyond its interval; nobody knows with few seeds."""
    if difference.n < FEWEST_SEEDS or difference.low <= 0 <= difference.high:
        return UNDECIDED
    return WORSE if difference.low > 0 else BETTER
