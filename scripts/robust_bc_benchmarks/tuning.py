"""The one rule by which settings are chosen: how far held-out demonstrations, corrupt as they are, lie from the policy.

A policy learns from four fifths of the pairs of a random teacher and is judged on the rest by the *median* distance
between the action shown and the action it would take, root mean square over dimensions in units of the actions'
deviation. As long as fewer than half of the pairs are bad, the median pair is a good one, so the rule needs no clean
label, no likelihood and no knowledge of the rate, and it is the same for a network, a mixture and a Gaussian process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.policies.policy import Policy
from robust_bc.training.fitting import fit_fleet
from robust_bc_benchmarks.contenders import find_contender
from robust_bc_benchmarks.teachers import HOWS, TeacherTask, make_teacher_task

HELD_OUT = 100
"""Of the 500 pairs of a teacher; its pairs come in random order, so any hundred will do."""
RATES = (0.0, 0.2, 0.4)
FIRST_SEED = 100
"""No table of this repository shows a teacher of this seed or a later one."""
EARLY = {"early_stopping": True}

# What each method is offered, one dictionary per trial; the first is the default. Early stopping is offered to all.
TRIALS: dict[str, list[dict[str, Any]]] = {
    "mlp": [{}, EARLY],
    "mdn": [{}, EARLY, {"variance_floor": 1e-2}, {"variance_floor": 1e-1}, {"mixtures": 2}],
    "choicenet": [
        {},
        EARLY,
        {"kl_weight": 0.1},
        {"kl_weight": 1.0},
        {"tau_passes": 50.0},
        {"tau_passes": 200.0},
        {"tau_inverse": 3e-3},
        {"sigma_z": 0.6},
        {"sigma_z": 1.5},
        {"mixtures": 2},
    ],
    "l1": [{}, EARLY],
    "huber": [{}, EARLY, {"delta": 0.1}, {"delta": 0.3}, {"delta": 1.0}],
    "tukey": [{}, EARLY],
    "tukey-pair": [{}, EARLY, {"cutoff": 1.5}, {"cutoff": 3.0}, {"cutoff": 4.6851}],
    "leaky-tukey": [{}, EARLY, {"leak": 0.03}, {"leak": 0.1}],
    "trimmed": [{}, EARLY, {"warm_up": 0.2}, {"warm_up": 0.5}, {"rate": 0.2}, {"rate": 0.3}],
    "co-teaching": [{}, EARLY, {"warm_up": 0.2}, {"warm_up": 0.5}, {"rate": 0.2}, {"rate": 0.3}],
    "bcnd": [{}, EARLY, {"networks": 3}, {"networks": 5}, {"reweighted": 4}, {"variance_floor": 0.1}],
    "density-power": [{}, EARLY, {"beta": 0.2}, {"beta": 1.0}, {"variance_floor": 1e-3}],
    "median-of-means": [{}, EARLY, {"groups": 32}, {"groups": 128}],
    "background": [{}, EARLY, {"background_variance": 4.0}, {"tau_passes": 50.0}, {"tau_inverse": 3e-3}],
    "gpr": [{}, {"length_scale": 0.25}, {"length_scale": 1.0}],
    "lgpr": [{}, {"length_scale": 1.0}, {"sparsity": 1.0}, {"sparsity": 2.0}, {"sparsity": 10.0}],
    "rgpr": [{}, {"length_scale": 0.25}, {"length_scale": 1.0}, {"experts": 1}, {"experts": 3}],
}


@dataclass(frozen=True)
class Trial:
    """Settings of a method, and how they did."""

    method: str
    settings: Mapping[str, Any]
    scores: tuple[float, ...]
    """What the rule says, one for each task: smaller is better."""
    errors: tuple[float, ...]
    """Distance from the teacher itself at fresh states: what the rule tries to guess, and must not see."""

    @property
    def score(self) -> float:
        return float(np.mean(self.scores))


def held_out_distance(policy: Policy, pairs: Demonstrations) -> float:
    """Median over pairs of the root mean square difference between what was shown and what the policy does."""
    away = (pairs.actions - policy.predict(pairs.observations)[0]) / pairs.actions.std(0)
    return float(np.median(np.sqrt((away**2).mean(1))))


def tuning_tasks(seeds: int, rates: Sequence[float] = RATES) -> list[tuple[str, float, int, TeacherTask]]:
    """Every way and rate of so many teachers; clean pairs are the same for every way."""
    cells = [(how, rate, FIRST_SEED + seed) for rate in rates for how in HOWS for seed in range(seeds)]
    return [(*cell, make_teacher_task(*cell)) for cell in cells if cell[1] > 0 or cell[0] == HOWS[0]]


def run_tuning(
    methods: Sequence[str],
    seeds: int,
    trials: Mapping[str, Sequence[Mapping[str, Any]]] = TRIALS,
    rates: Sequence[float] = RATES,
    progress: Callable[[float, str], None] | None = None,
) -> list[Trial]:
    """All trials of these methods, each on the same tasks."""
    tasks = tuning_tasks(seeds, rates)
    shown = [task.demonstrations for *_, task in tasks]
    kept = np.arange(len(shown[0])) >= HELD_OUT
    found: list[Trial] = []
    wanted = [(method, settings) for method in methods for settings in trials.get(method, [{}])]
    for number, (method, settings) in enumerate(wanted):
        if progress is not None:
            progress(number / len(wanted), method)
        policies = fit_fleet(
            [pairs.select(kept) for pairs in shown],
            find_contender(method).method,
            seeds=[seed for _, _, seed, _ in tasks],
            device="cpu",
            **settings,
        )
        scores = tuple(held_out_distance(p, pairs.select(~kept)) for p, pairs in zip(policies, shown, strict=True))
        errors = tuple(task.error(policy) for policy, (*_, task) in zip(policies, tasks, strict=True))
        found.append(Trial(method, settings, scores, errors))
    return found
