"""Suites of policies: every contender learns from the same mixes, and is measured by the same rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from robust_bc.auditing import REVISION
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods import AUTO, get_method
from robust_bc.policies.policy import Policy
from robust_bc.system.devices import resolve_device
from robust_bc.system.progress import Progress
from robust_bc.training.budget import rule
from robust_bc.training.choosing import CANDIDATES
from robust_bc.version import __version__
from robust_bc_benchmarks.core.cells import Cell, Key
from robust_bc_benchmarks.core.contenders import PLAIN, each_alone, find_contender, fit_contender, with_oracles
from robust_bc_benchmarks.core.plan import CLEAN
from robust_bc_benchmarks.core.running import Say, Suite

FORMAT = 2
"""Whoever changes what a number means by code that no setting tells of (a loss, a metric), counts it up."""
POLICIES_FOLDER = "policies"
FIT_SHARE = 0.2
"""Of the time of a method; only for the progress bar."""

Numbers = dict[str, float]


@dataclass(frozen=True)
class LearningSuite(Suite):
    """Mixes, contenders and a measure."""

    device: str = "auto"

    def __post_init__(self) -> None:
        resolve_device(self.device)  # what is no fault of a cell must not be kept as its failure
        # Usual settings are those of networks, and who has no layers is without them.
        contenders = [find_contender(name) for name in (*self.plan.methods, PLAIN)]
        for name in self.plan.common:
            if not any(name in contender.settings_names for contender in contenders):
                raise RobustBCError(f"none of {', '.join(self.plan.methods)} has a setting '{name}'.")
        for contender in contenders:
            contender.resolved(self.plan.common, max(self.plan.rates))

    @property
    def apart(self) -> tuple[str, ...]:
        """Kinds of corruption whose good pairs are not those of the others."""
        return ()

    @property
    def uneven(self) -> tuple[str, ...]:
        """Kinds of which not the same good pairs stay beside bad ones as of the others."""
        return self.apart

    def key(self, task: str, kind: str, rate: float | None, method: str, seed: int) -> Key:
        """The cell that a table shows there."""
        return self.plan.key(task, kind, rate, method, seed, self.apart, self.uneven)

    def keys_of(self, place: tuple[str, str, float | None], methods: Sequence[str]) -> list[Key]:
        """Method by method, all seeds."""
        return [self.key(*place, method, seed) for method in methods for seed in self.plan.seeds]

    @abstractmethod
    def mix(self, task: str, kind: str, rate: float | None, seed: int) -> Demonstrations:
        """With its hidden labels, for oracles."""

    @abstractmethod
    def measure(self, keys: Sequence[Key], policies: Sequence[Policy], tell: Progress) -> list[Numbers | str]:
        """The numbers of each policy, or one sentence if it could not be measured."""

    @abstractmethod
    def mark(self, task: str) -> dict[str, Any]:
        """All that the mixes and the measure of a task depend on, beside the cell itself."""

    def units(self) -> list[list[Key]]:
        """A place of the table each, with all methods and seeds."""
        methods = with_oracles(self.plan.methods)
        keys = [key for place in self.plan.places(self.apart) for key in self.keys_of(place, methods)]
        places = groupby(dict.fromkeys(keys), lambda key: (key.task, key.rate, key.kind))
        return [list(unit) for _, unit in places]

    def fingerprint(self, key: Key) -> dict[str, Any]:
        """Mixes, method and settings; the audit, where it has a part."""
        contender = find_contender(key.method)
        method = get_method(contender.method)
        settings = asdict(contender.resolved(self.plan.common, key.rate or 0.0))
        about = {
            "format": FORMAT,
            "version": __version__,
            "mark": self.mark(key.task),
            "method": contender.method,
            "settings": settings,
        }
        if contender.method == AUTO or None in settings.values():  # what is open follows from the pairs, by this rule
            about["budget"] = rule()
        if contender.method == AUTO:
            candidates = {name: get_method(name) for name in CANDIDATES}
            about["candidates"] = {name: [one.revision, asdict(one.settings({}))] for name, one in candidates.items()}
        revised = {"revision": method.revision} if method.revision else {}
        return about | revised | ({"audit": REVISION} if contender.cleaned else {})

    def compute(
        self, missing: Sequence[Key], known: Sequence[Cell], out: Path, tell: Progress, say: Say
    ) -> Iterator[list[Cell]]:
        """Method by method: all seeds are fitted as one fleet and measured as one batch."""
        mixes: dict[tuple[str, str, float | None, int], Demonstrations] = {}
        done = 0
        for name, group in groupby(missing, lambda key: key.method):
            keys = list(group)

            def report(share: float, note: str, done: int = done, keys: list[Key] = keys, name: str = name) -> None:
                tell((done + share * len(keys)) / len(missing), f"{keys[0].task} {keys[0].kind} {name}: {note}")

            for key in keys:
                if (place := self._place(key)) not in mixes:
                    report(0.0, "demonstrations")
                    mixes[place] = self.mix(*place)
            yield self._cells(keys, [mixes[self._place(key)] for key in keys], out, report)
            done += len(keys)

    def _place(self, key: Key) -> tuple[str, str, float | None, int]:
        """Of its mix; an oracle that several kinds share is served by any of them."""
        kind = key.kind
        if key.rate and kind == CLEAN:
            kind = next(one for one in self.plan.kinds if one not in self.uneven)
        return key.task, kind, key.rate, key.seed

    def _cells(self, keys: list[Key], mixes: list[Demonstrations], out: Path, tell: Progress) -> list[Cell]:
        seeds = [key.seed for key in keys]
        rates = [0.0 if mix.corrupt is None else float(mix.corrupt.mean()) for mix in mixes]
        common = self.plan.common
        fitted = fit_contender(
            keys[0].method, mixes, rates, seeds, self.device, lambda share: tell(FIT_SHARE * share, "fitting"), common
        )
        policies = {key: policy for key, policy in zip(keys, fitted, strict=True) if isinstance(policy, Policy)}
        for key, policy in policies.items():
            self.keep(key, policy, out)

        def measure(some: Sequence[Key]) -> list[Numbers | str]:
            chosen = [policies[key] for key in some]
            return self.measure(some, chosen, lambda share, note: tell(FIT_SHARE + (1 - FIT_SHARE) * share, note))

        said = {key: policy for key, policy in zip(keys, fitted, strict=True) if isinstance(policy, str)}
        said |= each_alone(measure, list(policies)) if policies else {}
        return [cell_of(key, said[key]) for key in keys]

    def keep(self, key: Key, policy: Policy, out: Path) -> None:
        """Save the policy, if anybody will look at it."""


def cell_of(key: Key, measured: Mapping[str, float] | str) -> Cell:
    """With the numbers that are numbers, or with the sentence why there are none."""
    if isinstance(measured, str):
        return Cell(key, failure=measured)
    return Cell(key, {name: float(value) for name, value in measured.items() if np.isfinite(value)})


def check_rate(rate: float, pairs: int, fewest: int) -> int:
    """How many of so many pairs are bad."""
    bad = round(rate * pairs)
    if pairs - bad < fewest:
        raise RobustBCError(f"a rate of {rate} leaves the oracle fewer than {fewest} of {pairs} pairs.")
    return bad
