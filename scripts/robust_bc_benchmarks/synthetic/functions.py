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

Array = NDArray[np.float64]

DOMAIN = (-3.0, 3.0)
PAIRS = 1000
MEASUREMENT_DEVIATION = 1e-3
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
    if not 0 <= rate < 1:
        raise RobustBCError(f"a rate must be at least 0 and below 1, but it is {rate}.")
    if pairs - round(rate * pairs) < MINIMUM_PAIRS:
        raise RobustBCError(f"a rate of {rate} leaves the oracle fewer than {MINIMUM_PAIRS} of {pairs} pairs.")
    generator = np.random.default_rng([seed, 0])
    x, y = _measure(function, generator, pairs)
    corrupt = np.zeros(pairs, dtype=np.bool_)
    # The same seed corrupts nested sets of pairs at growing rates, so that rates can be compared pair by pair.
    corrupt[generator.permutation(pairs)[: round(rate * pairs)]] = True
    outliers = generator.uniform(*function.outliers, size=pairs)
    return _pairs(x, np.where(corrupt, outliers, y), corrupt)


def corrupt_region(function: Function, how: str, seed: int, pairs: int = PAIRS) -> Demonstrations:
    """Half of the outputs at inputs in [0, 2] are flipped in sign, or uniform on [−1, 3] (the paper's figure)."""
    generator = np.random.default_rng([seed, 1])
    x, y = _measure(function, generator, pairs)
    inside = np.flatnonzero((x >= CORRUPT_REGION[0]) & (x <= CORRUPT_REGION[1]))
    corrupt = np.zeros(pairs, dtype=np.bool_)
    corrupt[generator.permutation(inside)[: round(len(inside) / 2)]] = True
    replacement = {"flip": -y, "uniform": generator.uniform(-1.0, 3.0, size=pairs)}[how]
    return _pairs(x, np.where(corrupt, replacement, y), corrupt)


def grid(points: int = 1000) -> Array:
    """Inputs (points, 1) over the domain at which a fit is judged."""
    return np.linspace(*DOMAIN, points)[:, None]


def root_mean_square_error(predicted: NDArray[np.floating], function: Function, inputs: Array) -> float:
    """Distance of a prediction (N, 1) from the reference function."""
    return float(np.sqrt(np.mean((predicted - function.formula(inputs)) ** 2)))


def _measure(function: Function, generator: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    x = generator.uniform(*DOMAIN, size=pairs)
    return x, function.formula(x) + MEASUREMENT_DEVIATION * generator.standard_normal(pairs)


def _pairs(x: Array, y: Array, corrupt: NDArray[np.bool_]) -> Demonstrations:
    return Demonstrations.from_arrays(x[:, None], y[:, None], corrupt=corrupt)
