"""Audits made by hand, for tests of what comes after the judging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robust_bc.auditing.audits import corruption_rate
from robust_bc.auditing.results import Audit, Estimate
from robust_bc.demonstrations import Demonstrations
from robust_bc.training.checkpoint import pairs_digest


def make_audit(
    quality: ArrayLike, episodes: ArrayLike | None = None, sources: Sequence[str] | None = None, **more: Any
) -> Audit:
    """An audit of just these qualities; what is bad is so by conflict."""
    scores = np.asarray(quality, np.float64)
    index = np.arange(len(scores)) if episodes is None else np.asarray(episodes)
    given: dict[str, Any] = {
        "quality": scores,
        "spread": np.full(len(scores), 0.05),
        "conflict": 1 - scores,
        "foreign": np.zeros(len(scores)),
        "episodes": index,
        "rate": corruption_rate(scores) if "rate" not in more else None,
        "method": "choicenet",
        "settings": {"hidden": (64, 64)},
        "seed": 0,
        "dataset": "test/pairs-v0",
        "pairs_sha256": "0" * 64,
        "sources": None if sources is None else tuple(sources),
    }
    return Audit(**{**given, **more})


def audit_of(pairs: Demonstrations, bad: ArrayLike, dataset: str, **more: Any) -> Audit:
    """An audit that judges the pairs (N,) that are bad by 0.1 and the others by 0.9, but for a little noise."""
    wrong = np.asarray(bad, np.bool_)
    noise = np.random.default_rng(0).uniform(-0.05, 0.05, len(wrong))
    quality = np.where(wrong, 0.1, 0.9) + noise
    about = {"dataset": dataset, "pairs_sha256": pairs_digest([pairs])}
    return make_audit(quality, pairs.episodes, **{**about, **more})


CERTAIN = Estimate(0.3, 0.25, 0.35)
