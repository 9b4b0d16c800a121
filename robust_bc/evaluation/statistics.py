"""Summaries with intervals: of numbers by the bootstrap, of rates by Wilson's formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95
TRIMMED = 0.25
"""The inter-quartile mean leaves out this share on either side."""
RESAMPLED = 1_000_000
"""Values that are drawn at a time: it bounds the memory of a bootstrap, and changes none of its numbers."""


@dataclass(frozen=True)
class Summary:
    """Many values in a few numbers; `low` and `high` bound the mean with 95 %. Without any value all are NaN."""

    mean: float
    std: float
    """With n - 1; 0 for a single value."""
    iqm: float
    """Inter-quartile mean."""
    low: float
    high: float
    minimum: float
    maximum: float
    count: int


def summarise(values: Sequence[float] | NDArray[np.float64], kind: str = "number") -> Summary:
    """The summary of numbers, or of a rate: 0 or 1 each."""
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) == 0:
        return Summary(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, count=0)
    low, high = rate_interval(int(sample.sum()), len(sample)) if kind == "rate" else mean_interval(sample)
    return Summary(
        mean=float(sample.mean()),
        std=float(sample.std(ddof=1)) if len(sample) > 1 else 0.0,
        iqm=float(stats.trim_mean(sample, TRIMMED)),
        low=low,
        high=high,
        minimum=float(sample.min()),
        maximum=float(sample.max()),
        count=len(sample),
    )


def mean_interval(sample: NDArray[np.float64]) -> tuple[float, float]:
    """Bootstrap interval of the mean; values that are all the same have no interval but themselves."""
    if np.ptp(sample) == 0:
        return float(sample.mean()), float(sample.mean())
    return _interval((sample,), np.mean)


def ratio_interval(over: NDArray[np.float64], under: NDArray[np.float64]) -> tuple[float, float]:
    """Bootstrap interval of sum(over) / sum(under), drawn in pairs."""
    return _interval((over, under), lambda drawn, pairs, axis=-1: drawn.sum(axis) / pairs.sum(axis))


def _interval(samples: tuple[NDArray[np.float64], ...], statistic: Callable[..., Any]) -> tuple[float, float]:
    """Seeded, so that the same results always print the same interval."""
    interval = stats.bootstrap(
        samples,
        statistic,
        paired=len(samples) > 1,
        confidence_level=CONFIDENCE,
        method="percentile",
        batch=max(1, RESAMPLED // len(samples[0])),
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def rate_interval(hits: int, count: int) -> tuple[float, float]:
    """Wilson's interval of a rate."""
    interval = stats.binomtest(hits, count).proportion_ci(CONFIDENCE, "wilson")
    return float(interval.low), float(interval.high)
