"""What `auto` chooses: a method, by the number of pairs and by whether they come in whole episodes."""

from __future__ import annotations

import numpy as np

from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.policies.choice import Choice
from robust_bc.policies.cleaning import Cleaning

CANDIDATES = ("choicenet", "gpr", "rgpr", "mlp")
"""Methods that may be chosen."""
SHORTEST_EPISODE = AuditSettings.shortest_episode
"""Mean length from which on pairs come in whole episodes: the audit compares them, and little that is bad is left."""
MOST_FOR_A_PROCESS = 4000
"""Pairs up to which a Gaussian process is taken: of so many it is exact, of more `mlp` was ahead (docs/defaults.md)."""
MOST_FOR_A_MIXTURE = 1000
"""Single pairs up to which `rgpr` is taken: it repeats many times what `gpr` does once. What it and `choicenet` made of
500 is in docs/mujoco-pairs.md."""


def choose(demonstrations: Demonstrations) -> Choice:
    """The method for these pairs, which are what an audit has left.

    Whole episodes: the audit has found the bad ones, and `gpr` gives each of the others a noise of its own; of many
    pairs `mlp` learns more. Single pairs: an audit finds fewer of the bad ones, so a robust learner, which is `rgpr` as
    long as the pairs are very few, and `choicenet` beyond.
    """
    pairs, episodes = len(demonstrations), len(np.unique(demonstrations.episodes))
    if pairs < SHORTEST_EPISODE * episodes:
        method = "rgpr" if pairs <= MOST_FOR_A_MIXTURE else "choicenet"
        return Choice(
            method, reason=f"{method}, for among {pairs:,} single pairs bad ones may be left, and it is robust."
        )
    if pairs <= MOST_FOR_A_PROCESS:
        return Choice(
            "gpr", reason=f"gpr, for {pairs:,} pairs of whole episodes are few enough for a Gaussian process."
        )
    return Choice("mlp", reason=f"mlp, for {pairs:,} pairs of whole episodes are too many for a Gaussian process.")


def said_of(cleaning: Cleaning | None) -> str:
    """What the audit dropped, in a sentence."""
    if cleaning is None:
        return "no audit was asked for."
    if not cleaning.dropped:
        return cleaning.reason[:1].lower() + cleaning.reason[1:]
    unit = "pairs" if cleaning.episodes == cleaning.pairs else "episodes"
    share = f"{100 * (1 - cleaning.kept / cleaning.pairs):.0f} %"
    dropped = f"the audit dropped {len(cleaning.dropped):,} of {cleaning.episodes:,} {unit}"
    return f"{dropped} ({share}{' of the pairs' * (unit == 'episodes')})."
