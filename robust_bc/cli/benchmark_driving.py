"""`robust-bc benchmark driving`: the paper's driving table, with intervals, an oracle and a transfer test."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from robust_bc.cli.arguments import Device, Names, Rates, parse
from robust_bc.cli.benchmark_control import (
    HIDDEN,
    HOWS,
    QUICK_RATES,
    QUICK_SEEDS,
    ControlRequest,
    execute,
    first_to_last,
    known,
    same_trunk,
)

if TYPE_CHECKING:
    from robust_bc.benchmark.control_rows import Results
    from robust_bc.report import Replay

COMMAND = "benchmark driving"
TASK = "lane-driving"
QUICK_EPISODES = 100


@dataclass(frozen=True)
class DrivingArguments:
    """Fit every method to safe demonstrations with growing shares of careless ones, and let the policies drive.

    Tables show how often a policy collides and how far it strays from the lane's centre, over all seeds. Every finished
    cell is kept: an interrupted benchmark goes on where it stopped.

    Example: robust-bc benchmark driving --rates 0,0.3 --seeds 3 --episodes 200
    """

    hows: Names = ("rollout",)
    """Ways to corrupt, of rollout, relabel, flip and uniform (`robust-bc mix --help` tells what they are)."""
    rates: Rates | None = None
    """Shares of careless pairs, at least 0 and below 1; without, 0,0.1,0.2,0.3,0.4."""
    methods: Names = ("choicenet", "mdn", "mlp")
    """Methods to compare; `robust-bc methods` lists them."""
    pairs: int = 2000
    """Pairs of state and action that each policy learns from; of 500, even the oracle's policies sometimes collide."""
    hidden: tuple[int, ...] = HIDDEN
    """Widths of the hidden layers, the same for every method."""
    seeds: int | None = None
    """Number of seeds per cell; data and start of a fit come from its seed, the same for every method. Without, 10."""
    seed: int = 0
    """The first seed."""
    episodes: int | None = None
    """Episodes in which each policy is measured, the same for all; without, 1000."""
    road: Literal["straight", "curved"] = "straight"
    """Where policies are measured; demonstrations are always of the straight road, so curved is a transfer test."""
    quick: bool = False
    """A few minutes: 2 seeds, rates 0 and 0.3, 100 episodes, unless said otherwise."""
    device: Device = "auto"
    """Where to fit; auto takes CUDA, then MPS, then the CPU."""
    out: Path | None = None
    """Folder for cells, tables and the report; without, runs/benchmark-driving, with -curved or -quick behind."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(
        request(
            parse(DrivingArguments, f"robust-bc {COMMAND}", args), shlex.join(["robust-bc", *COMMAND.split(), *args])
        )
    )


def request(given: DrivingArguments, command: str) -> ControlRequest:
    """The benchmark that these arguments mean, checked."""
    from robust_bc.benchmark.control_plan import ControlPlan
    from robust_bc.benchmark.control_tables import DRIVING, without_paper

    quick, curved = given.quick, given.road == "curved"
    variant, out = "curved" if curved else "", given.out
    out = out or Path("runs/benchmark-driving" + "-curved" * curved + "-quick" * quick)

    def extra(results: Results) -> dict[str, list[Replay]]:
        from robust_bc.benchmark.control import POLICIES_FOLDER
        from robust_bc.cli.benchmark_replays import replays
        from robust_bc.cli.control_source import TeacherSource

        return replays(results, out / POLICIES_FOLDER / variant, TASK, TeacherSource(given.pairs).expert(TASK))

    return ControlRequest(
        title="driving benchmark",
        command=command,
        plan=ControlPlan(
            tasks=(TASK,),
            hows=known("way to corrupt", given.hows, HOWS),
            rates=given.rates if given.rates is not None else QUICK_RATES if quick else (0.0, 0.1, 0.2, 0.3, 0.4),
            methods=given.methods,
            seeds=first_to_last(given.seed, given.seeds if given.seeds is not None else QUICK_SEEDS if quick else 10),
            pairs=given.pairs,
            method_settings=same_trunk(given.methods, given.hidden),
            episodes=given.episodes if given.episodes is not None else QUICK_EPISODES if quick else 1000,
            settings={"shape": "curved"} if curved else {},
        ),
        shown=without_paper(DRIVING) if curved else DRIVING,  # the paper's road is straight
        out=out,
        device=given.device,
        variant=variant,
        json=given.json,
        facts={"road": f"{given.road}; demonstrations are of the straight road"},
        extra=extra,
    )
