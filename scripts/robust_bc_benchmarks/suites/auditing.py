"""The audit: how well bad episodes are found, beside its parts and simple detectors, and what a policy then learns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from robust_bc.auditing import REVISION
from robust_bc.auditing.settings import AuditSettings
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.system.progress import Progress
from robust_bc_benchmarks.core.cells import Cell, Key
from robust_bc_benchmarks.core.plan import CLEAN
from robust_bc_benchmarks.core.running import Say, Suite
from robust_bc_benchmarks.suites.audit_measures import LEARNT_BY, RETURNS, Returns, measures
from robust_bc_benchmarks.suites.detectors import DETECTORS, PARTS, detect
from robust_bc_benchmarks.suites.mixes import Mixes

FORMAT = 2
"""Of a cell. Whoever changes what its numbers mean, or a simple detector, counts it up."""
RETURNS_OF = "audit"
"""The detector after whose cleaning policies are fitted."""
RETURNS_FOLDER = "returns"


@dataclass(frozen=True)
class AuditSuite(Suite):
    """The plan's methods are detectors."""

    returns: bool = False
    """Whether policies are fitted to everything, to what the audit keeps, and to the good pairs."""
    mixes: Mixes = field(default_factory=Mixes, compare=False)

    def __post_init__(self) -> None:
        for name in self.plan.methods:
            if name not in DETECTORS:
                raise RobustBCError(f"there is no detector '{name}'; there are {', '.join(DETECTORS)}.")
        if 0 in self.plan.rates:
            raise RobustBCError(f"a rate must be above 0; clean sets are of the kind '{CLEAN}'.")
        if self.returns and RETURNS_OF not in self.plan.methods:
            raise RobustBCError(f"--returns fits policies to what '{RETURNS_OF}' keeps; name it among the detectors.")

    def units(self) -> list[list[Key]]:
        """Task and seed: their mixes have episodes in common. A run that was stopped has some seeds of every task."""
        places = list(self.plan.places())
        return [
            [Key(*place, name, seed) for place in places if place[0] == task for name in self.plan.methods]
            for seed in self.plan.seeds
            for task in self.plan.tasks
        ]

    def fingerprint(self, key: Key) -> dict[str, Any]:
        """The mix, the detector, and for returns the learner."""
        about: dict[str, Any] = {"format": FORMAT, "mixes": self.mixes.mark(key.task)}
        if key.method in PARTS:
            about |= {"revision": REVISION, "settings": asdict(AuditSettings())}
        return about | ({"learner": LEARNT_BY} if key.method == RETURNS_OF else {})

    def finished(self, cell: Cell) -> bool:
        """With returns, if these are asked for."""
        return not self._learns(cell.key) or all(name in cell.numbers for name in RETURNS)

    def compute(
        self, missing: Sequence[Key], known: Sequence[Cell], out: Path, tell: Progress, say: Say
    ) -> Iterator[list[Cell]]:
        """Mix by mix, detector by detector."""
        returns, cells = Returns(out / RETURNS_FOLDER), {cell.key: cell for cell in known}
        at, mix, noise = None, None, None
        for number, key in enumerate(missing):
            tell(number / len(missing), f"{key.task} {key.kind}, seed {key.seed}")
            try:
                if mix is None or at != (key.kind, key.rate):
                    at, mix = None, None  # or a mix that cannot be made would be judged by the one before
                    mix, noise = self.mixes.mix(key.task, key.kind, key.rate, key.seed)
                    at = key.kind, key.rate
                cell = cells[key] if key in cells else detected(key, mix, noise)
                if self._learns(key):
                    cell = replace(cell, numbers=cell.numbers | returns.of(key.task, sets_of(mix, cell), key.seed))
            except RobustBCError as problem:  # kept nowhere: the same command tries again
                say(f"failed: {key.task} {key.kind} {key.rate} {key.method}, seed {key.seed}: {problem}")
                continue
            yield [cell]

    def _learns(self, key: Key) -> bool:
        return self.returns and key.method == RETURNS_OF and key.rate is not None


def detected(key: Key, mix: Demonstrations, noise: Any) -> Cell:
    """What a detector says of a mix, measured."""
    started = time.monotonic()
    found = detect(key.method, mix, key.seed)
    seconds = round(time.monotonic() - started, 3)
    dropped = None if found.dropped is None else "".join("1" if flag else "0" for flag in found.dropped)
    return Cell(key, measures(found, mix, noise) | {"seconds": seconds}, dropped=dropped)


def sets_of(mix: Demonstrations, cell: Cell) -> dict[str, Demonstrations]:
    """What policies are fitted to."""
    dropped = np.array([flag == "1" for flag in cell.dropped or ""])
    places = np.unique(mix.episodes, return_inverse=True)[1]
    return dict(zip(RETURNS, (mix, mix.select(~dropped[places]), mix.clean()), strict=True))
