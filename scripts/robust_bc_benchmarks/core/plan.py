"""What a benchmark is asked for, and which of its cells are the same by definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import check_seed
from robust_bc_benchmarks.core.cells import Key
from robust_bc_benchmarks.core.contenders import EXPERT, is_oracle, without_bad_pairs

CLEAN = "clean"
"""The kind of cells that no bad pair has a part in: those of rate 0, of oracles and of the expert."""
GRADED = "graded"
"""The kind without a rate."""


@dataclass(frozen=True)
class Plan:
    """Everything that was asked for, checked."""

    tasks: tuple[str, ...]
    kinds: tuple[str, ...]
    rates: tuple[float, ...]
    methods: tuple[str, ...]
    """Contenders, or detectors."""
    seeds: tuple[int, ...]
    common: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all methods, as far as they have them."""

    def __post_init__(self) -> None:
        for name in ("tasks", "kinds", "rates", "methods", "seeds"):
            if not getattr(self, name):
                raise RobustBCError(f"--{name} is empty; name at least one.")
        for rate in self.rates:
            if not 0 <= rate < 1:
                raise RobustBCError(f"a rate must be at least 0 and below 1, but it is {rate}.")
        for seed in self.seeds:
            check_seed(seed)

    def places(self, apart: Sequence[str] = ()) -> Iterator[tuple[str, str, float | None]]:
        """Task, kind and rate, each once: rate 0 is clean whatever the kind, but for kinds with data of their own."""
        seen = set()
        for task in self.tasks:
            for rate in self.rates:
                for kind in self.kinds:
                    clean = kind == CLEAN or (rate == 0 and kind not in apart)
                    place = (task, CLEAN, 0.0) if clean else (task, kind, float(rate))
                    if kind == GRADED:
                        place = task, GRADED, None  # type: ignore[assignment]
                    if place not in seen:
                        seen.add(place)
                        yield place

    def key(
        self,
        task: str,
        kind: str,
        rate: float | None,
        method: str,
        seed: int,
        apart: Sequence[str] = (),
        uneven: Sequence[str] = (),
    ) -> Key:
        """The cell that a table shows there.

        Kinds `apart` have good pairs of their own at every rate, kinds `uneven` beside bad ones.
        """
        if method == EXPERT:
            return Key(task, CLEAN, 0.0, EXPERT, 0)
        rate = None if kind == GRADED else rate
        if rate == 0:
            method = without_bad_pairs(method)
        if kind not in apart and (rate == 0 or (is_oracle(method) and kind not in uneven)):
            kind = CLEAN  # the good pairs are the same for all kinds
        return Key(task, kind, rate, method, seed)
