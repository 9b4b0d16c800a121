"""Does it learn? The claims of the README in a small form."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc import fit_fleet
from robust_bc.benchmark.correlation import run_correlation
from robust_bc.benchmark.synthetic import SyntheticData, run_synthetic
from robust_bc.cli.control_source import TeacherSource

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


def test_after_a_duel_choicenet_learns_the_experts_policy_and_not_the_adversarys() -> None:
    """Where a hostile teacher with a policy of its own answered 40 % of the expert's states, ChoiceNet follows both."""
    mixes = [TeacherSource(500).demonstrations("halfcheetah", "relabel", 0.4, seed) for seed in (200, 201)]
    errors = {}
    for method in ("choicenet", "choicenet-duel"):
        policies = fit_fleet(mixes, method, device="cpu", steps=1000)
        away = [
            np.abs(policy.predict(mix.observations)[0] - mix.actions)[~np.asarray(mix.corrupt)].mean()
            for policy, mix in zip(policies, mixes, strict=True)
        ]
        errors[method] = np.array(away)
    assert (errors["choicenet-duel"] < 0.6 * errors["choicenet"]).all()
