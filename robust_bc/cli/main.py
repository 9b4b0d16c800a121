"""`robust-bc`: finds the command, runs it, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import difflib
import importlib
import io
import sys
import warnings
from collections.abc import Sequence

from robust_bc.cli.commands import find_commands
from robust_bc.cli.pipes import readers_may_leave
from robust_bc.errors import RobustBCError
from robust_bc.system.extras import missing_extra
from robust_bc.system.interrupts import StopRequest, interrupts_raised
from robust_bc.system.plain_text import visible
from robust_bc.version import __version__

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
        if isinstance(problem, ImportError) and (missing := missing_extra(problem)):
            return str(missing), EXIT_BAD_INPUT
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
    commands = {name: about for found in find_commands().values() for name, about in found.items()}
    for words in (2, 1):
        name = " ".join(given[:words])
        if len(given) >= words and name in commands:
            module, _, function = commands[name][0].partition(":")
            getattr(importlib.import_module(module), function or "run")(given[words:])
            return
    group = [name for name in commands if name.split()[0] == given[0]]
    if group and (len(given) == 1 or given[1] in ("-h", "--help")):
        sys.stdout.write(_help(group))
        return
    close = difflib.get_close_matches(given[0], commands, n=1)
    meant = f" (did you mean '{close[0]}'?)" if close and not group else ""
    raise RobustBCError(
        f"there is no command '{' '.join(given[: 2 if group else 1])}'{meant}; the commands are: {', '.join(commands)}."
    )


def _help(names: Sequence[str] | None = None) -> str:
    """Of some commands or of all, by the package that brings them."""
    lines = ["usage: robust-bc COMMAND [options]", "", "Learn policies from demonstrations of mixed quality."]
    groups = find_commands()
    width = max(len(name) for found in groups.values() for name in found)
    for heading, found in groups.items():
        shown = [name for name in found if names is None or name in names]
        if shown:
            lines += ["", f"{heading}:", *(f"  {name:<{width}}  {found[name][1]}" for name in shown)]
    lines += ["", "robust-bc COMMAND --help tells the options of a command.", "", "examples:"]
    lines += [f"  {example}" for example in EXAMPLES]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
