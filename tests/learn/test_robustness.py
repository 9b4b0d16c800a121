"""Does it learn? The claims of the README in a small form."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc.benchmark.correlation import run_correlation
from robust_bc.benchmark.synthetic import SyntheticData, run_synthetic

pytestmark = pytest.mark.slow


def test_choicenet_survives_outliers_that_sink_least_squares() -> None:
    data = SyntheticData.make(["cosexp", "linear"], [0.4], range(2))
    rows = run_synthetic(data, ["choicenet", "mlp"], "cpu").rows
    worst = {(row.task, row.method): row.worst for row in rows}
    for task in ("cosexp", "linear"):
        assert worst[task, "choicenet"] < worst[task, "oracle"] + 0.02
        assert worst[task, "mlp"] > 10 * worst[task, "choicenet"]
        assert worst[task, "oracle"] < 0.02  # it saw the clean pairs only


def test_correlation_says_which_corruption_it_is() -> None:
    flip, uniform = run_correlation(range(2), "cpu")
    assert flip.correlations[:, flip.inside].max() < -0.9
    assert uniform.correlations[:, uniform.inside].max() > -0.9
    for curve in (flip, uniform):
        assert max(row.worst for row in curve.rows() if row.metric == "rmse") < 0.05
        assert np.abs(curve.correlations).max() <= 1
