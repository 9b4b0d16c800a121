"""`audit`: which demonstrations are bad. Two reasons are looked for: foreign states, and actions in conflict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from robust_bc.auditing.conflict import Court, Judgement
from robust_bc.auditing.pooling import single_pairs
from robust_bc.auditing.results import SUSPECT_BELOW, Audit, Estimate
from robust_bc.auditing.second_look import look_again
from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods import get_method
from robust_bc.methods.base import Method
from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.seeding import check_seed
from robust_bc.training.checkpoint import pairs_digest

Floats = NDArray[np.float64]

STEPS = 600
"""Optimiser steps of a network that judges, unless told otherwise: an audit trains many of them."""
SURELY_BAD, SURELY_GOOD = 0.025, 0.975
"""Qualities that leave less doubt than 2.5 % on either side."""
SURELY_KNOWN = 0.9
"""Probability of being good by its action, from which a single pair is not foreign."""
LOOKING = 0.2
"""Share of an audit's progress that the search for strangers has, though it may end early."""

ProgressCallback = Callable[[float, str], None]


def audit(
    demonstrations: Demonstrations,
    method: str = "choicenet",
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    sources: Sequence[str] | None = None,
    dataset: str | None = None,
    **settings: Any,
) -> Audit:
    """The quality of every pair, episode and source, and the share of corrupt pairs.

    `method` and `settings` are those of the networks that judge. `sources` names the source of each episode, in the
    order of `np.unique(demonstrations.episodes)`. Nothing is assumed to be clean, and no rate is asked for; but most
    pairs must be good, and in every region of states. A rare but honest way to do it, in states of its own and with
    other actions, cannot be told from a foreign source.
    """
    return audit_fleet([demonstrations], method, [seed], device, progress, [sources], [dataset], **settings)[0]


def audit_fleet(
    demonstrations: Sequence[Demonstrations],
    method: str = "choicenet",
    seeds: Sequence[int] | None = None,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    sources: Sequence[Sequence[str] | None] | None = None,
    datasets: Sequence[str | None] | None = None,
    **settings: Any,
) -> list[Audit]:
    """An audit of each of many data sets of the same sizes, their networks side by side in one fleet."""
    if not demonstrations:
        raise RobustBCError("demonstrations is empty; give at least one set of pairs.")
    chosen = [check_seed(seed) for seed in (range(len(demonstrations)) if seeds is None else seeds)]
    given = judging_settings(method, settings)
    court = Court(method, given, device)
    tell = progress or (lambda share, note: None)
    outside = court.foreign(demonstrations, chosen, lambda share, note: tell(LOOKING * share, note))
    judged = court.judge(
        demonstrations,
        [~flags for flags in outside],
        chosen,
        lambda share, note: tell(LOOKING + (1 - LOOKING) * share, note),
    )
    names = [None] * len(demonstrations) if sources is None else sources
    origins = [None] * len(demonstrations) if datasets is None else datasets
    return [
        _audit(pairs, flags.astype(np.float64), judgement, method, given, seed, source, origin)
        for pairs, flags, judgement, seed, source, origin in zip(
            demonstrations, outside, judged, chosen, names, origins, strict=True
        )
    ]


def judging_settings(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Settings of the networks that judge: shorter training than a policy's, unless told otherwise."""
    known = get_method(method)
    if type(known).choose is not Method.choose:
        raise RobustBCError(f"method '{method}' audits by itself; let a plain one judge, such as choicenet.")
    settings = {"steps": STEPS} | given if isinstance(known, NetworkMethod) else dict(given)
    resolved = known.settings(settings)
    if isinstance(resolved, NetworkSettings) and resolved.opening > 0:
        raise RobustBCError(f"method '{method}' holds a duel, and so does the audit; let a plain one judge: choicenet.")
    return settings


def _audit(
    pairs: Demonstrations,
    outside: Floats,
    judgement: Judgement,
    method: str,
    settings: dict[str, Any],
    seed: int,
    sources: Sequence[str] | None,
    dataset: str | None,
) -> Audit:
    good, spread = judgement.good, judgement.spread
    if single_pairs(pairs.episodes):
        # A single pair may stand among strangers, where all begin; it is none of them if it does what is expected.
        outside = np.where(good > SURELY_KNOWN, 0.0, outside)
        if judgement.explains:
            again = look_again(pairs, (1 - outside) * good, strangers=bool(outside.any()))
            outside = np.where(again > SUSPECT_BELOW, 0.0, outside)
            judged = np.where(outside > 0, good, again)
            spread = np.maximum(spread, np.abs(judged - good) / np.sqrt(2))  # whoever judged anew may be wrong, too
            good = judged
    quality = (1 - outside) * good
    return Audit(
        quality=quality,
        spread=(1 - outside) * spread,
        conflict=1 - good,
        foreign=outside,
        episodes=pairs.episodes,
        rate=corruption_rate(quality),
        method=method,
        settings=settings,
        seed=seed,
        dataset=dataset,
        pairs_sha256=pairs_digest([pairs]),
        sources=None if sources is None else tuple(sources),
        explains=judgement.explains,
        settled=judgement.settled,
    )


def corruption_rate(quality: Floats) -> Estimate:
    """The share of these very pairs that is corrupt: at least those that surely are, at most all but the surely good.

    Not by resampling: the question is about the pile at hand, not about others that the same people might have made.
    """
    value = float(np.mean(1 - quality))
    low, high = float(np.mean(quality <= SURELY_BAD)), float(np.mean(quality < SURELY_GOOD))
    return Estimate(value, min(low, value), max(high, value))
