"""Arguments that `robust-bc benchmark mujoco` and `robust-bc benchmark driving` share, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_bc.cli.arguments import Device, Names, Rates
from robust_bc.errors import RobustBCError

HIDDEN = (128, 128)
"""The trunk of every method: with the 64 of `fit`'s defaults, clean pairs of a walker are not learned well either."""
HOWS = ("rollout", "relabel", "flip", "uniform")
QUICK_RATES, RATES = (0.0, 0.3), (0.0, 0.1, 0.2, 0.3, 0.4)
QUICK_SEEDS, SEEDS = 2, 10


@dataclass(frozen=True, kw_only=True)
class ControlArguments:
    """What both can be told."""

    rates: Rates | None = None
    """Shares of bad pairs, at least 0 and below 1; without, 0,0.1,0.2,0.3,0.4."""
    methods: Names = ("choicenet", "mdn", "mlp")
    """Methods to compare; `robust-bc methods` lists them, `all` and `neural` stand for many. trimmed+rate is trimmed
    with the true rate, which nobody knows outside of a benchmark; mlp+restarts keeps the best of five starts;
    mlp+clean learns from what an audit keeps."""
    hidden: tuple[int, ...] = HIDDEN
    """Widths of the hidden layers, the same for every method."""
    seeds: int | None = None
    """Number of seeds per cell; data and start of a fit come from its seed, the same for every method. Without, 10."""
    seed: int = 0
    """The first seed."""
    device: Device = "auto"
    """Where to fit; auto takes CUDA, then MPS, then the CPU."""
    out: Path | None = None
    """Folder for cells, tables and the report; without, one in runs/ that is named after the benchmark."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""
    quick: bool = False
    """A few minutes: 2 seeds, rates 0 and 0.3 and a tenth of the episodes, unless said otherwise."""

    def plan(self) -> dict[str, Any]:
        """Their part of a `ControlPlan`."""
        from robust_bc_benchmarks.contenders import expand

        rates, seeds = (QUICK_RATES, QUICK_SEEDS) if self.quick else (RATES, SEEDS)
        methods = expand(self.methods)
        return {
            "rates": rates if self.rates is None else self.rates,
            "methods": methods,
            "seeds": first_to_last(self.seed, seeds if self.seeds is None else self.seeds),
            "method_settings": same_trunk(methods, self.hidden),
        }


def first_to_last(seed: int, seeds: int) -> tuple[int, ...]:
    """So many seeds from the first on."""
    if seeds < 1:
        raise RobustBCError(f"--seeds must be at least 1, but it is {seeds}.")
    return tuple(range(seed, seed + seeds))


def same_trunk(methods: Sequence[str], hidden: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """The same hidden layers for every method that has such, and for the oracle."""
    from robust_bc_benchmarks.contenders import ORACLE, find_contender

    return {name: find_contender(name).takes({"hidden": hidden}) for name in (*methods, ORACLE)}


def known(what: str, given: Sequence[str], choices: Sequence[str]) -> tuple[str, ...]:
    """What was given, if all of it is known."""
    for name in given:
        if name not in choices:
            raise RobustBCError(f"there is no {what} '{name}' in this benchmark; it has {', '.join(choices)}.")
    return tuple(given)
