"""`choicenet-clean`: audit the demonstrations, leave out what is probably bad, and learn from the rest.

    fit, audit, drop, fit again, until hardly a verdict changes (robust_bc/auditing), and then
    an ensemble of ChoiceNets on the pairs whose quality is above one half.

The audit judges every pair by networks that never saw it, and finds what a single network cannot: pairs of another
source in states of their own, and a rival that is learned as well as the good demonstrator. No clean pair, no label and
no rate is asked for. Where episodes have several steps, those that are bad throughout go as a whole; single pairs are
sorted by a duel of two smooth functions first.

It costs the audit (up to five rounds of ten short networks) and an ensemble. The rest is still learned by ChoiceNet,
for the audit overlooks some bad pairs. What it needs beyond `choicenet` is the successor of each pair, to tell sources
apart; demonstrations without (plain arrays) are judged by their actions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from robust_bc.auditing import REVISION
from robust_bc.auditing.audits import audit_fleet
from robust_bc.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods.choicenet import ChoiceNet, ChoiceNetSettings

JUDGE = "choicenet"


@dataclass(frozen=True, kw_only=True)
class ChoiceNetCleanSettings(ChoiceNetSettings):
    """Settings of the ensemble that learns from what the audit leaves.

    Of them the audit takes `action_scaling` and at most `judge_steps` steps; its networks are else of default settings.
    """

    ensemble: int = 5
    """Networks whose actions are averaged."""
    judge_steps: int = 600
    """Optimiser steps of a network that judges, at most `steps`; up to fifty such networks are trained."""
    keep_above: float = 0.5
    """Quality from which a pair is learned from: the probability that it is good."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "ensemble", "judge_steps")
        self.require("keep_above", 0 <= self.keep_above < 1, "at least 0 and below 1")

    @property
    def peers(self) -> int:
        return self.ensemble

    @property
    def steps_before(self) -> int:
        return 4 * self.judge_steps


class ChoiceNetClean(ChoiceNet):
    """ChoiceNet on the pairs that an audit trusts."""

    name = "choicenet-clean"
    summary = "audits, drops what is probably bad, learns from the rest; assumes that most pairs are good everywhere"
    when = "when demonstrations matter more than minutes, and for bad episodes in states of their own"
    settings_type = ChoiceNetCleanSettings
    revision = REVISION

    def choose(
        self,
        settings: ChoiceNetSettings,
        demonstrations: Sequence[Demonstrations],
        seeds: Sequence[int],
        device: torch.device,
        progress: Callable[[float], None],
    ) -> Sequence[Demonstrations]:
        assert isinstance(settings, ChoiceNetCleanSettings)
        audits = audit_fleet(
            demonstrations,
            JUDGE,
            seeds,
            device,
            lambda share, note: progress(share),
            steps=min(settings.judge_steps, settings.steps),
            action_scaling=settings.action_scaling,
        )
        kept = [audit.quality > settings.keep_above for audit in audits]
        for seed, flags in zip(seeds, kept, strict=True):
            if int(flags.sum()) < MINIMUM_PAIRS:
                raise RobustBCError(
                    f"the audit with seed {seed} finds fewer than {MINIMUM_PAIRS} pairs with a quality above"
                    f" {settings.keep_above}; lower keep_above, or give more demonstrations."
                )
        return [pairs.select(flags) for pairs, flags in zip(demonstrations, kept, strict=True)]
