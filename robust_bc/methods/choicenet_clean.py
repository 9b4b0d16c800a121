"""`choicenet-clean`: audit the demonstrations, leave out what is probably bad, and learn from the rest.

    fit, audit, drop, fit again, until hardly a verdict changes (robust_bc/auditing), and then
    an ensemble of ChoiceNets on the pairs whose quality is above one half.

The audit judges every pair by networks that never saw it, and finds what a single network cannot: pairs of another
source in states of their own, and a rival that is learned as well as the good demonstrator. No clean pair, no label and
no rate is asked for. Where episodes have several steps, those that are bad throughout go as a whole.

It costs the audit (up to some sixty short networks) and an ensemble. The rest is still learned by ChoiceNet,
for the audit overlooks some bad pairs. What it needs beyond `choicenet` is the successor of each pair, to tell sources
apart; demonstrations without (plain arrays) are judged by their actions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from robust_bc.auditing import REVISION
from robust_bc.demonstrations import Demonstrations
from robust_bc.methods.choicenet import ChoiceNet, ChoiceNetSettings
from robust_bc.methods.cleaning import CleaningSettings, keep_trusted


@dataclass(frozen=True, kw_only=True)
class ChoiceNetCleanSettings(CleaningSettings, ChoiceNetSettings):
    """Settings of the audit, and of the ensemble that learns from what it leaves."""

    ensemble: int = 5
    """Networks whose actions are averaged."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "ensemble")

    @property
    def peers(self) -> int:
        return self.ensemble


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
        judge_steps = min(settings.judge_steps, settings.steps)
        return keep_trusted(settings, judge_steps, demonstrations, seeds, device, progress)
