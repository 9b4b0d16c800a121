"""Runs something in a child process with limits, and tells what became of it: the watchers of all hostile tests.

The child is a fork, so that nothing has to be imported again. Hooks of the interpreter's audit see whatever would run
code: a shell, a process, an unpickled object, a library that is loaded, an import of what was not there before.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from robust_bc.errors import RobustBCError

MOST_SECONDS = 10
MOST_MEMORY = 1 << 30
FORBIDDEN = {
    *("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"),
    *("subprocess.Popen", "pickle.find_class", "ctypes.dlopen", "socket.connect", "webbrowser.open"),
}
TRACE = "robust_bc_trace"
"""A module that leaves a trace when it is imported, and whose functions leave one when they are called."""
TRACE_SOURCE = """
from pathlib import Path
Path(__file__).with_name("trace").write_text("imported")
def leave(*arguments, **keywords):
    Path(__file__).with_name("trace").write_text("called")
class Env:
    def __init__(self, *arguments, **keywords):
        leave()
"""


@dataclass(frozen=True)
class Outcome:
    """What became of it: fine, refused in one sentence, or an end that nobody wants."""

    kind: str
    """fine, refused, or failed."""
    words: str = ""
    seconds: float = 0.0


def lay_trace(folder: Path) -> None:
    """Make the module with the trace importable, as anything in the working directory is."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{TRACE}.py").write_text(TRACE_SOURCE)
    sys.path.insert(0, str(folder))


def watched(job: Callable[[], object], trace: Path | None = None, *, imports: bool = False) -> Outcome:
    """Do the job in a child of its own. With `imports`, no module may be imported that was not before."""
    began = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _report(writing, job, imports)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        ready, _, _ = select.select([told], [], [], MOST_SECONDS)
        if not ready:
            os.kill(child, signal.SIGKILL)
        words = told.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - began
    if not ready:
        return Outcome("failed", "took too long", seconds)
    if os.WIFSIGNALED(status):
        return Outcome("failed", f"was ended by {signal.Signals(os.WTERMSIG(status)).name}", seconds)
    if trace is not None and (trace / "trace").exists():
        return Outcome("failed", f"left a trace: {(trace / 'trace').read_text()}", seconds)
    kind, _, rest = words.partition("\n")
    return Outcome(kind or "failed", rest, seconds)


def _report(writing: int, job: Callable[[], object], imports: bool) -> None:
    """In the child: do the job, say what became of it, and end without any clean-up of the parent's things."""
    with open("/proc/self/statm") as told:  # noqa: PTH123
        there = int(told.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (there + MOST_MEMORY, there + MOST_MEMORY))
    seen: list[str] = []
    known = set(sys.modules)
    sys.addaudithook(lambda event, given: seen.append(event) if event in FORBIDDEN else None)
    try:
        job()
        said = "fine\n"
    except RobustBCError as problem:
        one = "\n" not in str(problem) and str(problem).endswith(".")
        said = f"refused\n{problem}" if one else f"failed\nnot one sentence: {problem!r}"
    except BaseException:
        said = f"failed\n{traceback.format_exc()}"
    if seen:
        said = f"failed\nran something: {seen}"
    new = sorted(set(sys.modules) - known)
    if TRACE in sys.modules or (imports and new):
        said = f"failed\nimported {new}"
    os.write(writing, said.encode(errors="replace")[:60_000])
    os._exit(0)
