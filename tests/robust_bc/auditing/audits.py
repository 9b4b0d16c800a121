"""Audits made by hand, for tests of what comes after the judging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robust_bc.auditing.audit import Audit
from robust_bc.auditing.audits import bad_rate
from robust_bc.auditing.judging.agreement import Agreement
from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.auditing.results import Estimate
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.fingerprints import pairs_digest


def make_audit(
    clean: ArrayLike, episodes: ArrayLike | None = None, sources: Sequence[str] | None = None, **more: Any
) -> Audit:
    """An audit of just these probabilities (N,); an episode has their mean, and what is bad is so by conflict."""
    of_pairs = np.asarray(clean, np.float64)
    pairs = len(of_pairs)
    index = np.arange(pairs) if episodes is None else np.asarray(episodes)
    grouping = Grouping.of(index)
    of_episodes = np.asarray(more.get("episode_clean", grouping.means(of_pairs)))
    shown = np.stack([np.sin(np.arange(pairs)), np.cos(np.arange(pairs))], 1)
    given: dict[str, Any] = {
        "clean": of_pairs,
        "conflict": 1 - of_pairs,
        "shown": shown,
        "expected": shown + np.stack([np.zeros(pairs), 1 - of_pairs], 1),
        "episodes": index,
        "episode_clean": of_episodes,
        "scores": 5 * (0.5 - of_episodes),
        "known": np.full(len(of_episodes), 0.9),
        "agreement": None,
        "findings": (),
        "rate": bad_rate(of_episodes, of_pairs, grouping.places, AuditSettings()),
        "undecided": None,
        "settings": AuditSettings(),
        "seed": 0,
        "dataset": "test/pairs-v0",
        "pairs_sha256": "0" * 64,
        "sources": None if sources is None else tuple(sources),
    }
    return Audit(**{**given, **more})


def audit_of(pairs: Demonstrations, bad: ArrayLike, dataset: str | None, **more: Any) -> Audit:
    """An audit to which the pairs (N,) that are bad have a probability of 0.01 to be clean, and the others of 0.99."""
    clean = np.where(np.asarray(bad, np.bool_), 0.01, 0.99)
    about = {"dataset": dataset, "pairs_sha256": pairs_digest([pairs])}
    return make_audit(clean, pairs.episodes, **{**about, **more})


def agreement_of(bad: Sequence[bool]) -> Agreement:
    """Of all episodes (E,): 0.2 within the good ones, and 1 and more elsewhere."""
    wrong = np.asarray(bad, np.bool_)
    count = len(wrong)
    disagreement = np.where(wrong[:, None] | wrong[None, :], 1.0 + 0.1 * np.add.outer(*[np.arange(count)] * 2), 0.2)
    np.fill_diagonal(disagreement, 0.0)
    return Agreement(np.arange(count), disagreement, ~wrong, 1.5, np.where(wrong, 0.3, -1.5))


CERTAIN = Estimate(0.3, 0.25, 0.35)
