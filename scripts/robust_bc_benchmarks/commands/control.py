"""`robust-bc benchmark mujoco` and `robust-bc benchmark driving`: the paper's control tables, and more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from robust_bc.cli.arguments import Names, PairCount, command_line, parse
from robust_bc_benchmarks.commands.arguments import BenchmarkArguments
from robust_bc_benchmarks.commands.running import Request, execute, known

if TYPE_CHECKING:
    from robust_bc.report import Block
    from robust_bc_benchmarks.core.running import Results

MUJOCO, DRIVING = "benchmark mujoco", "benchmark driving"
ROAD = "lane-driving"
WALKERS = ("halfcheetah", "walker2d")
KINDS = ("rollout", "relabel", "flip", "uniform")
RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
ALL, EPISODES = "all", "-episodes"


@dataclass(frozen=True, kw_only=True)
class MujocoArguments(BenchmarkArguments):
    """Fit every method to demonstrations with growing shares of bad pairs, and measure the policies.

    Tables show the return over all seeds and its share of the oracle's: the same method on the good pairs only. Every
    finished cell is kept: an interrupted benchmark goes on where it stopped, and a new method, rate or seed computes
    only its own cells.

    Example: robust-bc benchmark mujoco --tasks halfcheetah --kinds flip --rates 0,0.3 --seeds 3
    """

    tasks: Names = WALKERS
    """Tasks with shipped teachers, or `all`; `robust-bc tasks` lists them, and lane-driving has its own benchmark."""
    kinds: Names = KINDS
    """Kinds of corruption (`robust-bc mix --help` tells what they are)."""
    pairs: PairCount = 500
    """Pairs of state and action that each policy learns from; `all` takes whole episodes."""
    episodes: int | None = None
    """Episodes in which each policy is measured, the same for all; without, 100."""
    good_episodes: int | None = None
    """Episodes of each teacher. Without, as many as the task's card says, and of `--pairs all` 10: 15 of pendulum and
    lunar-lander, 20 of lane-driving, 60 of reacher, which are shorter. At most 300 steps of each are taken then."""


@dataclass(frozen=True, kw_only=True)
class DrivingArguments(BenchmarkArguments):
    """Fit every method to safe demonstrations with growing shares of careless ones, and let the policies drive.

    Tables show how often a policy collides and how far it strays from the lane's centre, over all seeds. Every finished
    cell is kept: an interrupted benchmark goes on where it stopped.

    Example: robust-bc benchmark driving --rates 0,0.3 --seeds 3 --episodes 200
    """

    kinds: Names = ("rollout",)
    """Kinds of corruption (`robust-bc mix --help` tells what they are)."""
    pairs: PairCount = 2000
    """Pairs of state and action that each policy learns from; of 500, even the oracle's policies sometimes collide.
    `all` takes whole episodes."""
    episodes: int | None = None
    """Episodes in which each policy is measured, the same for all; without, 1000."""
    good_episodes: int | None = None
    """Episodes of each teacher. Without, as many as the task's card says, and of `--pairs all` 10: 15 of pendulum and
    lunar-lander, 20 of lane-driving, 60 of reacher, which are shorter. At most 300 steps of each are taken then."""
    road: Literal["straight", "curved"] = "straight"
    """Where policies are measured; demonstrations are always of the straight road, so curved is a transfer test."""


def run_mujoco(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(mujoco(parse(MujocoArguments, f"robust-bc {MUJOCO}", args), command_line(MUJOCO, args)))


def run_driving(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(driving(parse(DrivingArguments, f"robust-bc {DRIVING}", args), command_line(DRIVING, args)))


def mujoco(given: MujocoArguments, command: str) -> Request:
    """The benchmark that these arguments mean, checked."""
    from robust_bc_benchmarks.paper import MUJOCO_PAIRS
    from robust_bc_benchmarks.showing.grids import RETURNS
    from robust_bc_benchmarks.suites.control import ControlSuite
    from robust_bc_benchmarks.suites.mixes import Mixes
    from robust_bc_demos.mixing.pairs import KINDS as ALL_KINDS
    from robust_bc_envs.tasks import CARDS

    cards = [name for name in CARDS if name != ROAD]
    tasks = known("task", cards if given.tasks == (ALL,) else given.tasks, cards)
    plan = given.plan(tasks, known("kind of corruption", given.kinds, ALL_KINDS), RATES)
    episodes = given.episodes if given.episodes is not None else 10 if given.quick else 100
    mixes = Mixes.of(given.pairs, given.good_episodes)
    suite = ControlSuite(plan, given.device, episodes, mixes=mixes)
    shaken = ", ".join(f"{CARDS[task].disturbance:g} ({task})" for task in tasks)
    return Request(
        "MuJoCo benchmark",
        command,
        suite,
        given.folder("mujoco" + EPISODES * (given.pairs is None)),
        given.jobs,
        given.json,
        RETURNS,
        paper=given.pairs == MUJOCO_PAIRS,
        bar=given.pairs is None,
        facts={
            "pairs": mixes.words(tasks),
            "episodes": f"{episodes} per policy, the same for all",
            "demonstrations": f"what the teachers meant to do, while Gaussian noise of {shaken} of half the action"
            " space was added to what was done (DART)",
        },
    )


def driving(given: DrivingArguments, command: str) -> Request:
    """The benchmark that these arguments mean, checked."""
    from robust_bc_benchmarks.showing import grids
    from robust_bc_benchmarks.suites.control import ControlSuite
    from robust_bc_benchmarks.suites.mixes import Mixes
    from robust_bc_demos.mixing.pairs import KINDS as ALL_KINDS

    curved = given.road == "curved"
    plan = given.plan((ROAD,), known("kind of corruption", given.kinds, ALL_KINDS), RATES)
    episodes = given.episodes if given.episodes is not None else 100 if given.quick else 1000
    settings = {"shape": "curved"} if curved else {}
    mixes = Mixes.of(given.pairs, given.good_episodes)
    suite = ControlSuite(plan, given.device, episodes, settings, mixes)
    out = given.folder("driving" + EPISODES * (given.pairs is None) + "-curved" * curved)

    def replays(results: Results, kind: str) -> Sequence[Block]:
        from robust_bc_benchmarks.showing.driving_replays import replays_of

        return replays_of(suite, results, kind, out)

    return Request(
        "driving benchmark",
        command,
        suite,
        out,
        given.jobs,
        given.json,
        grids.DRIVING,
        paper=not curved and given.pairs is not None,  # the paper's road is straight, and its pairs are single
        bar=given.pairs is None,
        facts={
            "pairs": mixes.words((ROAD,)),
            "episodes": f"{episodes} per policy, the same for all",
            "road": f"{given.road}; demonstrations are of the straight road",
        },
        extra=replays,
    )
