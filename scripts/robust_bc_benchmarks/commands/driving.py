"""`robust-bc benchmark driving`: the paper's driving table, with intervals, an oracle and a transfer test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from robust_bc.cli.arguments import Names, command_line, parse
from robust_bc_benchmarks.commands.control import ControlRequest, execute
from robust_bc_benchmarks.commands.control_arguments import HOWS, ControlArguments, known

if TYPE_CHECKING:
    from robust_bc.report import Replay
    from robust_bc_benchmarks.control.rows import Results

COMMAND = "benchmark driving"
TASK = "lane-driving"
QUICK_EPISODES, EPISODES = 100, 1000


@dataclass(frozen=True, kw_only=True)
class DrivingArguments(ControlArguments):
    """Fit every method to safe demonstrations with growing shares of careless ones, and let the policies drive.

    Tables show how often a policy collides and how far it strays from the lane's centre, over all seeds. Every finished
    cell is kept: an interrupted benchmark goes on where it stopped.

    Example: robust-bc benchmark driving --rates 0,0.3 --seeds 3 --episodes 200
    """

    hows: Names = ("rollout",)
    """Ways to corrupt, of rollout, relabel, flip and uniform (`robust-bc mix --help` tells what they are)."""
    pairs: int = 2000
    """Pairs of state and action that each policy learns from; of 500, even the oracle's policies sometimes collide."""
    episodes: int | None = None
    """Episodes in which each policy is measured, the same for all; without, 1000."""
    road: Literal["straight", "curved"] = "straight"
    """Where policies are measured; demonstrations are always of the straight road, so curved is a transfer test."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(request(parse(DrivingArguments, f"robust-bc {COMMAND}", args), command_line(COMMAND, args)))


def request(given: DrivingArguments, command: str) -> ControlRequest:
    """The benchmark that these arguments mean, checked."""
    from robust_bc_benchmarks.control.plan import ControlPlan
    from robust_bc_benchmarks.control.tables import DRIVING, without_paper

    quick, curved = given.quick, given.road == "curved"
    variant, out = "curved" if curved else "", given.out
    out = out or Path("runs/benchmark-driving" + "-curved" * curved + "-quick" * quick)

    def extra(results: Results) -> dict[str, list[Replay]]:
        from robust_bc_benchmarks.commands.control_source import TeacherSource
        from robust_bc_benchmarks.commands.replays import replays
        from robust_bc_benchmarks.control.running import POLICIES_FOLDER

        return replays(results, out / POLICIES_FOLDER / variant, TASK, TeacherSource(given.pairs).expert(TASK))

    return ControlRequest(
        title="driving benchmark",
        command=command,
        plan=ControlPlan(
            tasks=(TASK,),
            hows=known("way to corrupt", given.hows, HOWS),
            **given.plan(),
            pairs=given.pairs,
            episodes=given.episodes if given.episodes is not None else QUICK_EPISODES if given.quick else EPISODES,
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
