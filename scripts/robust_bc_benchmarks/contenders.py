"""Who stands in a benchmark's table: every method, what it is told, cleaned before or not, and the oracle."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.methods import check_method, get_method, method_names
from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.policies.policy import Policy
from robust_bc.training.fitting import Progress, fit_fleet

ORACLE, ORACLE_METHOD = "oracle", "mlp"
"""The row that every table carries: plain least squares on the clean pairs of the same mix."""
TOLD = "+rate"
"""`trimmed+rate` is `trimmed` with the true share of bad pairs, which nobody knows outside of a benchmark."""
RATE_SETTING = "rate"
RESTARTED, RESTARTS = "+restarts", 5
"""`choicenet+restarts` keeps the one of five networks that explains held-out pairs best."""
CLEANED = "+clean"
"""`mlp+clean` learns from what an audit keeps; it comes last, as in `choicenet+restarts+clean`."""
ALL, NEURAL = "all", "neural"
_COMMON = [field.name for field in dataclasses.fields(NetworkSettings)]


@dataclass(frozen=True)
class Contender:
    """A row of a table: a method, and what it is told."""

    name: str
    method: str
    told_rate: bool = False
    restarted: bool = False
    cleaned: bool = False
    clean_only: bool = False

    def takes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Those settings that this method has; only such of all networks may be left, as a process has no layers."""
        known = _setting_names(self.method)
        for name in given:
            if name not in known and name not in _COMMON:
                raise RobustBCError(f"neither '{self.method}' nor all networks have a setting '{name}'.")
        return {name: value for name, value in given.items() if name in known}

    def settings(self, given: Mapping[str, Any], rate: float) -> dict[str, Any]:
        """What it is fitted with at this rate: the given settings, and the truth where it is told."""
        told = {RATE_SETTING: rate} if self.told_rate else {}
        restarts = {"restarts": RESTARTS} if self.restarted else {}
        return {**given, **told, **restarts}

    def sees(self, demonstrations: Demonstrations) -> Demonstrations:
        """The pairs that it learns from."""
        return demonstrations.clean() if self.clean_only else demonstrations


def find_contender(name: str) -> Contender:
    """The contender of that name, or an error that lists the known ones."""
    if name == ORACLE:
        return Contender(ORACLE, ORACLE_METHOD, clean_only=True)
    if name.endswith(CLEANED):
        bare = name.removesuffix(CLEANED)
        known = check_method(bare) if bare == ORACLE or bare.endswith(CLEANED) else bare
        return replace(find_contender(known), name=name, cleaned=True)
    suffix = next((one for one in (TOLD, RESTARTED) if name.endswith(one)), "")
    method = check_method(name.removesuffix(suffix))
    if suffix == RESTARTED:
        if not isinstance(get_method(method), NetworkMethod):
            raise RobustBCError(f"method '{method}' trains no networks, so there is no '{name}'.")
        return Contender(name, method, restarted=True)
    if not suffix:
        return Contender(name, method)
    if not _takes_rate(method):
        raise RobustBCError(f"method '{method}' takes no share of bad pairs, so there is no '{name}'.")
    return Contender(name, method, told_rate=True)


def fair(name: str) -> bool:
    """Whether a contender knows no more than a person with a pile of demonstrations would."""
    return not name.removesuffix(CLEANED).endswith(TOLD)


def expand(names: Sequence[str]) -> tuple[str, ...]:
    """Names of contenders; `all` stands for every one but the oracle, `neural` for those that train networks."""
    expanded: list[str] = []
    for name in names:
        if name == ORACLE:
            raise RobustBCError(f"'{ORACLE}' is in every table anyway; leave it out.")
        expanded += _group(name) if name in (ALL, NEURAL) else [find_contender(name).name]
    return tuple(dict.fromkeys(expanded))


def _group(name: str) -> list[str]:
    chosen = [m for m in method_names() if name == ALL or isinstance(get_method(m), NetworkMethod)]
    return [one for method in chosen for one in ([method, method + TOLD] if _takes_rate(method) else [method])]


def fit_contender(
    name: str,
    demonstrations: Sequence[Demonstrations],
    rates: Sequence[float],
    seeds: Sequence[int],
    device: str = "auto",
    progress: Callable[[float], None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Policy]:
    """One policy for each mix, whose true rate and seed are given; `settings` are those for all contenders."""
    contender = find_contender(name)
    given = contender.takes(settings or {})
    # Whoever is told the rate is fitted rate by rate, all others in one fleet.
    told = list(dict.fromkeys(rates)) if contender.told_rate else [None]
    fitted: dict[int, Policy] = {}
    for number, rate in enumerate(told):
        which = [index for index, true in enumerate(rates) if rate is None or true == rate]

        def report(state: Progress, number: int = number) -> None:
            if progress is not None:
                progress((number + state.done / state.total) / len(told))

        policies = fit_fleet(
            [contender.sees(demonstrations[index]) for index in which],
            contender.method,
            seeds=[seeds[index] for index in which],
            device=device,
            progress=report,
            clean=contender.cleaned,
            **contender.settings(given, rate or 0.0),
        )
        fitted |= dict(zip(which, policies, strict=True))
    return [fitted[index] for index in range(len(demonstrations))]


def settings_in_use(names: Sequence[str], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What these contenders and the oracle are fitted with, all told, as plain objects; a true rate shows as 0."""
    found = {}
    for name in (*names, ORACLE):
        contender = find_contender(name)
        resolved = get_method(contender.method).settings(contender.settings(contender.takes(given or {}), 0.0))
        cleaned = {"clean": True} if contender.cleaned else {}
        found[name] = json.loads(json.dumps({**dataclasses.asdict(resolved), **cleaned}))
    return found


def _takes_rate(method: str) -> bool:
    return RATE_SETTING in _setting_names(method)


def _setting_names(method: str) -> set[str]:
    return {field.name for field in dataclasses.fields(get_method(method).settings_type)}
