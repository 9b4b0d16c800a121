"""One unit of a control benchmark: all seeds of a cell fitted as one fleet and measured as one batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.evaluating import evaluate_fleet
from robust_bc.evaluation.results import Evaluation
from robust_bc.methods import get_method
from robust_bc.methods.network import NetworkSettings
from robust_bc.policies.policy import Policy
from robust_bc.training.fitting import fit_fleet
from robust_bc_benchmarks.cell_cache import now
from robust_bc_benchmarks.contenders import find_contender
from robust_bc_benchmarks.control.cells import EXPERT, Cell, Key, LearningCurve, PairCorrelations
from robust_bc_benchmarks.control.plan import EVALUATION_SEED, ControlPlan

CURVE_POINTS = 50
"""Points of a learning curve that are kept."""
FIT_SHARE = 0.2
"""Of a unit's time; only for the progress bar."""
SMALLEST_FLEET = 4

Progress = Callable[[float, str], None]
Evaluate = Callable[..., list[Evaluation]]


def compute_unit(
    plan: ControlPlan,
    keys: Sequence[Key],
    demonstrations: Sequence[Demonstrations],
    device: str,
    progress: Progress,
    evaluate: Evaluate = evaluate_fleet,
) -> tuple[list[Cell], dict[Key, Policy]]:
    """The cells of one method, each from its own demonstrations and seed, and the policies that could be fitted."""
    method = keys[0].method
    started = time.monotonic()
    pairs = [find_contender(method).sees(mix) for mix in demonstrations]
    fitted, failures = _fit(plan, keys, pairs, device, lambda share: progress(FIT_SHARE * share, "fitting"))
    middle = time.monotonic()
    measured, broken = _measure(
        plan, fitted, evaluate, lambda share, note: progress(FIT_SHARE + (1 - FIT_SHARE) * share, note)
    )
    failures |= broken
    end = time.monotonic()
    cells = []
    for key, mine in zip(keys, pairs, strict=True):
        policy, evaluation = fitted.get(key), measured.get(key)
        cells.append(
            Cell(
                key=key,
                episodes={} if evaluation is None else columns(evaluation),
                failure=failures.get(key) or (None if evaluation is None else failure_of(evaluation)),
                history=None if policy is None else thinned_history(policy),
                correlation=None if policy is None else correlations(policy, mine),
                fit_seconds=round((middle - started) / len(keys), 3),
                evaluate_seconds=round((end - middle) / len(keys), 3),
                finished=now(),
            )
        )
    return cells, fitted


def compute_expert(plan: ControlPlan, key: Key, expert: Any, progress: Progress, evaluate: Evaluate) -> Cell:
    """The teacher in the very episodes of all policies."""
    started = time.monotonic()
    (evaluation,) = evaluate(
        [expert], key.task, plan.episodes, EVALUATION_SEED, names=[EXPERT], settings=plan.settings, progress=progress
    )
    seconds = round(time.monotonic() - started, 3)
    return Cell(key, columns(evaluation), failure_of(evaluation), evaluate_seconds=seconds, finished=now())


def _fit(
    plan: ControlPlan,
    keys: Sequence[Key],
    pairs: Sequence[Demonstrations],
    device: str,
    progress: Callable[[float], None],
) -> tuple[dict[Key, Policy], dict[Key, str]]:
    """The policies, and a sentence for each that could not be fitted."""
    contender, settings = find_contender(keys[0].method), plan.settings_of(keys[0].method, keys[0].rate)
    resolved = get_method(contender.method).settings(settings)
    networks = resolved.restarts * resolved.peers if isinstance(resolved, NetworkSettings) else SMALLEST_FLEET

    def fit(which: Sequence[int]) -> list[Policy]:
        # Products of many matrices round the last one of an odd number otherwise. Beside an even number a
        # policy has the same bits whichever seeds were missing: after a kill, or when seeds are added.
        padded = list(which)
        while len(padded) * networks % 2 or len(padded) * networks < SMALLEST_FLEET:
            padded.append(which[-1])
        return fit_fleet(
            [pairs[index] for index in padded],
            method=contender.method,
            seeds=[keys[index].seed for index in padded],
            device=device,
            progress=lambda state: progress(state.done / state.total),
            clean=contender.cleaned,
            **settings,
        )[: len(which)]

    try:
        return dict(zip(keys, fit(range(len(keys))), strict=True)), {}
    except RobustBCError as problem:
        if len(keys) == 1:
            return {}, {keys[0]: str(problem)}
    fitted: dict[Key, Policy] = {}
    failures: dict[Key, str] = {}
    for index, key in enumerate(keys):  # one of them diverged; the others are not to suffer
        try:
            fitted[key] = fit([index])[0]
        except RobustBCError as problem:
            failures[key] = str(problem)
    return fitted, failures


def _measure(
    plan: ControlPlan, fitted: Mapping[Key, Policy], evaluate: Evaluate, progress: Progress
) -> tuple[dict[Key, Evaluation], dict[Key, str]]:
    """Evaluations, and a sentence for each policy whose evaluation is not to be had at all."""

    def measure(keys: Sequence[Key]) -> dict[Key, Evaluation]:
        evaluations = evaluate(
            [fitted[key] for key in keys],
            keys[0].task,
            plan.episodes,
            EVALUATION_SEED,
            names=[f"{key.method} {key.seed}" for key in keys],
            settings=plan.settings,
            progress=progress,
        )
        return dict(zip(keys, evaluations, strict=True))

    if not fitted:
        return {}, {}
    try:
        return measure(list(fitted)), {}
    except RobustBCError as problem:
        if len(fitted) == 1:
            return {}, {next(iter(fitted)): str(problem)}
    measured: dict[Key, Evaluation] = {}
    failures: dict[Key, str] = {}
    for key in fitted:
        try:
            measured |= measure([key])
        except RobustBCError as problem:
            failures[key] = str(problem)
    return measured, failures


def columns(evaluation: Evaluation) -> dict[str, list[float | None]]:
    """Return, length and every metric, one entry per episode."""
    names = ("return", "length", *(metric.name for metric in evaluation.metrics))
    return {name: [_number(row[name]) for row in evaluation.rows] for name in names}


def failure_of(evaluation: Evaluation) -> str | None:
    """One sentence if any episode failed."""
    failed = evaluation.failures
    if not failed:
        return None
    return f"{len(failed)} of {len(evaluation.rows)} episodes failed: {failed[0]['failure']}"


def thinned_history(policy: Policy) -> LearningCurve | None:
    """At most so many points of the learning curve, evenly apart and with the last one."""
    history = policy.history
    if history is None or not history.steps:
        return None
    chosen = np.unique(np.linspace(0, len(history.steps) - 1, CURVE_POINTS).round().astype(int)).tolist()
    values = np.stack([history.values[index].mean(1) for index in chosen], axis=1)  # (names, points)
    return LearningCurve(
        names=list(history.names),
        steps=[int(history.steps[index]) for index in chosen],
        values=[[_number(f"{value:.5g}") for value in row] for row in values],
    )


def correlations(policy: Policy, pairs: Demonstrations) -> PairCorrelations | None:
    """What ρ says about each training pair (x, y), beside the truth that was hidden; None for methods without ρ.

    `rho` is Σ_k r_k ρ_k with the responsibilities r_k ∝ π_k N(y; μ_k, Σ_k): the correlation with the target of the
    mixture that the pair belongs to. `distance` is how far y is from what the policy would do, root mean square over
    the dimensions of an action in units of their scale. `corrupt` has a 1 for each corrupt pair.
    """
    if pairs.corrupt is None or policy.mixture(pairs.observations[:1]).correlations is None:
        return None
    mixture = policy.mixture(pairs.observations)
    assert mixture.correlations is not None
    residual = pairs.actions[None, :, None] - mixture.means  # (M, N, K, D)
    log_density = -0.5 * (residual**2 / mixture.variances + np.log(mixture.variances)).sum(-1)  # (M, N, K)
    joint = np.log(np.maximum(mixture.weights, np.finfo(np.float64).tiny)) + log_density
    responsibilities = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))
    rho = (responsibilities * mixture.correlations).sum(-1).mean(0)  # (N,)
    away = (pairs.actions - policy.predict(pairs.observations)[0]) / policy.normalisation.actions.scale  # (N, D)
    return PairCorrelations(
        rho=[_number(value) for value in np.round(rho, 4)],
        distance=[_number(value) for value in np.round(np.sqrt((away**2).mean(1)), 4)],
        corrupt="".join("1" if label else "0" for label in pairs.corrupt),
    )


def _number(value: Any) -> float | None:
    """A number that JSON can say, or None."""
    number = np.nan if value is None else float(value)
    return number if np.isfinite(number) else None
