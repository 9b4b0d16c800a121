"""`robust-bc`: finds the command, runs it, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import importlib
import io
import sys
import warnings
from collections.abc import Sequence

from robust_bc.cli.pipes import readers_may_leave
from robust_bc.errors import RobustBCError
from robust_bc.system.interrupts import StopRequest, interrupts_raised
from robust_bc.system.plain_text import visible
from robust_bc.version import __version__

# Command -> (module with a `run(args)`, one line of help). Modules are imported only when their command is called.
COMMANDS = {
    "quickstart": ("robust_bc.cli.quickstart", "compare the methods on corrupt demonstrations: a table and a page"),
    "tasks": ("robust_bc.cli.tasks", "list the tasks, their metrics and what a reversed reward is"),
    "teachers": ("robust_bc.cli.teachers", "list the experts, adversaries and drivers that ship, with their returns"),
    "teach": ("robust_bc.cli.teach", "train an expert or an adversary for any Gymnasium task with PPO"),
    "collect": ("robust_bc.cli.collect", "roll a teacher out into a Minari dataset"),
    "drive": ("robust_bc.cli.drive", "drive yourself, with the arrow keys, and get a dataset"),
    "mix": ("robust_bc.cli.mix", "mix good demonstrations with an exact share of corrupt ones"),
    "datasets": ("robust_bc.cli.datasets", "list the Minari datasets on this machine"),
    "show": ("robust_bc.cli.show", "tell what is in a dataset (returns, histograms), or what a policy is"),
    "methods": ("robust_bc.cli.methods", "list the methods that can be fitted"),
    "audit": ("robust_bc.cli.audit", "say which demonstrations of a dataset are bad: pairs, episodes, sources"),
    "filter": ("robust_bc.cli.filter", "drop what an audit found: a new dataset"),
    "train": ("robust_bc.cli.train", "fit a policy to a dataset and keep the run in a folder"),
    "evaluate": ("robust_bc.cli.evaluate", "roll policies out: returns, the task's metrics, intervals, a report"),
    "benchmark synthetic": ("robust_bc.cli.benchmark_synthetic", "the paper's synthetic tables and figures"),
    "benchmark mujoco": ("robust_bc.cli.benchmark_mujoco", "returns against shares of corrupt demonstrations"),
    "benchmark driving": ("robust_bc.cli.benchmark_driving", "collisions against shares of careless demonstrations"),
    "benchmark housing": ("robust_bc.cli.benchmark_housing", "errors on Boston house prices, some of them wrong"),
    "benchmark audit": ("robust_bc.cli.benchmark_audit", "how well bad episodes are found, and what that is worth"),
    "benchmark ablation": ("robust_bc.cli.benchmark_ablation", "what each part of ChoiceNet is worth"),
}

EXAMPLES = (
    "robust-bc collect --task halfcheetah --teacher expert --episodes 10 --dataset mine/expert-v0",
    "robust-bc mix --task halfcheetah --rate 0.3 --kind flip --dataset mine/mixed-v0",
    "robust-bc train --dataset mine/mixed-v0 --method choicenet --out runs/mine",
    "robust-bc benchmark synthetic --functions cosexp --rates 0,0.4 --seeds 3",
)

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
Problem = tuple[str, int]
"""A sentence and an exit code."""
INTERRUPTED: Problem = ("interrupted.", EXIT_INTERRUPTED)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the console script; without arguments, the process is ours and ends with it."""
    problem = None
    try:
        with interrupts_raised(until_the_end=arguments is None) as asked:
            problem = _attempt(list(sys.argv[1:] if arguments is None else arguments), asked)
    except KeyboardInterrupt:
        problem = INTERRUPTED
    if problem is not None:
        sentence, code = problem
        sys.stderr.write(f"robust-bc: {visible(sentence)}\n")
        raise SystemExit(code)


def _attempt(given: list[str], asked: StopRequest) -> Problem | None:
    """Run the command; what went wrong, if anything did. An error after somebody has `asked` to stop is the stop."""
    warnings.simplefilter("ignore")  # a clean console: warnings of libraries are for developers, not for users
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a character shows a question mark
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with readers_may_leave():
            _dispatch(given)
    except Exception as problem:
        if asked.is_set():
            return INTERRUPTED
        if isinstance(problem, RobustBCError):
            return str(problem), EXIT_BAD_INPUT
        if isinstance(problem, OSError):  # a disk that is full or read-only, a name that is too long, a file in the way
            place = f"'{problem.filename}': " if problem.filename else ""
            return f"{place}{problem.strerror or problem}.", EXIT_BAD_INPUT
        raise
    return None


def _dispatch(given: list[str]) -> None:
    if not given or given[0] in ("-h", "--help"):
        sys.stdout.write(_help())
        return
    if given[0] == "--version":
        sys.stdout.write(f"robust-bc {__version__}\n")
        return
    for words in (2, 1):
        name = " ".join(given[:words])
        if len(given) >= words and name in COMMANDS:
            importlib.import_module(COMMANDS[name][0]).run(given[words:])
            return
    group = [name for name in COMMANDS if name.split()[0] == given[0]]
    if group and (len(given) == 1 or given[1] in ("-h", "--help")):
        sys.stdout.write(_help(group))
        return
    raise RobustBCError(
        f"there is no command '{' '.join(given[: 2 if group else 1])}'; the commands are: {', '.join(COMMANDS)}."
    )


def _help(names: Sequence[str] = tuple(COMMANDS)) -> str:
    width = max(len(name) for name in COMMANDS)
    lines = [
        "usage: robust-bc COMMAND [options]",
        "",
        "Learn policies from demonstrations of mixed quality.",
        "",
    ]
    lines += [f"  {name:<{width}}  {COMMANDS[name][1]}" for name in names]
    lines += ["", "robust-bc COMMAND --help tells the options of a command.", "", "examples:"]
    lines += [f"  {example}" for example in EXAMPLES]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
