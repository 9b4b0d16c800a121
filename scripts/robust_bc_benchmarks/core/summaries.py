"""The long table summed up over seeds: means with intervals, shares of the oracle's return, paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas
from numpy.typing import NDArray

from robust_bc.evaluation.statistics import mean_interval, rate_interval, ratio_interval
from robust_bc_benchmarks.core.contenders import (
    CLEANED,
    EXPERT,
    ORACLE,
    PLAIN,
    SHARED_ORACLE,
    is_oracle,
    is_reference,
    oracle_of,
)
from robust_bc_benchmarks.core.plan import CLEAN
from robust_bc_envs.tasks import CARDS

Array = NDArray[np.float64]
Numbers = TypeVar("Numbers", float, Array, "pandas.Series[float]")

SHARE = "share_of_oracle"
RATES = {"collision", "off_road", "success"}
"""Metrics that are yes or no in an episode."""
SMALLER_IS_BETTER = {"collision", "off_road", "lane_deviation_rms", "rmse", "held_out", "rho_2_max", "rho_2_mean"}
EPISODES = "episodes"
"""The metric that tells over how many episodes the others are means."""
PLACE = ["task", "kind", "rate", "method"]
SUMMARY = [*PLACE, "metric", "mean", "low", "high", "worst", "seeds"]
ANY = float("inf")
"""The rate of a graded mix, which has none; it stands behind all others."""
FEWEST_SEEDS = 5
"""An interval over fewer seeds is too easily on one side of zero."""


def displayed(table: pandas.DataFrame, kinds: Sequence[str], methods: Sequence[str] = ()) -> pandas.DataFrame:
    """The same with every row in all places that show it: what is clean belongs to every kind of its task.

    What a kind has of its own comes before what is shared. Where there is no bad pair, the oracle of a method is the
    method. Of `methods` only these and their oracles are shown; without any, all. A graded mix is at the rate `ANY`.
    """
    table, parts = table.assign(rate=table.rate.astype(float).fillna(ANY)), []
    alone = methods or [name for name in table.method.unique() if not is_reference(name)]
    oracles = {oracle_of(name): name.removesuffix(CLEANED) for name in alone}
    if SHARED_ORACLE in set(table.method):
        oracles = {SHARED_ORACLE: PLAIN}
    for _, mine in table.groupby("task", sort=False):
        expert, others = mine[mine.method == EXPERT], mine[mine.method != EXPERT]
        there = set(others.kind) - {CLEAN} or {kinds[0]}
        for kind in kinds:
            if kind not in there:
                continue
            own, shared = others[others.kind == kind], others[others.kind == CLEAN]
            for covered, same in ((own.rate.eq(0), shared.rate.eq(0)), (own.method.map(is_oracle), shared.rate.ne(0))):
                shared = shared[~same.loc[shared.index]] if covered.any() else shared
            pool = pandas.concat([own, shared])
            clean = pool[pool.rate == 0]
            new = [
                clean[clean.method == plain].assign(method=oracle)
                for oracle, plain in oracles.items()
                if oracle not in set(clean.method)
            ]
            pool = pool[pool.method.isin([*alone, *oracles])]
            experts = [expert.assign(rate=rate) for rate in sorted(set(pool.rate))]
            parts.append(pandas.concat([pool, *new, *experts]).assign(kind=kind))
    return pandas.concat(parts, ignore_index=True) if parts else table


def summarise(
    table: pandas.DataFrame,
    kinds: Sequence[str],
    random: Mapping[str, float] | None = None,
    methods: Sequence[str] = (),
) -> pandas.DataFrame:
    """A row for each place and metric: mean over seeds, 95 % interval of it, worst seed, number of seeds.

    `random` are returns of random actions by task, without those of the cards: they count as 0 in shares of the
    oracle's return. The worst seed's share is that of the oracle of the same seed.
    """
    shown = displayed(table, kinds, methods)
    rows = [*_means(shown), *_shares(shown, random_returns() if random is None else random)]
    summary = pandas.DataFrame(rows, columns=SUMMARY)
    order = {kind: place for place, kind in enumerate(kinds)}
    return summary.sort_values("kind", key=lambda column: column.map(order), kind="stable", ignore_index=True)


def _means(shown: pandas.DataFrame) -> Iterator[tuple[object, ...]]:
    counts = shown[shown.metric == EPISODES].groupby(PLACE).value.sum()
    for (*place, metric), group in shown.groupby([*PLACE, "metric"], sort=False, dropna=False):
        if metric == EPISODES:
            continue
        values = group.value.to_numpy(np.float64)
        low, high = mean_interval(values)
        if metric in RATES and np.ptp(values) == 0 and tuple(place) in counts.index:
            # Seeds without a single collision are no proof that there never is one: the episodes have their say.
            episodes = int(counts[tuple(place)])
            low, high = rate_interval(round(float(values[0]) * episodes), episodes)
        worst = values.max() if metric in SMALLER_IS_BETTER else values.min()
        yield (*place, metric, float(values.mean()), low, high, float(worst), len(values))


def random_returns() -> dict[str, float]:
    """Of random actions, by task."""
    return {name: card.reference.random for name, card in CARDS.items() if card.reference is not None}


def share_of_oracle(mine: Numbers, oracle: Numbers, random: Numbers) -> Numbers:
    """Random actions have 0 and the oracle 1, also where returns are negative."""
    return (mine - random) / (oracle - random)


def _shares(shown: pandas.DataFrame, random: Mapping[str, float]) -> Iterator[tuple[object, ...]]:
    """Every contender beside its own oracle, seed by seed."""
    returns = shown[shown.metric == "return"]
    for place, group in returns.groupby(["task", "kind", "rate"], sort=False):
        if place[0] not in random:
            continue
        zero, seeds = random[place[0]], group.pivot_table(index="seed", columns="method", values="value", sort=False)
        for method in seeds.columns.drop(EXPERT, errors="ignore"):
            own = next((name for name in (oracle_of(method), SHARED_ORACLE) if name in seeds), None)
            if is_oracle(method) or own is None:
                continue
            mine, oracle = seeds[[method, own]].dropna().to_numpy().T
            if len(mine) and oracle.mean() > zero:
                share = share_of_oracle(mine.mean(), oracle.mean(), zero)
                low, high = share_interval(mine - zero, oracle - zero)
                able = oracle > zero  # of an oracle that is worth nothing there is no share
                worst = share_of_oracle(mine[able], oracle[able], np.full(able.sum(), zero)).min()
                yield (*place, method, SHARE, share, low, high, float(worst), len(mine))


def share_interval(mine: Array, oracle: Array) -> tuple[float, float]:
    """Of mean(mine) / mean(oracle) over paired seeds (S,); not a number if a resampled oracle can be worth nothing."""
    if len(mine) < 2 or oracle.min() <= 0:
        return float("nan"), float("nan")
    return ratio_interval(mine, oracle)


def differences(
    table: pandas.DataFrame, kinds: Sequence[str], to: str, methods: Sequence[str] = ()
) -> pandas.DataFrame:
    """Every method's numbers less those of `to`, seed by seed: `better`, `worse`, or neither beyond the interval."""
    shown, rows = displayed(table[table.metric != EPISODES], kinds, methods), []
    for (*place, metric), group in shown.groupby(["task", "kind", "rate", "metric"], sort=False):
        seeds = group.pivot_table(index="seed", columns="method", values="value", sort=False)
        if to not in seeds:
            continue
        for method in seeds.columns.drop([to, EXPERT], errors="ignore"):
            if method.endswith(ORACLE):
                continue
            apart = (seeds[method] - seeds[to]).dropna().to_numpy()
            if len(apart):
                low, high = mean_interval(apart)
                rows.append((*place, method, metric, apart.mean(), low, high, _verdict(metric, low, high, len(apart))))
    return pandas.DataFrame(rows, columns=[*PLACE, "metric", "mean", "low", "high", "verdict"])


def _verdict(metric: str, low: float, high: float, seeds: int) -> str:
    if seeds < FEWEST_SEEDS or low <= 0 <= high:
        return ""
    return "better" if (high < 0) == (metric in SMALLER_IS_BETTER) else "worse"
