"""Random teachers: same-state corruption of many-dimensional actions, made in a moment and without a simulator.

A teacher is a random network from 17 observations to 6 actions in [−1, 1], the sizes of Walker2d, at states near a
6-dimensional subspace, as those of a gait are. A share of its 500 pairs is corrupted in one of the ways in which
demonstrations of control tasks are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.demonstrations import Demonstrations
from robust_bc_benchmarks.suites.problems import Problem

Array = NDArray[np.float64]

OBSERVATIONS, ACTIONS, HIDDEN, SUBSPACE = 17, 6, 32, 6
PAIRS, TEST_PAIRS = 500, 1000
TEACHER_NOISE, STATE_NOISE = 0.02, 0.2
KINDS = ("flip", "relabel", "uniform")


def make_teacher_problem(kind: str, rate: float, seed: int) -> Problem:
    """Actions of a share of the pairs are negated (`flip`), another teacher's (`relabel`) or random (`uniform`).

    Errors are in units of the teacher's own deviation: 1 is as good as its mean action.
    """
    generator = np.random.default_rng([seed, 2])
    teacher, other = _teacher(generator), _teacher(generator)
    count = PAIRS + TEST_PAIRS
    inside = generator.normal(size=(count, SUBSPACE)) @ generator.normal(size=(SUBSPACE, OBSERVATIONS))
    states = inside / np.sqrt(SUBSPACE) + STATE_NOISE * generator.normal(size=(count, OBSERVATIONS))
    shown = (teacher(states) + TEACHER_NOISE * generator.normal(size=(count, ACTIONS)))[:PAIRS]
    corrupt = np.zeros(PAIRS, dtype=np.bool_)
    corrupt[generator.permutation(PAIRS)[: round(rate * PAIRS)]] = True
    replacement = {
        "flip": -shown,
        "relabel": other(states[:PAIRS]),
        "uniform": generator.uniform(-1, 1, size=shown.shape),
    }[kind]
    actions = np.where(corrupt[:, None], replacement, shown)
    right = teacher(states[PAIRS:])
    pairs = Demonstrations.from_arrays(states[:PAIRS], actions, corrupt=corrupt)
    return Problem(pairs, states[PAIRS:], right, scale=float(right.std()))


def _teacher(generator: np.random.Generator) -> Callable[[Array], Array]:
    first = 1.5 * generator.normal(size=(OBSERVATIONS, HIDDEN)) / np.sqrt(OBSERVATIONS)
    bias = 0.5 * generator.normal(size=HIDDEN)
    second = 1.5 * generator.normal(size=(HIDDEN, ACTIONS)) / np.sqrt(HIDDEN)
    return lambda states: np.clip(np.tanh(states @ first + bias) @ second, -1, 1)
