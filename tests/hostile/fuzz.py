"""Fuzzing: damaged files of every kind through all that reads them. `make fuzz` runs many, the test suite a few.

python -m tests.hostile.fuzz --count 2000 --seed 0
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tests.hostile.kinds import KINDS, Kind
from tests.hostile.mutations import damage
from tests.hostile.samples import command_line, datasets_in
from tests.hostile.sandbox import Outcome, watched

COMMANDS_SHARE = 0.15
"""Of the cases that also go through the commands, which take longer."""
EXIT_CODES = (0, 2)
LARGEST_SEALED = 1 << 24


@dataclass
class Tally:
    """What became of the cases of one kind."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, outcome: Outcome, about: str) -> None:
        self.counts[outcome.kind] += 1
        self.slowest = max(self.slowest, outcome.seconds)
        if outcome.kind == "failed":
            self.failures.append(f"{about}: {outcome.words.strip()}")


def templates(root: Path) -> dict[str, Path]:
    """A good folder of every kind."""
    torch.set_num_threads(1)
    made = {}
    for name, kind in KINDS.items():
        made[name] = root / name.replace(" ", "-")
        kind.make(made[name])
    return made


def read_all(kind: Kind, folder: Path, work: Path, commands: bool) -> None:
    """Through every function, and the commands: the first that refuses ends it, one that fails raises."""
    if commands:
        for name, words in kind.commands.items():
            run_command(name, words(folder), folder, work)
    for read in kind.functions.values():
        read(folder)


def run_command(name: str, words: list[str], folder: Path, work: Path) -> int:
    """A command in an empty folder: an exit code that is expected, no traceback, and nothing half-written."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    os.chdir(work)
    with datasets_in(folder):
        code, said = command_line(words)
        left = [path for place in (work, folder) for path in place.rglob(".*") if path.suffix in (".part", ".replaced")]
    for made in ("our/mixed-v0", "our/collected-v0", "our/kept-v0"):
        shutil.rmtree(folder / made, ignore_errors=True)
    if code not in EXIT_CODES or "Traceback" in said or left:
        raise AssertionError(f"{name}: exit code {code}, left {left}, said {said[-3000:]}")
    if code == 2 and sum(line.startswith("robust-bc: ") for line in said.splitlines()) != 1:
        raise AssertionError(f"{name}: not one sentence: {said[-3000:]}")
    return code


def fuzz(root: Path, kinds: Sequence[str], count: int, seed: int, show: Callable[[str], None]) -> dict[str, Tally]:
    """So many damaged files, spread over these kinds; the same seed damages them in the same ways."""
    made, work = templates(root / "good"), root / "work"
    tallies = {name: Tally() for name in kinds}
    for number in range(count):
        name = kinds[number % len(kinds)]
        kind, chance = KINDS[name], random.Random(seed * 1_000_003 + number)
        folder = root / "bad"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made[name], folder, symlinks=True)
        file = chance.choice(kind.files)
        how = damage(folder / file, chance)
        if chance.random() < 0.5 and (folder / file).is_file() and (folder / file).stat().st_size < LARGEST_SEALED:
            kind.reseal(folder)
        commands = chance.random() < COMMANDS_SHARE
        outcome = watched(lambda k=kind, f=folder, c=commands: read_all(k, f, work, c))  # type: ignore[misc]
        tallies[name].add(outcome, f"case {number}, {name} {file}, {how}")
        if (number + 1) % 100 == 0:
            show(f"{number + 1} of {count}, {sum(len(tally.failures) for tally in tallies.values())} failures")
    return tallies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help="separated by commas")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tallies = fuzz(
            Path(folder), given.kinds.split(","), given.count, given.seed, lambda line: print(line, file=sys.stderr)
        )
        os.chdir("/")
    print(f"{'kind':<24}{'cases':>7}{'fine':>7}{'refused':>9}{'failed':>8}{'slowest':>9}")
    for name, tally in tallies.items():
        counts, total = tally.counts, sum(tally.counts.values())
        print(
            f"{name:<24}{total:>7}{counts['fine']:>7}{counts['refused']:>9}{counts['failed']:>8}{tally.slowest:>8.1f}s"
        )
    failures = [failure for tally in tallies.values() for failure in tally.failures]
    for failure in failures:
        print(f"\n{failure}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
