"""What a control benchmark is asked for: its cells in the order of work, and what each of them depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from robust_bc.auditing import REVISION
from robust_bc.data.demonstrations import MINIMUM_PAIRS, Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods import get_method
from robust_bc.system.seeding import check_seed
from robust_bc.version import __version__
from robust_bc_benchmarks.contenders import ORACLE, ORACLE_METHOD, find_contender
from robust_bc_benchmarks.control.cells import CLEAN, EXPERT, FORMAT, Key

EVALUATION_SEED = 1_000_000
"""Of the episodes that every policy is measured in, apart from the seeds with which teachers make demonstrations."""


class Source(Protocol):
    """Where demonstrations and experts come from."""

    def demonstrations(self, task: str, how: str, rate: float, seed: int) -> Demonstrations:
        """A mix, with its hidden labels for the oracle; at rate 0 the way is `clean`."""

    def expert(self, task: str) -> Any:
        """The good teacher as something that `evaluate_fleet` takes."""

    def mark(self, task: str) -> dict[str, Any]:
        """What tells these demonstrations from those of other teachers and settings."""


@dataclass(frozen=True)
class ControlPlan:
    """Everything that was asked for, checked."""

    tasks: tuple[str, ...]
    hows: tuple[str, ...]
    rates: tuple[float, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    pairs: int = 500
    episodes: int = 100
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the environment in which policies are measured."""
    method_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By contender, beside the defaults."""

    def __post_init__(self) -> None:
        for name in ("tasks", "hows", "rates", "methods", "seeds"):
            if not getattr(self, name):
                raise RobustBCError(f"{name} is empty; name at least one.")
        for rate in self.rates:
            if not 0 <= rate < 1:
                raise RobustBCError(f"a rate must be at least 0 and below 1, but it is {rate}.")
        for name in (*self.methods, ORACLE):
            get_method(find_contender(name).method).settings(self.settings_of(name, max(self.rates)))
        for name in ("pairs", "episodes"):
            if getattr(self, name) < 1:
                raise RobustBCError(f"{name} must be at least 1, but it is {getattr(self, name)}.")
        if self.pairs * (1 - max(self.rates)) < MINIMUM_PAIRS:
            raise RobustBCError(
                f"a rate of {max(self.rates)} leaves the oracle fewer than {MINIMUM_PAIRS} of {self.pairs} pairs."
            )
        for seed in self.seeds:
            if check_seed(seed) == EVALUATION_SEED:
                raise RobustBCError(f"seed {EVALUATION_SEED} is that of the evaluation's episodes; take another.")

    def key(self, task: str, how: str, rate: float, method: str, seed: int) -> Key:
        """The cell that a table shows there; where several places would be the same by definition, they are one."""
        if method == EXPERT:
            return Key(task, CLEAN, 0.0, EXPERT, 0)
        if rate == 0 and method == ORACLE and self.settings_of(ORACLE, rate) == self.settings_of(ORACLE_METHOD, rate):
            method = ORACLE_METHOD
        if rate == 0 or method == ORACLE:
            how = CLEAN
        return Key(task, how, float(rate), method, seed)

    def units(self) -> Iterator[list[Key]]:
        """All seeds of a task, way, rate and method, in the order of work: a partial run has whole columns."""
        seen: set[Key] = set()
        for task in self.tasks:
            places = [(self.hows[0], 0.0, EXPERT)]
            places += [(how, rate, m) for rate in self.rates for how in self.hows for m in (*self.methods, ORACLE)]
            for how, rate, method in places:
                unit = dict.fromkeys(self.key(task, how, rate, method, seed) for seed in self.seeds)
                if not seen.issuperset(unit):
                    yield list(unit)
                seen.update(unit)

    def settings_of(self, name: str, rate: float) -> dict[str, Any]:
        """Those that a contender's cells of this rate are fitted with, beside the defaults.

        The oracle has those of its method, unless it was given its own.
        """
        given = self.method_settings
        usual = given.get(ORACLE_METHOD, {}) if name == ORACLE else {}
        return find_contender(name).settings(given.get(name, usual), rate)

    def fingerprint(self, key: Key, mark: Mapping[str, Any]) -> dict[str, Any]:
        """All that a cell depends on."""
        common = {
            "format": FORMAT,
            "version": __version__,
            "task": key.task,
            "settings": dict(self.settings),
            "demonstrations": dict(mark),
            "method": key.method,
            "episodes": self.episodes,
            "evaluation_seed": EVALUATION_SEED,
        }
        if key.method == EXPERT:
            return common
        contender = find_contender(key.method)
        method = get_method(contender.method)
        resolved = asdict(method.settings(self.settings_of(key.method, key.rate)))
        fit = {"how": key.how, "rate": key.rate, "pairs": self.pairs, "seed": key.seed, "method_settings": resolved}
        revised = {"revision": method.revision} if method.revision else {}
        return common | fit | revised | ({"audit_revision": REVISION} if contender.cleaned else {})
