"""`robust-bc benchmark mujoco`: the paper's MuJoCo tables, with intervals, an oracle and same-state corruption."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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

COMMAND = "benchmark mujoco"
TASKS = ("halfcheetah", "walker2d")
QUICK_EPISODES = 10


@dataclass(frozen=True)
class MujocoArguments:
    """Fit every method to demonstrations with growing shares of corrupt pairs, and measure the policies.

    Tables show the return over all seeds and its share of the oracle's, which is least squares on the clean pairs only.
    Every finished cell is kept: an interrupted benchmark goes on where it stopped, and a new method, rate or seed
    computes only its own cells.

    Example: robust-bc benchmark mujoco --tasks halfcheetah --hows flip --rates 0,0.3 --seeds 3
    """

    tasks: Names = TASKS
    """Tasks, of halfcheetah and walker2d."""
    hows: Names = HOWS
    """Ways to corrupt, of rollout, relabel, flip and uniform (`robust-bc mix --help` tells what they are)."""
    rates: Rates | None = None
    """Shares of corrupt pairs, at least 0 and below 1; without, 0,0.1,0.2,0.3,0.4."""
    methods: Names = ("choicenet", "mdn", "mlp")
    """Methods to compare; `robust-bc methods` lists them."""
    pairs: int = 500
    """Pairs of state and action that each policy learns from."""
    hidden: tuple[int, ...] = HIDDEN
    """Widths of the hidden layers, the same for every method."""
    seeds: int | None = None
    """Number of seeds per cell; data and start of a fit come from its seed, the same for every method. Without, 10."""
    seed: int = 0
    """The first seed."""
    episodes: int | None = None
    """Episodes in which each policy is measured, the same for all; without, 100."""
    quick: bool = False
    """A few minutes: 2 seeds, rates 0 and 0.3, 10 episodes, unless said otherwise."""
    device: Device = "auto"
    """Where to fit; auto takes CUDA, then MPS, then the CPU."""
    out: Path | None = None
    """Folder for cells, tables and the report; without, runs/benchmark-mujoco (quick: runs/benchmark-mujoco-quick)."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(
        request(
            parse(MujocoArguments, f"robust-bc {COMMAND}", args), shlex.join(["robust-bc", *COMMAND.split(), *args])
        )
    )


def request(given: MujocoArguments, command: str) -> ControlRequest:
    """The benchmark that these arguments mean, checked."""
    from robust_bc.benchmark.control_plan import ControlPlan
    from robust_bc.benchmark.control_tables import MUJOCO, without_paper
    from robust_bc.benchmark.paper_numbers import MUJOCO_PAIRS

    quick = given.quick
    return ControlRequest(
        title="MuJoCo benchmark",
        command=command,
        plan=ControlPlan(
            tasks=known("task", given.tasks, TASKS),
            hows=known("way to corrupt", given.hows, HOWS),
            rates=given.rates if given.rates is not None else QUICK_RATES if quick else (0.0, 0.1, 0.2, 0.3, 0.4),
            methods=given.methods,
            seeds=first_to_last(given.seed, given.seeds if given.seeds is not None else QUICK_SEEDS if quick else 10),
            pairs=given.pairs,
            method_settings=same_trunk(given.methods, given.hidden),
            episodes=given.episodes if given.episodes is not None else QUICK_EPISODES if quick else 100,
        ),
        shown=MUJOCO if given.pairs == MUJOCO_PAIRS else without_paper(MUJOCO),
        out=given.out or Path("runs/benchmark-mujoco-quick" if quick else "runs/benchmark-mujoco"),
        device=given.device,
        json=given.json,
        facts={"demonstrations": _shaken(given.tasks)},
    )


def _shaken(tasks: Sequence[str]) -> str:
    """How the teachers showed what they do."""
    from robust_bc_envs.tasks import find_task

    amounts = ", ".join(f"{find_task(task).disturbance:g} ({task})" for task in tasks)
    return (
        f"what the teachers meant to do, while Gaussian noise of {amounts} of half the action space was added to what"
        " was done (DART)"
    )
