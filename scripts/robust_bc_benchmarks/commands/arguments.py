"""Arguments that all benchmarks of policies share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.arguments import Device, EnvironmentSettings, Names, Rates
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.commands.running import first_to_last

if TYPE_CHECKING:
    from robust_bc_benchmarks.core.plan import Plan

QUICK_RATES, QUICK_SEEDS, SEEDS = (0.0, 0.3), 2, 10


@dataclass(frozen=True, kw_only=True)
class BenchmarkArguments:
    """What all of them can be told."""

    rates: Rates | None = None
    """Shares of bad pairs, at least 0 and below 1."""
    methods: Names = ("auto", "choicenet", "mlp")
    """Methods to compare; `robust-bc methods` lists them, `all` and `neural` stand for many. choicenet@mixtures=2 has
    another setting; trimmed@rate=true is told the true rate, which nobody knows outside of a benchmark; mlp+clean
    learns from what an audit keeps, and auto also chooses the method."""
    common: EnvironmentSettings = ()
    """Settings of all methods, as far as they have them, for example hidden=128x128,steps=4000."""
    seeds: int | None = None
    """Number of seeds; data and start of a fit come from its seed, the same for every method. Without, 10."""
    seed: int = 0
    """The first seed."""
    device: Device = "auto"
    """Where to fit; auto takes CUDA, then MPS, then the CPU."""
    jobs: int = 1
    """Processes."""
    out: Path | None = None
    """Folder for cells, tables and the page; without, one in runs/ that is named after the benchmark."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""
    quick: bool = False
    """A few minutes: 2 seeds and rates 0 and 0.3, and a tenth of the episodes, unless said otherwise."""

    def plan(self, tasks: Names, kinds: Names, rates: tuple[float, ...], **common: Any) -> Plan:
        """With these tasks, kinds, usual rates and usual settings."""
        from robust_bc_benchmarks.core.contenders import expand, layers
        from robust_bc_benchmarks.core.plan import Plan

        if self.jobs < 1:
            raise RobustBCError(f"--jobs must be at least 1, but it is {self.jobs}.")
        usual = QUICK_RATES if self.quick else rates
        seeds = (QUICK_SEEDS if self.quick else SEEDS) if self.seeds is None else self.seeds
        return Plan(
            tasks=tasks,
            kinds=kinds,
            rates=usual if self.rates is None else self.rates,
            methods=expand(self.methods),
            seeds=first_to_last(self.seed, seeds),
            common={**common, **{name: layers(name, value) for name, value in self.common}},
        )

    def folder(self, name: str) -> Path:
        """Where it goes."""
        return self.out or Path(f"runs/benchmark-{name}" + "-quick" * self.quick)
