"""Boston housing with wrong prices: a clean test split, and training pairs of which a share is corrupt.

506 districts of 13 numbers each and the median price of a house there, in 1000 $ (Harrison and Rubinfeld 1978). For
each seed 20 % of the districts are the clean test split, which selects nothing; of the others a share gets a price
that is uniform over the range of the training prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.suites.learning import check_rate
from robust_bc_benchmarks.suites.problems import Problem

Array = NDArray[np.float64]

TEST_SHARE = 0.2
STREAM = 3
"""Of a seed: the synthetic functions and the random teachers draw from 0 to 2."""


@dataclass(frozen=True, eq=False)
class Districts:
    """All districts, none of them wrong."""

    observations: Array  # (506, 13)
    prices: Array  # (506, 1) in 1000 $


def load_districts() -> Districts:
    """The data, or one sentence that says what to install."""
    try:
        from mlxtend.data import boston_housing_data
    except ImportError:
        raise RobustBCError(
            "the Boston housing data come with the package 'mlxtend', which is not installed;"
            ' pip install "robust-bc[benchmark]" or pip install mlxtend.'
        ) from None
    observations, prices = boston_housing_data()
    return Districts(np.asarray(observations, np.float64), np.asarray(prices, np.float64)[:, None])


def make_housing_problem(districts: Districts, rate: float, seed: int) -> Problem:
    """Split by the seed, then replace exactly round(rate·n) of the n training prices."""
    generator = np.random.default_rng([seed, STREAM])
    order = generator.permutation(len(districts.prices))
    test, train = np.split(order, [round(TEST_SHARE * len(order))])
    replaced = check_rate(rate, len(train), MINIMUM_PAIRS)
    corrupt = np.zeros(len(train), dtype=np.bool_)
    # The same seed corrupts nested sets of pairs at growing rates, so that rates can be compared pair by pair.
    corrupt[generator.permutation(len(train))[:replaced]] = True
    shown = districts.prices[train]  # (N, 1)
    outliers = generator.uniform(shown.min(), shown.max(), size=shown.shape)
    given = np.where(corrupt[:, None], outliers, shown)
    pairs = Demonstrations.from_arrays(districts.observations[train], given, corrupt=corrupt)
    return Problem(pairs, districts.observations[test], districts.prices[test])
