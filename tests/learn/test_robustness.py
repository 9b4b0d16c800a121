"""Does it learn? The claims of the README in a small form."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc import fit
from robust_bc_benchmarks.commands.control_source import TeacherSource
from robust_bc_benchmarks.synthetic.correlation import run_correlation
from robust_bc_benchmarks.synthetic.running import SyntheticData, run_synthetic

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


@pytest.mark.parametrize("method", ["gpr", "mlp"])
def test_after_cleaning_the_experts_policy_is_learned_and_not_the_adversarys(method: str) -> None:
    """A hostile teacher answered in 3 of 10 episodes; whoever does not clean learns the mean of both."""
    mix = TeacherSource(None).demonstrations("halfcheetah", "relabel", 0.3, 200)
    thinned = mix.select(np.arange(len(mix)) % 5 == 0)  # 2,000 pairs
    assert thinned.corrupt is not None
    errors = {}
    for clean in (False, True):
        policy = fit(thinned, method, device="cpu", clean=clean)
        errors[clean] = np.abs(policy.predict(thinned.observations)[0] - thinned.actions)[~thinned.corrupt].mean()
    good = fit(thinned.clean(), method, device="cpu")
    oracle = np.abs(good.predict(thinned.observations)[0] - thinned.actions)[~thinned.corrupt].mean()
    assert errors[True] == pytest.approx(oracle, rel=1e-3)
    assert errors[True] < 0.5 * errors[False]
