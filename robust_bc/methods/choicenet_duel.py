"""`choicenet-duel`: ChoiceNet that is shown first what stands a duel of two functions, and then everything.

A demonstrator with a policy of its own is learned as well as the good one, and which of the two the target takes up in
a region is decided early, while its variance τ⁻¹ is still wide; ChoiceNet's loss has an optimum for each. Two Gaussian
processes with one length for all states do not jump between functions from region to region, so they tell before
training which pairs contradict the function that owns most (`robust_bc/auditing/duel.py`). During the opening only the
others are shown. Then all pairs are, and a mixture that is where it should be tells good from bad by itself: honest
pairs that the duel was wrong about are learned from, too.

Where one function explains everything about as well, as with clean pairs, all stand, and it is ChoiceNet with other
draws. The duel knows actions and states only: bad episodes in states of their own (`rollout`) stand it, and pairs of an
episode stand or fall one by one. It takes seconds, for at most 500 pairs take part; the others are looked up. And it
can be lost: where the bad policy is as smooth and has nearly half of the pairs, it may win the duel as a whole.

References: Choi et al. 2020 for ChoiceNet; Lázaro-Gredilla, Van Vaerenbergh & Lawrence 2012 for the duel's model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robust_bc.auditing.duel import standing_pairs
from robust_bc.demonstrations import Demonstrations
from robust_bc.methods.choicenet import ChoiceNet, ChoiceNetSettings


@dataclass(frozen=True, kw_only=True)
class ChoiceNetDuelSettings(ChoiceNetSettings):
    """Settings of ChoiceNet, and how long it is shown only what stands a duel."""

    duel_first: float = 0.6
    """Share of training, to the nearest 25 steps, that shows only pairs that stand the duel; 0 is ChoiceNet. Of 0.3 and
    0.6 this had the higher returns on mixes of no table (seeds 200 to 205)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_share("duel_first")

    @property
    def opening(self) -> float:
        return self.duel_first


class ChoiceNetDuel(ChoiceNet):
    """ChoiceNet with an opening."""

    name = "choicenet-duel"
    summary = "choicenet, first on what a duel of two Gaussian processes leaves; assumes that good actions are smooth"
    when = "for up to 40 % single bad actions of a hostile demonstrator; seconds more"
    settings_type = ChoiceNetDuelSettings
    revision = 1

    def shown_first(self, settings: ChoiceNetSettings, pairs: Demonstrations, seed: int) -> NDArray[np.bool_]:
        return standing_pairs(pairs.observations, pairs.actions, seed)
