"""Who stands in a benchmark's table: a method with its settings, cleaned before or not, and its oracle.

choicenet                        with its defaults
choicenet@mixtures=2@restarts=5  with other settings
trimmed@rate=true                told the true share of bad pairs, which nobody knows outside of a benchmark
mlp+clean                        learns from what an audit keeps
auto                             audits, and chooses a method for what is kept
mlp+oracle                       the oracle of mlp: the same on only the good pairs of the same mix, never cleaned

Who cleans has the oracle of the method alone. Who is told the true rate has an oracle that is told the true rate of
what it learns from, which is 0.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robust_bc.cli.arguments import setting
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods import check_method, get_method, method_names
from robust_bc.methods.network import NetworkMethod
from robust_bc.methods.settings import Settings
from robust_bc.policies.policy import Policy
from robust_bc.training.fitting import fit_fleet
from robust_bc.training.progress import Progress

ORACLE = "+oracle"
PLAIN = "mlp"
"""Least squares: what a robust method must not be behind."""
SHARED_ORACLE = "oracle"
"""That of `mlp`, the only one in results that were measured before each contender had its own."""
EXPERT = "expert"
"""The good teacher itself, in the same episodes; control benchmarks have its row."""
RATE, TOLD = "rate", "@rate=true"
CLEANED = "+clean"
ALL, NEURAL = "all", "neural"
LAYERS = re.compile(r"\d+(x\d+)+")
"""`hidden=128x128` is a setting of several numbers."""


@dataclass(frozen=True)
class Contender:
    """A row of a table: a method, its settings, and what it is told."""

    name: str
    method: str
    own: Mapping[str, Any]
    told_rate: bool
    cleaned: bool
    oracle: bool
    """Whether it learns from the good pairs only."""

    @property
    def settings_names(self) -> list[str]:
        """A Gaussian process has no layers."""
        return [field.name for field in dataclasses.fields(get_method(self.method).settings_type)]

    def settings(self, common: Mapping[str, Any], rate: float) -> dict[str, Any]:
        """What it is fitted with at this rate: of the common settings those that it has, and its own."""
        known = self.settings_names
        told = {RATE: 0.0 if self.oracle else rate} if self.told_rate else {}
        return {**{name: value for name, value in common.items() if name in known}, **self.own, **told}

    def resolved(self, common: Mapping[str, Any], rate: float) -> Settings:
        """The same with all defaults, checked."""
        resolved: Settings = get_method(self.method).settings(self.settings(common, rate))
        return resolved


@functools.cache
def find_contender(name: str) -> Contender:
    """The contender of that name, or an error that lists the known ones."""
    given = name.removesuffix(ORACLE)
    oracle, cleaned = given != name, given.endswith(CLEANED)
    if oracle and cleaned:
        raise RobustBCError(f"an oracle has only good pairs, so there is no '{name}'.")
    bare, *words = given.removesuffix(CLEANED).split("@")
    method = check_method(bare)
    own = {key: layers(key, value) for key, value in map(setting, words)}
    told = own.get(RATE) is True
    if told:
        del own[RATE]
        if not _takes_rate(method):
            raise RobustBCError(f"method '{method}' takes no share of bad pairs, so there is no '{name}'.")
    get_method(method).settings(own)  # a wrong one is told before any work
    cleaned |= get_method(method).cleans and not oracle
    return Contender(name, method, own, told, cleaned, oracle)


def oracle_of(name: str) -> str:
    """The oracle of a contender."""
    return name.removesuffix(CLEANED) + ORACLE


def is_oracle(name: str) -> bool:
    """Whether it saw the good pairs only."""
    return name == SHARED_ORACLE or name.endswith(ORACLE)


def is_reference(name: str) -> bool:
    """Whether others are measured against it."""
    return name == EXPERT or is_oracle(name)


def with_oracles(names: Sequence[str]) -> tuple[str, ...]:
    """Contenders, then the oracle of each, once."""
    return tuple(dict.fromkeys((*names, *map(oracle_of, names))))


def without_bad_pairs(name: str) -> str:
    """Who has the same cell where there is no bad pair: an oracle is then the method itself, if that does not clean."""
    plain = name.removesuffix(ORACLE)
    return plain if not find_contender(plain).cleaned else name


def shown_name(name: str) -> str:
    """As a table names it."""
    return f"oracle of {name.removesuffix(ORACLE)}" if name.endswith(ORACLE) else name


def layers(name: str, value: Any) -> Any:
    """`128x128` as two numbers and one width as a layer; everything else as it is."""
    if name == "hidden" and isinstance(value, int):
        return (value,)
    return tuple(map(int, value.split("x"))) if isinstance(value, str) and LAYERS.fullmatch(value) else value


def fair(name: str) -> bool:
    """Whether a contender knows no more than a person with a pile of demonstrations would."""
    return not is_reference(name) and TOLD not in name


def expand(names: Sequence[str]) -> tuple[str, ...]:
    """Names of contenders; `all` stands for every method, `neural` for those that train networks."""
    expanded: list[str] = []
    for name in names:
        if is_oracle(name):
            raise RobustBCError(f"the oracle of each method is in its table anyway; leave '{name}' out.")
        expanded += _group(name) if name in (ALL, NEURAL) else [find_contender(name).name]
    return tuple(dict.fromkeys(expanded))


def _group(name: str) -> list[str]:
    chosen = [m for m in method_names() if name == ALL or isinstance(get_method(m), NetworkMethod)]
    return [one for method in chosen for one in ([method, method + TOLD] if _takes_rate(method) else [method])]


def _takes_rate(method: str) -> bool:
    return any(field.name == RATE for field in dataclasses.fields(get_method(method).settings_type))


def fit_contender(
    name: str,
    demonstrations: Sequence[Demonstrations],
    rates: Sequence[float],
    seeds: Sequence[int],
    device: str = "auto",
    progress: Callable[[float], None] = lambda share: None,
    common: Mapping[str, Any] | None = None,
) -> list[Policy | str]:
    """A policy for each mix, whose true rate and seed are given, or one sentence if it could not be fitted."""
    contender = find_contender(name)
    pairs = [mix.clean() for mix in demonstrations] if contender.oracle else list(demonstrations)
    told = list(dict.fromkeys(rates)) if contender.told_rate and not contender.oracle else [None]
    fitted: dict[int, Policy | str] = {}
    for number, rate in enumerate(told):  # who is told the rate is fitted rate by rate, all others in one fleet
        settings = contender.settings(common or {}, rate or 0.0)
        which = [index for index, true in enumerate(rates) if rate is None or true == rate]

        def fit(some: Sequence[int], settings: dict[str, Any] = settings, number: int = number) -> list[Policy]:
            return fit_fleet(
                [pairs[index] for index in some],
                contender.method,
                seeds=[seeds[index] for index in some],
                device=device,
                progress=lambda state: progress((number + _share(state)) / len(told)),
                clean=contender.cleaned,
                padded=True,
                **settings,
            )

        fitted |= each_alone(fit, which)
    return [fitted[index] for index in range(len(pairs))]


def each_alone(compute: Callable[[Sequence[Any]], list[Any]], which: Sequence[Any]) -> dict[Any, Any]:
    """All at once; if that fails, one by one, so that who fails costs nobody else: that one has a sentence."""
    try:
        return dict(zip(which, compute(which), strict=True))
    except RobustBCError as problem:
        if len(which) == 1:
            return {which[0]: str(problem)}
    return {key: value for one in which for key, value in each_alone(compute, [one]).items()}


def _share(state: Progress) -> float:
    return state.done / state.total
