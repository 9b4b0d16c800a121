"""An audit in a few sentences, all of them computed from its numbers."""

from __future__ import annotations

from robust_bc.auditing.results import ALARM_FROM, SUSPECT_BELOW, Audit, Estimate
from robust_bc.auditing.truth import Truth


def percent(share: float) -> str:
    """30 %, or 2.5 %."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def interval(estimate: Estimate) -> str:
    """Surely 25 %, at most 35 %."""
    return f"surely {percent(estimate.low)}, at most {percent(estimate.high)}"


def headline(audit: Audit) -> str:
    """Whether there is something to worry about, and how much."""
    pairs = f"{int(audit.suspects.sum())} of {len(audit)} pairs are suspect"
    if not audit.single_pairs:
        means = audit.episode_quality[0]
        flagged, episodes = int((means < SUSPECT_BELOW).sum()), len(means)
        pairs = f"{flagged} of {episodes} episode{'s' * (episodes != 1)} and {pairs}"
    if not audit.explains:
        return (
            "Nothing can be said for sure: the networks that judged explain the actions hardly better than actions of"
            f" other pairs would. {pairs}; an estimated {percent(audit.rate.value)} are corrupt."
        )
    doubt = "" if audit.settled else " The verdicts had not stopped changing."
    if audit.alarm:
        rate = f"an estimated {percent(audit.rate.value)} of the pairs are corrupt ({interval(audit.rate)})"
        return f"{pairs}; {rate}.{doubt}"
    return (
        f"No alarm is raised: an estimated {percent(audit.rate.value)} of the pairs are corrupt"
        f" ({interval(audit.rate)}), below the {percent(ALARM_FROM)} from which the audit warns; {pairs}.{doubt}"
    )


def truth_sentences(audit: Audit, truth: Truth) -> list[str]:
    """How well the audit did, for a dataset with hidden labels."""
    miss = 100 * (audit.rate.value - truth.rate)
    inside = "inside" if audit.rate.low <= truth.rate <= audit.rate.high else "outside"
    sentences = [
        f"By the hidden labels, {percent(truth.rate)} of the pairs are corrupt: the estimate is {abs(miss):.1f} points"
        f" too {'high' if miss > 0 else 'low'}, and the truth is {inside} its interval."
        if round(abs(miss), 1)
        else f"By the hidden labels, {percent(truth.rate)} of the pairs are corrupt, just as estimated.",
        _told_apart("pairs", truth.pair_auroc, truth.pair_average_precision),
    ]
    if not audit.single_pairs:
        sentences.append(_told_apart("episodes", truth.episode_auroc, truth.episode_average_precision))
    return sentences


def _told_apart(what: str, auroc: float | None, precision: float | None) -> str:
    if auroc is None or precision is None:
        return f"All {what} are of one kind, so there is nothing to tell apart."
    return f"Corrupt {what} are told from clean ones with an AUROC of {auroc:.3f}, average precision {precision:.3f}."
