"""Who stands in a benchmark's table: a method with its settings, cleaned before or not, and the oracle.

choicenet                        with its defaults
choicenet@mixtures=2@restarts=5  with other settings
trimmed@rate=true                told the true share of bad pairs, which nobody knows outside of a benchmark
mlp+clean                        learns from what an audit keeps
auto                             audits, and chooses a method for what is kept
oracle                           `mlp` on the good pairs of the same mix; oracle@steps=9 with other settings
"""

from __future__ import annotations

import dataclasses
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

ORACLE, ORACLE_METHOD = "oracle", "mlp"
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

    @property
    def settings_names(self) -> list[str]:
        """A Gaussian process has no layers."""
        return [field.name for field in dataclasses.fields(get_method(self.method).settings_type)]

    @property
    def clean_only(self) -> bool:
        """Whether it learns from the good pairs only."""
        return self.name.startswith(ORACLE)

    def settings(self, common: Mapping[str, Any], rate: float) -> dict[str, Any]:
        """What it is fitted with at this rate: of the common settings those that it has, and its own."""
        known = self.settings_names
        told = {RATE: rate} if self.told_rate else {}
        return {**{name: value for name, value in common.items() if name in known}, **self.own, **told}

    def resolved(self, common: Mapping[str, Any], rate: float) -> Settings:
        """The same with all defaults, checked."""
        resolved: Settings = get_method(self.method).settings(self.settings(common, rate))
        return resolved


def find_contender(name: str) -> Contender:
    """The contender of that name, or an error that lists the known ones."""
    bare, *words = name.removesuffix(CLEANED).split("@")
    clean_only, cleaned = bare == ORACLE, name.endswith(CLEANED)
    if clean_only and cleaned:
        raise RobustBCError(f"'{ORACLE}' has only good pairs, so there is no '{name}'.")
    method = ORACLE_METHOD if clean_only else check_method(bare)
    own = {key: layers(key, value) for key, value in map(setting, words)}
    told = own.get(RATE) is True
    if told:
        del own[RATE]
        if not _takes_rate(method):
            raise RobustBCError(f"method '{method}' takes no share of bad pairs, so there is no '{name}'.")
    get_method(method).settings(own)  # a wrong one is told before any work
    return Contender(name, method, own, told, cleaned or get_method(method).cleans)


def layers(name: str, value: Any) -> Any:
    """`128x128` as two numbers and one width as a layer; everything else as it is."""
    if name == "hidden" and isinstance(value, int):
        return (value,)
    return tuple(map(int, value.split("x"))) if isinstance(value, str) and LAYERS.fullmatch(value) else value


def fair(name: str) -> bool:
    """Whether a contender knows no more than a person with a pile of demonstrations would."""
    return name != EXPERT and not name.startswith(ORACLE) and TOLD not in name


def expand(names: Sequence[str]) -> tuple[str, ...]:
    """Names of contenders; `all` stands for every method, `neural` for those that train networks."""
    expanded: list[str] = []
    for name in names:
        if name == ORACLE:
            raise RobustBCError(f"'{ORACLE}' is in every table anyway; leave it out.")
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
    pairs = [mix.clean() for mix in demonstrations] if contender.clean_only else list(demonstrations)
    told = list(dict.fromkeys(rates)) if contender.told_rate else [None]
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
