"""Statistics against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from robust_bc.evaluation.statistics import mean_interval, rate_interval, summarise


def test_summary_of_a_known_sample() -> None:
    found = summarise([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0])
    assert found.mean == 16.0
    assert found.std == pytest.approx(math.sqrt(np.sum((np.array([1, 2, 3, 4, 5, 6, 7, 100]) - 16.0) ** 2) / 7))
    assert found.iqm == pytest.approx((3 + 4 + 5 + 6) / 4)
    assert (found.minimum, found.maximum, found.count) == (1.0, 100.0, 8)
    assert found.low < 16 < found.high


def test_the_bootstrap_comes_close_to_the_normal_interval() -> None:
    sample = np.random.default_rng(0).normal(10, 2, 2000)
    low, high = mean_interval(sample)
    half = stats.norm.ppf(0.975) * sample.std(ddof=1) / math.sqrt(len(sample))
    assert low == pytest.approx(sample.mean() - half, abs=0.01)
    assert high == pytest.approx(sample.mean() + half, abs=0.01)
    assert mean_interval(sample) == (low, high)  # the same sample, the same interval


def test_a_bootstrap_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = np.random.default_rng(1).normal(size=301)
    monkeypatch.setattr("robust_bc.evaluation.statistics.RESAMPLED", 10**8)
    whole = mean_interval(sample)
    monkeypatch.setattr("robust_bc.evaluation.statistics.RESAMPLED", 10_000)
    assert mean_interval(sample) == whole


@pytest.mark.parametrize(("hits", "count"), [(0, 100), (3, 100), (50, 100), (1000, 1000)])
def test_wilsons_interval(hits: int, count: int) -> None:
    z = stats.norm.ppf(0.975)
    share = hits / count
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    assert rate_interval(hits, count) == pytest.approx((max(0, centre - half), min(1, centre + half)), abs=1e-12)
    found = summarise([1.0] * hits + [0.0] * (count - hits), "rate")
    assert (found.low, found.high) == rate_interval(hits, count)
    assert found.mean == share


def test_one_value_and_none() -> None:
    one = summarise([3.0])
    assert (one.mean, one.std, one.iqm, one.low, one.high, one.count) == (3.0, 0.0, 3.0, 3.0, 3.0, 1)
    none = summarise([])
    assert none.count == 0
    assert math.isnan(none.mean)
