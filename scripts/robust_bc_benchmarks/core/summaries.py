"""The long table summed up over seeds: means with intervals, shares of the oracle's return, paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas
from numpy.typing import NDArray

from robust_bc.evaluation.statistics import mean_interval, rate_interval, ratio_interval
from robust_bc_benchmarks.core.contenders import EXPERT, ORACLE, ORACLE_METHOD
from robust_bc_benchmarks.core.plan import CLEAN

Array = NDArray[np.float64]

SHARE = "share_of_oracle"
RATES = {"collision", "off_road", "success"}
"""Metrics that are yes or no in an episode."""
SMALLER_IS_BETTER = {"collision", "off_road", "lane_deviation_rms", "rmse", "held_out", "rho_2_max", "rho_2_mean"}
EPISODES = "episodes"
"""The metric that tells over how many episodes the others are means."""
PLACE = ["task", "kind", "rate", "method"]
SUMMARY = [*PLACE, "metric", "mean", "low", "high", "worst", "seeds"]
FEWEST_SEEDS = 5
"""An interval over fewer seeds is too easily on one side of zero."""


def displayed(table: pandas.DataFrame, kinds: Sequence[str], methods: Sequence[str] = ()) -> pandas.DataFrame:
    """The same with every row in all places that show it: what is clean belongs to every kind of its task.

    Of a kind whose good pairs are its own, clean cells have its name. The oracle of rate 0 is the plain method, which
    is shown itself only if it is among the `methods`; without any, all are shown.
    """
    parts = []
    for _, mine in table.groupby("task", sort=False):
        expert, others = mine[mine.method == EXPERT], mine[mine.method != EXPERT]
        rates = sorted(set(others.rate.dropna()))  # an expert has no rate of its own
        there = set(others.kind) - {CLEAN} or {kinds[0]}
        for kind in kinds:
            if kind not in there:
                continue
            own, clean = others[others.kind == kind], others[others.kind == CLEAN]
            apart = (own.rate.eq(0) | own.method.str.startswith(ORACLE)).any()
            pool = own if apart else pandas.concat([own, clean])
            oracle = pool[(pool.rate == 0) & (pool.method == ORACLE_METHOD)].assign(method=ORACLE)
            if methods:
                pool = pool[pool.method.isin(methods) | pool.method.str.startswith(ORACLE)]
            experts = [expert.assign(rate=rate) for rate in rates]
            parts.append(pandas.concat([pool, oracle, *experts]).assign(kind=kind))
    return pandas.concat(parts, ignore_index=True) if parts else table


def summarise(
    table: pandas.DataFrame,
    kinds: Sequence[str],
    random: Mapping[str, float] | None = None,
    methods: Sequence[str] = (),
) -> pandas.DataFrame:
    """A row for each place and metric: mean over seeds, 95 % interval of it, worst seed, number of seeds.

    `random` are returns of random actions by task: they count as 0 in shares of the oracle's return.
    """
    shown = displayed(table, kinds, methods)
    rows = [*_means(shown), *_shares(shown, random or {})]
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


def _shares(shown: pandas.DataFrame, random: Mapping[str, float]) -> Iterator[tuple[object, ...]]:
    returns = shown[shown.metric == "return"]
    for place, group in returns.groupby(["task", "kind", "rate"], sort=False):
        if place[0] not in random:
            continue
        seeds = group.pivot_table(index="seed", columns="method", values="value", sort=False) - random[place[0]]
        if ORACLE not in seeds:
            continue
        for method in seeds.columns.drop([ORACLE, EXPERT], errors="ignore"):
            pairs = seeds[[method, ORACLE]].dropna().to_numpy()
            if len(pairs) and pairs[:, 1].mean() > 0:
                low, high = share_interval(pairs[:, 0], pairs[:, 1])
                worst = pairs[:, 0].min() / pairs[:, 1].mean()
                yield (*place, method, SHARE, pairs[:, 0].mean() / pairs[:, 1].mean(), low, high, worst, len(pairs))


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
            apart = (seeds[method] - seeds[to]).dropna().to_numpy()
            if len(apart):
                low, high = mean_interval(apart)
                rows.append((*place, method, metric, apart.mean(), low, high, _verdict(metric, low, high, len(apart))))
    return pandas.DataFrame(rows, columns=[*PLACE, "metric", "mean", "low", "high", "verdict"])


def _verdict(metric: str, low: float, high: float, seeds: int) -> str:
    if seeds < FEWEST_SEEDS or low <= 0 <= high:
        return ""
    return "better" if (high < 0) == (metric in SMALLER_IS_BETTER) else "worse"
