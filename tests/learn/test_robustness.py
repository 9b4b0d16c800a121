"""Does it learn? The claims of the README in a small form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robust_bc import fit
from robust_bc_benchmarks.core.contenders import is_oracle
from robust_bc_benchmarks.core.plan import Plan
from robust_bc_benchmarks.core.summaries import summarise
from robust_bc_benchmarks.suites.mixes import Mixes
from robust_bc_benchmarks.suites.regression import RegressionSuite
from tests.conftest import known_settings
from tests.robust_bc_benchmarks.small import run

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"hidden": (64, 64), "steps": 2000, "batch_size": 128}


BY_STATE = "choicenet@mixtures=2@rivals=0@gate=state"


def worst(
    out: Path, tasks: tuple[str, ...], kinds: tuple[str, ...], rate: float, methods: tuple[str, ...]
) -> dict[tuple[str, str, str, str], float]:
    """The worst of two seeds by task, kind, method and metric."""
    results, _ = run(RegressionSuite(Plan(tasks, kinds, (rate,), methods, (0, 1), SMALL), "cpu"), out)
    summary = summarise(results.table(), kinds)
    return {(row.task, row.kind, row.method, row.metric): row.worst for row in summary.itertuples()}


def test_choicenet_survives_outliers_that_sink_least_squares(tmp_path: Path) -> None:
    found = worst(tmp_path, ("cosexp", "linear"), ("uniform",), 0.4, ("choicenet", "mlp"))
    for task in ("cosexp", "linear"):
        ours, plain, oracle = (found[task, "uniform", name, "rmse"] for name in ("choicenet", "mlp", "mlp+oracle"))
        assert ours < oracle + 0.02
        assert plain > 10 * ours
        assert oracle < 0.02  # it saw the good pairs only


def test_correlation_says_which_corruption_it_is(tmp_path: Path) -> None:
    kinds = ("region-flip", "region-uniform")
    results, _ = run(RegressionSuite(Plan(("cosexp",), kinds, (0.5,), (BY_STATE,), (0, 1), SMALL), "cpu"), tmp_path)
    for key, cell in results.cells.items():
        assert cell.numbers["rmse"] < 0.05
        if not is_oracle(key.method):
            assert (cell.numbers["rho_2_max"] < -0.9) == (key.kind == "region-flip")


@pytest.mark.parametrize("method", ["gpr", "mlp"])
def test_after_cleaning_the_experts_policy_is_learned_and_not_the_adversarys(method: str) -> None:
    """A hostile teacher answered in 3 of 10 episodes; whoever does not clean learns the mean of both."""
    mix = Mixes(None).mix("halfcheetah", "relabel", 0.3, 200)[0]
    thinned = mix.select(np.arange(len(mix)) % 5 == 0)  # 2,000 pairs
    assert thinned.corrupt is not None
    errors = {}
    for clean in (False, True):
        policy = fit(thinned, method, device="cpu", clean=clean, **known_settings(method, **SMALL))
        errors[clean] = np.abs(policy.predict(thinned.observations)[0] - thinned.actions)[~thinned.corrupt].mean()
    good = fit(thinned.clean(), method, device="cpu", **known_settings(method, **SMALL))
    oracle = np.abs(good.predict(thinned.observations)[0] - thinned.actions)[~thinned.corrupt].mean()
    assert errors[True] == pytest.approx(oracle, rel=1e-3)
    assert errors[True] < 0.5 * errors[False]
