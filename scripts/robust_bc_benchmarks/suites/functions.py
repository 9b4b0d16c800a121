"""The paper's one-dimensional regression problems and the ways their outputs are corrupted.

1,000 inputs uniform on [−3, 3]; outputs are the function plus measurement noise of variance 1e-6, as in the authors'
released code, which also gives `linear` and `step`: the paper only draws them. A share of the outputs is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.suites.learning import check_rate
from robust_bc_benchmarks.suites.problems import Problem

Array = NDArray[np.float64]

DOMAIN = (-3.0, 3.0)
PAIRS = 1000
MEASUREMENT_DEVIATION = 1e-3
REGION_FLIP, REGION_UNIFORM = "region-flip", "region-uniform"
CORRUPT_REGION = (0.0, 2.0)
"""Inputs whose outputs are corrupted in the two-mixture correlation figure."""


@dataclass(frozen=True)
class Function:
    """A target function and the range of its outliers."""

    name: str
    formula: Callable[[Array], Array]
    outliers: tuple[float, float]
    """Uniform range: the paper's table of cosexp draws from [−1, 3], its figure of the three from [−1.5, 2.5]."""


FUNCTIONS = {
    function.name: function
    for function in (
        Function("cosexp", lambda x: np.cos(np.pi / 2 * x) * np.exp(-((x / 2) ** 2)), (-1.0, 3.0)),
        Function("linear", lambda x: 0.5 * x, (-1.5, 2.5)),
        Function("step", lambda x: np.where(np.abs(x) < 1, 1.0, -1.0), (-1.5, 2.5)),
    )
}


def get_function(name: str) -> Function:
    """The function of that name, or an error that lists the known ones."""
    if name not in FUNCTIONS:
        raise RobustBCError(f"there is no function '{name}'; the functions are: {', '.join(FUNCTIONS)}.")
    return FUNCTIONS[name]


def uniform_outliers(function: Function, rate: float, seed: int, pairs: int = PAIRS) -> Demonstrations:
    """Demonstrations in which exactly round(rate·pairs) outputs, anywhere, are uniform noise."""
    bad = check_rate(rate, pairs, MINIMUM_PAIRS)
    generator = np.random.default_rng([seed, 0])
    x, y = _measure(function, generator, pairs)
    corrupt = np.zeros(pairs, dtype=np.bool_)
    # The same seed corrupts nested sets of pairs at growing rates, so that rates can be compared pair by pair.
    corrupt[generator.permutation(pairs)[:bad]] = True
    outliers = generator.uniform(*function.outliers, size=pairs)
    return _pairs(x, np.where(corrupt, outliers, y), corrupt)


def corrupt_region(function: Function, kind: str, rate: float, seed: int, pairs: int = PAIRS) -> Demonstrations:
    """A share of the outputs at inputs in [0, 2] is flipped in sign, or uniform on [−1, 3] (the paper's figure)."""
    generator = np.random.default_rng([seed, 1])
    x, y = _measure(function, generator, pairs)
    inside = np.flatnonzero(in_region(x))
    corrupt = np.zeros(pairs, dtype=np.bool_)
    corrupt[generator.permutation(inside)[: round(rate * len(inside))]] = True
    replacement = {REGION_FLIP: -y, REGION_UNIFORM: generator.uniform(-1.0, 3.0, size=pairs)}[kind]
    return _pairs(x, np.where(corrupt, replacement, y), corrupt)


def in_region(inputs: Array) -> NDArray[np.bool_]:
    """Which inputs lie where outputs are corrupted."""
    return (inputs >= CORRUPT_REGION[0]) & (inputs <= CORRUPT_REGION[1])


def grid(points: int = 1000) -> Array:
    """Inputs (points, 1) over the domain at which a fit is judged."""
    return np.linspace(*DOMAIN, points)[:, None]


def make_function_problem(name: str, kind: str, rate: float, seed: int) -> Problem:
    """Judged against the function itself on a grid."""
    function, inputs = get_function(name), grid()
    if kind in (REGION_FLIP, REGION_UNIFORM):
        return Problem(corrupt_region(function, kind, rate, seed), inputs, function.formula(inputs))
    return Problem(uniform_outliers(function, rate, seed), inputs, function.formula(inputs))


def _measure(function: Function, generator: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    x = generator.uniform(*DOMAIN, size=pairs)
    return x, function.formula(x) + MEASUREMENT_DEVIATION * generator.standard_normal(pairs)


def _pairs(x: Array, y: Array, corrupt: NDArray[np.bool_]) -> Demonstrations:
    return Demonstrations.from_arrays(x[:, None], y[:, None], corrupt=corrupt)
