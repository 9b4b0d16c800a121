"""`robust-bc benchmark mujoco`: the paper's MuJoCo tables, with intervals, an oracle and same-state corruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_bc.cli.arguments import Names, command_line, parse
from robust_bc_benchmarks.commands.control import ControlRequest, execute
from robust_bc_benchmarks.commands.control_arguments import HOWS, ControlArguments, known

COMMAND = "benchmark mujoco"
TASKS = ("halfcheetah", "walker2d")
QUICK_EPISODES, EPISODES = 10, 100


@dataclass(frozen=True, kw_only=True)
class MujocoArguments(ControlArguments):
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
    pairs: int = 500
    """Pairs of state and action that each policy learns from."""
    episodes: int | None = None
    """Episodes in which each policy is measured, the same for all; without, 100."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(request(parse(MujocoArguments, f"robust-bc {COMMAND}", args), command_line(COMMAND, args)))


def request(given: MujocoArguments, command: str) -> ControlRequest:
    """The benchmark that these arguments mean, checked."""
    from robust_bc_benchmarks.control.plan import ControlPlan
    from robust_bc_benchmarks.control.tables import MUJOCO, without_paper
    from robust_bc_benchmarks.paper_numbers import MUJOCO_PAIRS

    return ControlRequest(
        title="MuJoCo benchmark",
        command=command,
        plan=ControlPlan(
            tasks=known("task", given.tasks, TASKS),
            hows=known("way to corrupt", given.hows, HOWS),
            **given.plan(),
            pairs=given.pairs,
            episodes=given.episodes if given.episodes is not None else QUICK_EPISODES if given.quick else EPISODES,
        ),
        shown=MUJOCO if given.pairs == MUJOCO_PAIRS else without_paper(MUJOCO),
        out=given.out or Path("runs/benchmark-mujoco-quick" if given.quick else "runs/benchmark-mujoco"),
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
