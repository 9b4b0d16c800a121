"""`audit`: which demonstrations are bad, by checks, by agreement with the others and by conflict with the majority."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from robust_bc.auditing.audit import Audit
from robust_bc.auditing.estimates import Estimate
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.judging.checks import run_checks
from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.auditing.judging.scaled import Flags, Floats, Scaled
from robust_bc.auditing.judging.single_pairs import judge_single_pairs
from robust_bc.auditing.judging.verdict import Judged, cannot_tell, judge_episodes
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.fingerprints import pairs_digest
from robust_bc.errors import RobustBCError
from robust_bc.system.progress import Progress
from robust_bc.system.seeding import check_seed

CHECKING = 0.2
"""Share of an audit's progress that the checks have."""


def audit(
    demonstrations: Demonstrations,
    seed: int = 0,
    progress: Progress | None = None,
    sources: Sequence[str] | None = None,
    dataset: str | None = None,
    **settings: Any,
) -> Audit:
    """Which demonstrations are bad, why, and what cannot be told.

    Nothing is assumed to be clean, and no rate is asked for; but most pairs must be good. `sources` names the source of
    each episode, in the order of `np.unique(demonstrations.episodes)`. `settings` are those of `AuditSettings`.
    """
    chosen = audit_settings(settings)
    check_seed(seed)
    tell = progress or (lambda share, note: None)
    tell(0.0, "checking")
    findings = run_checks(demonstrations, seed)
    judged = judge(
        demonstrations, findings, chosen, seed, lambda share, note: tell(CHECKING + (1 - CHECKING) * share, note)
    )
    return assemble(demonstrations, judged, findings, chosen, seed).about(
        dataset, None if sources is None else tuple(sources)
    )


def audit_settings(given: dict[str, Any]) -> AuditSettings:
    """Settings with these values; an unknown name is an error that lists the known ones."""
    known = [field.name for field in fields(AuditSettings)]
    for name in given:
        if name not in known:
            raise RobustBCError(f"an audit has no setting '{name}'; it has: {', '.join(known)}.")
    return AuditSettings(**given)


def judge(
    demonstrations: Demonstrations,
    findings: Sequence[Finding],
    settings: AuditSettings,
    seed: int,
    tell: Progress,
) -> Judged:
    """All but the checks, and without the episodes that these found to be spoiled."""
    spoiled = np.isin(demonstrations.episodes, spoiled_episodes(findings))
    if not spoiled.any():
        return _judge(demonstrations, settings, seed, tell)
    found = _judge(demonstrations.select(~spoiled), settings, seed, tell)
    names = np.unique(demonstrations.episodes)
    fair = ~np.isin(names, spoiled_episodes(findings))
    agreement = found.agreement
    if agreement is not None:
        scores = _filled(agreement.scores, fair, float(agreement.scores.max()))
        agreement = replace(agreement, compared=np.flatnonzero(fair)[agreement.compared], scores=scores)
    expected = np.array(demonstrations.actions, np.float64)
    expected[~spoiled] = found.expected
    return Judged(
        _filled(found.episode_clean, fair, 0.0),
        _filled(found.scores, fair, float(found.scores.max())),
        _filled(found.known, fair, 0.0),
        _filled(found.conflict, ~spoiled, 0.0),
        expected,
        agreement,
        found.undecided,
    )


def spoiled_episodes(findings: Sequence[Finding]) -> list[int]:
    """Their numbers."""
    return [one.episode for one in findings if one.spoils and one.episode is not None]


def _filled(values: Floats, where: Flags, otherwise: float) -> Floats:
    whole = np.full(len(where), otherwise)
    whole[where] = values
    return whole


def _judge(demonstrations: Demonstrations, settings: AuditSettings, seed: int, tell: Progress) -> Judged:
    """By episodes, or pair by pair where episodes are too short."""
    scaled = Scaled.of(demonstrations)
    if not scaled.live.any():
        return cannot_tell(scaled, demonstrations, "all actions are the same, so there is nothing to disagree about.")
    episodes = len(scaled.grouping.names)
    if len(scaled) < settings.shortest_episode * episodes:
        return judge_single_pairs(scaled, demonstrations, settings, seed, tell)
    if episodes < settings.fewest_episodes:
        return cannot_tell(
            scaled,
            demonstrations,
            f"there {'is' if episodes == 1 else 'are'} {episodes} episode{'s' * (episodes != 1)} only, and it takes"
            f" {settings.fewest_episodes} to tell which of them is the exception.",
        )
    return judge_episodes(scaled, demonstrations, settings, seed, tell)


def assemble(
    demonstrations: Demonstrations,
    judged: Judged,
    findings: Sequence[Finding],
    settings: AuditSettings,
    seed: int,
) -> Audit:
    """The audit that its parts lead to."""
    grouping = Grouping.of(demonstrations.episodes)
    spoiled = np.isin(grouping.names, spoiled_episodes(findings))
    told = judged.episode_clean if judged.undecided is None else np.full(len(spoiled), 0.5)
    episode_clean = np.where(spoiled, 0.0, told)
    scores = np.where(spoiled, judged.scores.max() + 1, judged.scores)
    # A pair of a bad episode is bad, unless each was judged for itself; any other is bad if its action is in conflict.
    of_episode = np.where(spoiled, 0.0, 1.0) if judged.agreement is None and judged.undecided is None else episode_clean
    clean = of_episode[grouping.places] * (1 - judged.conflict if judged.undecided is None else 1.0)
    return Audit(
        clean=clean,
        conflict=judged.conflict,
        shown=np.asarray(demonstrations.actions, np.float64),
        expected=judged.expected,
        episodes=demonstrations.episodes,
        episode_clean=episode_clean,
        scores=scores,
        known=np.clip(judged.known, 0, 1),
        agreement=judged.agreement,
        findings=tuple(findings),
        rate=bad_rate(episode_clean, clean, grouping.places, settings),
        undecided=judged.undecided,
        settings=settings,
        seed=seed,
        dataset=None,
        pairs_sha256=pairs_digest([demonstrations]),
    )


def bad_rate(episode_clean: Floats, clean: Floats, places: Any, settings: AuditSettings) -> Estimate:
    """The share of these very pairs that is bad: at least those beyond doubt, at most all but those surely clean.

    Not by resampling: the question is about the pile at hand, not about others that the same people might have made.
    """
    by_episode = 1 - episode_clean[places]
    moments = (clean < settings.doubt) & (by_episode < 0.5)  # bad moments of good episodes
    value = float(np.mean(np.where(moments, 1.0, by_episode)))
    low = float(np.mean(clean < settings.doubt))
    high = float(np.mean(moments | (by_episode > settings.doubt)))
    return Estimate(value, min(low, value), max(high, value))
