"""The standing guard: files that name code in every place where they can, through all that reads them, run none of it.

In each kind of file, every word becomes an entry point that would leave a trace, all at once and one by one, and every
entry is left out in turn. Everything is done in one process, after the good files have been read once: from then on no
module may be imported.

    python -m tests.hostile.guard
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minari import MinariDataset

from robust_bc.errors import RobustBCError
from tests.hostile.fuzz import run_command, templates
from tests.hostile.json_places import closed, opened, places, replaced, without
from tests.hostile.kinds import KINDS, METADATA, Kind
from tests.hostile.sandbox import FORBIDDEN, TRACE, lay_trace

ENTRY_POINT = f"{TRACE}:leave"
IDS = (f"{TRACE}:Env-v0", f"{TRACE}.py", ENTRY_POINT)
SPEC = {
    "id": f"{TRACE}:Env-v0",
    "entry_point": f"{TRACE}:Env",
    "reward_threshold": None,
    "nondeterministic": False,
    "max_episode_steps": 10,
    "order_enforce": True,
    "disable_env_checker": False,
    "kwargs": {"command": "touch trace", "factory": ENTRY_POINT},
    "additional_wrappers": [{"name": "leave", "entry_point": ENTRY_POINT, "kwargs": {}}],
    "vector_entry_point": ENTRY_POINT,
}


def hostile(content: Any, kept: frozenset[str] = frozenset()) -> Any:
    """Every word replaced, but for those of the names that are kept."""
    if isinstance(content, dict):
        return {name: value if name in kept else hostile(value, kept) for name, value in content.items()}
    if isinstance(content, list):
        return [hostile(value, kept) for value in content]
    return ENTRY_POINT if isinstance(content, str) else content


KEPT = frozenset({"format", "data_format", "type", "dtype", "minari_version"})
"""Words without which a reader looks no further: with them it does."""


def cases(content: Any) -> Iterator[tuple[str, Any]]:
    """What to write in the place of a file's content, and what it is."""
    yield "all words", hostile(content)
    yield "all words but the kinds", hostile(content, KEPT)
    for place in list(places(content)):
        yield f"{place} left out", without(content, place)
        yield f"{place} left out, all words", without(hostile(content, KEPT), place)
        value = content
        for name in place:
            value = value[name]
        if isinstance(value, str):
            for word in IDS:
                yield f"{place} is {word}", replaced(content, place, word)


class Guard:
    """Reads, and complains of whatever ran."""

    def __init__(self, root: Path) -> None:
        self.root, self.trace = root, root / "trace-of"
        lay_trace(self.trace)
        self.made = templates(root / "good")
        self.ran: list[str] = []
        self.cases = 0
        self.complaints: list[str] = []
        self.on = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if self.on and event in FORBIDDEN:
            self.ran.append(f"{event}{str(given)[:200]}")

    def watch(self, kind: Kind, folder: Path, about: str, commands: bool) -> None:
        """All functions, each on its own, and the commands; what they refuse is fine."""
        known = set(sys.modules)
        self.on, self.cases = True, self.cases + 1
        try:
            for read in kind.functions.values():
                with contextlib.suppress(RobustBCError):
                    read(folder)
            for name, words in kind.commands.items() if commands else ():
                run_command(name, words(folder), folder, self.root / "work")
        except Exception as problem:
            self.complaints.append(f"{about}: {type(problem).__name__}: {problem}")
        finally:
            self.on = False
        new = sorted(set(sys.modules) - known)
        if new or self.ran or (self.trace / "trace").exists():
            self.complaints.append(f"{about}: imported {new}, ran {self.ran}, trace {(self.trace / 'trace').exists()}")
            self.ran.clear()
            (self.trace / "trace").unlink(missing_ok=True)

    def warm_up(self) -> None:
        """Read every good file once: what our own code needs is then imported."""
        for name, kind in KINDS.items():
            for read in kind.functions.values():
                read(self.made[name])
            for command, words in kind.commands.items():
                folder = self.made[name]
                if run_command(command, words(folder), folder, self.root / "work") != 0:
                    raise AssertionError(f"'{command}' does not read a good {name}")
            with contextlib.suppress(RobustBCError):
                kind.functions[next(iter(kind.functions))](self.root / "nothing")

    def hears(self) -> bool:
        """Whether the guard would notice: Minari's own reader makes the environment that a file names."""
        folder = self.root / "bad"
        shutil.copytree(self.made["dataset"], folder, dirs_exist_ok=True)
        content = json.loads((folder / METADATA).read_text())
        del content["observation_space"]
        spec = {"id": "Env-v0", "entry_point": f"{TRACE}:Env", "kwargs": {}, "additional_wrappers": []}
        (folder / METADATA).write_text(json.dumps({**content, "env_spec": json.dumps(spec)}))

        def read(place: Path) -> object:
            try:
                return MinariDataset((place / METADATA).parent)
            except Exception as problem:  # our trace is no environment
                raise RobustBCError("refused.") from problem

        self.watch(Kind(lambda place: None, (), {"minari": read}, {}), folder, "Minari", commands=False)
        heard = self.complaints.pop() if self.complaints else ""
        return "trace True" in heard

    def go(self) -> None:
        """Every kind, every JSON file of it, every case."""
        for name, kind in KINDS.items():
            for file in kind.files:
                if file.endswith(".json"):
                    self._go_through(name, kind, file)

    def _go_through(self, name: str, kind: Kind, file: str) -> None:
        folder = self.root / "bad"
        whole = json.loads((self.made[name] / file).read_text())
        content = opened(whole)
        if file == METADATA:
            content |= {"env_spec": SPEC, "eval_env_spec": SPEC, "requirements": [ENTRY_POINT]}
            whole |= {"env_spec": "a text", "eval_env_spec": "a text"}
        for how, changed in cases(content):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.made[name], folder)
            (folder / file).write_text(json.dumps(closed(changed, whole)))
            kind.reseal(folder)
            self.watch(kind, folder, f"{name} {file}, {how}", commands="all words" in how)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        guard = Guard(Path(folder).resolve())
        guard.warm_up()
        guard.go()
        if not guard.complaints and not guard.hears():
            guard.complaints.append("the guard hears nothing")
        os.chdir("/")
    print(f"{guard.cases} cases, {len(guard.complaints)} complaints")
    for complaint in guard.complaints:
        print(complaint)
    sys.exit(bool(guard.complaints))


if __name__ == "__main__":
    main()
