"""How wide a network is and how long it trains where nobody says: one rule by the number of pairs, for every method."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeVar

from robust_bc.methods.network import NetworkSettings
from robust_bc.methods.settings import Settings

HIDDEN = (256, 256)
"""Widths of the hidden layers."""
BATCH_SIZE = 256
"""Pairs per step."""
PASSES = 512
"""How often each pair is seen, where pairs are few: after more, networks know bad ones by heart (docs/defaults.md)."""
PAIRS, STEPS = 8000, 16_000
"""From so many pairs on, four times the pairs get twice the steps: each is then seen half as often."""
UNIT = 100
"""Steps are a multiple of this, so that a few pairs more or less change nothing."""
FEWEST_STEPS, MOST_STEPS = 500, 100_000
"""Whatever the number of pairs."""

SettingsType = TypeVar("SettingsType", bound=Settings)


def steps_for(pairs: int) -> int:
    """Steps for so many pairs."""
    wanted = min(PASSES * pairs / BATCH_SIZE, STEPS * math.sqrt(pairs / PAIRS))
    return min(max(UNIT * round(wanted / UNIT), FEWEST_STEPS), MOST_STEPS)


def with_budget(settings: SettingsType, pairs: int) -> SettingsType:
    """The same settings with nothing left open: what was not given follows the rule."""
    if not isinstance(settings, NetworkSettings):
        return settings
    return replace(
        settings,
        hidden=HIDDEN if settings.hidden is None else settings.hidden,
        steps=steps_for(pairs) if settings.steps is None else settings.steps,
        batch_size=BATCH_SIZE if settings.batch_size is None else settings.batch_size,
    )


def rule() -> dict[str, Any]:
    """All numbers of the rule, for whoever keeps results that depend on it."""
    return {
        "hidden": HIDDEN,
        "batch_size": BATCH_SIZE,
        "steps": [PASSES, STEPS, PAIRS, UNIT, FEWEST_STEPS, MOST_STEPS],
    }
