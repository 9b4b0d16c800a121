"""Cleaning: what an audit leaves out before a policy learns, and why, in a sentence."""

from __future__ import annotations

import numpy as np

from robust_bc.auditing.results import AuditResults
from robust_bc.policies.cleaning import Cleaning

MOST_NAMED = 10
"""Episodes that the sentence names one by one."""


def cleaning_of(audit: AuditResults) -> Cleaning:
    """What `audit.keep()` leaves out."""
    kept = audit.keep()
    names = np.unique(audit.episodes)
    dropped = np.setdiff1d(names, audit.episodes[kept]).tolist()
    return Cleaning(
        pairs=len(audit),
        kept=int(kept.sum()),
        episodes=len(names),
        dropped=tuple(dropped),
        rate=audit.rate.value,
        verdict=audit.verdict,
        reason=_reason(audit, dropped, len(names)),
    )


def _reason(audit: AuditResults, dropped: list[int], episodes: int) -> str:
    if unused := audit.why_kept():
        return unused
    if not dropped:
        return "Nothing is left out: the audit found no bad episode."
    unit = "pairs" if audit.single_pairs else "episodes"
    faulty = {finding.episode for finding in audit.findings if finding.spoils}.intersection(dropped)
    causes = {"faults of the recording": len(faulty), "disagreement with the majority": len(dropped) - len(faulty)}
    many = all(causes.values())
    said = [
        f"{count} because of {cause}" if many else f"because of {cause}" for cause, count in causes.items() if count
    ]
    named = f" ({', '.join(map(str, dropped))})" if len(dropped) <= MOST_NAMED else ""
    return f"The audit left out {len(dropped)} of {episodes} {unit}{named}, {' and '.join(said)}."
