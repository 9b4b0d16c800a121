"""What methods share that audit the demonstrations first, and learn from the pairs that are probably good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from robust_bc.auditing.audits import audit_fleet
from robust_bc.auditing.results import Audit
from robust_bc.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods.settings import Settings

JUDGE = "choicenet"
SURE = 0.2
"""Share of the estimated corrupt pairs that must surely be corrupt, if the judges explain little. Of lane-driving,
clean or not, it was 0.04 to 0.18; of uniform outliers, judged by shortly trained networks, 0.16 to 0.65."""


@dataclass(frozen=True, kw_only=True)
class CleaningSettings(Settings):
    """Settings of the audit; it also takes `action_scaling`, and its networks are else of default settings."""

    judge_steps: int = 600
    """Optimiser steps of a network that judges, never more than `steps`; some sixty such networks may be trained."""
    keep_above: float = 0.5
    """Quality from which a pair is learned from: the probability that it is good."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "judge_steps")
        self.require("keep_above", 0 <= self.keep_above < 1, "at least 0 and below 1")

    @property
    def steps_before(self) -> int:
        return 4 * self.judge_steps


def keep_trusted(
    settings: CleaningSettings,
    judge_steps: int,
    demonstrations: Sequence[Demonstrations],
    seeds: Sequence[int],
    device: torch.device,
    progress: Callable[[float], None],
) -> list[Demonstrations]:
    """Of each data set, the pairs that its audit trusts.

    All of them where the audit cannot tell (`_can_tell`): what would be dropped then is what is rare, such as swerving
    round a car. `learned_from` tells that it was so.
    """
    audits = audit_fleet(
        demonstrations,
        JUDGE,
        seeds,
        device,
        lambda share, note: progress(share),
        steps=judge_steps,
        action_scaling=settings.action_scaling,
    )
    kept = [
        audit.quality > settings.keep_above if _can_tell(audit) else np.ones(len(audit), np.bool_) for audit in audits
    ]
    for seed, flags in zip(seeds, kept, strict=True):
        if int(flags.sum()) < MINIMUM_PAIRS:
            raise RobustBCError(
                f"the audit with seed {seed} finds fewer than {MINIMUM_PAIRS} pairs with a quality above"
                f" {settings.keep_above}; lower keep_above, or give more demonstrations."
            )
    return [pairs.select(flags) for pairs, flags in zip(demonstrations, kept, strict=True)]


def _can_tell(audit: Audit) -> bool:
    """Not if the actions of single pairs are explained hardly better than by chance, and next to no suspect is sure."""
    return audit.explains or not audit.single_pairs or audit.rate.low >= SURE * audit.rate.value
