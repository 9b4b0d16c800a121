"""Ablations, and the settings of ChoiceNet that are there for their sake."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, RobustBCError, fit, load_policy
from robust_bc.methods import get_method
from robust_bc.methods.choicenet import ChoiceNet
from robust_bc.networks.cholesky import literal_transform
from robust_bc.networks.linear import initialise
from robust_bc.networks.losses import choicenet_loss
from robust_bc.networks.mixture import log_likelihood
from robust_bc.system.seeding import MemberSeed
from robust_bc_benchmarks.ablation.running import (
    FUNCTION_COLUMNS,
    QUICK_SUITES,
    SUITES,
    TEACHER_COLUMNS,
    make_problem,
    run_ablation,
    verdict,
)
from robust_bc_benchmarks.ablation.tables import ablation_figure, ablation_markdown, standings, standings_markdown
from robust_bc_benchmarks.ablation.variants import DEFAULT, VARIANTS, Variant
from robust_bc_benchmarks.contenders import find_contender
from robust_bc_benchmarks.rows import Row, summarise
from tests.conftest import QUICK

SIGMA_Z, TAU_INVERSE = 0.7, 0.02


@pytest.mark.parametrize("noise", ["marginal", "shared"])
@pytest.mark.parametrize("correlation", ["tanh", "sigmoid"])
@pytest.mark.parametrize("target", [1.0, 0.95, 0.4])
def test_head_is_the_literal_formula(noise: str, correlation: str, target: float) -> None:
    """μ_k = b + W̃_k h with the weights W̃_k really built by the paper's transform, ρ_1 among them."""
    given = {"correlation": correlation, "target_correlation": target, "noise": noise}
    settings = ChoiceNet().settings({"mixtures": 3, "tau_inverse": TAU_INVERSE, "sigma_z": SIGMA_Z, **given})
    head = ChoiceNet().head(settings, 2, 5, 2)
    initialise(head, [MemberSeed(0), MemberSeed(1)])
    features = torch.rand(2, 5, 4, generator=torch.Generator().manual_seed(0))
    drawn = None if noise == "marginal" else torch.randn(2, 2, 2, 5, generator=torch.Generator().manual_seed(1))
    found = head(features, drawn, 1.0)
    assert found.correlations is not None
    acted = head.by_row()(features.transpose(1, 2).numpy())
    for m in range(2):
        weight, bias = head.outputs.weight[m].detach(), head.outputs.bias[m, :, 0].detach()
        mean, zero = weight[:2], torch.zeros(2, 5)
        for b in range(4):
            h = features[m, :, b]
            raw = weight[2:4] @ h + bias[2:4]
            rho = [target, *(torch.tanh(raw) if correlation == "tanh" else 1 / (1 + torch.exp(-raw))).tolist()]
            base = (weight[7:] @ h + bias[7:]).exp()
            for k in range(3):
                free = 1 - rho[k] ** 2
                # W* = μ + σ_W ε_W with σ_W = 1, Z = σ_Z ε_Z; without noise the weights are at their mean ρμ.
                sampled = mean + (zero if drawn is None else drawn[m, 0])
                auxiliary = zero if drawn is None else SIGMA_Z * drawn[m, 1]
                made = literal_transform(sampled, auxiliary, rho[k], mean, 1.0, SIGMA_Z)
                variance = free * base + TAU_INVERSE
                if drawn is None:
                    variance = variance + free * SIGMA_Z**2 * h.square().sum()
                assert found.correlations[m, k, b].item() == pytest.approx(rho[k], abs=1e-6)
                torch.testing.assert_close(found.means[m, k, :, b].detach(), bias[:2] + made @ h)
                torch.testing.assert_close(found.variances[m, k, :, b].detach(), variance)
            # Whatever ρ_1 is in training, the target acts at ρ = 1.
            np.testing.assert_allclose(acted[m, b], (bias[:2] + mean @ h).numpy(), rtol=1e-5, atol=1e-6)


def test_the_l2_part_pulls_the_first_mixture_and_gradients_flow() -> None:
    settings = ChoiceNet().settings({"target_correlation": 0.5, "correlation": "sigmoid"})
    head = ChoiceNet().head(settings, 1, 3, 2)
    initialise(head, [MemberSeed(0)])
    parameters = head(torch.rand(1, 3, 6), None, 0.0)
    actions = torch.rand(1, 2, 6)
    terms = choicenet_loss(parameters, actions, likelihood_weight=1.0, l2_weight=0.3, kl_weight=2.0)
    square = (actions - parameters.means[:, 0]).square().sum(1).mean(1)
    rho = torch.softmax(parameters.correlations, 1)
    kl = (rho * (rho.log() - parameters.log_weights)).sum(1).mean(1)
    torch.testing.assert_close(
        terms.total, 0.3 * square - log_likelihood(parameters, actions).mean(1) + 2.0 * kl, rtol=1e-5, atol=1e-6
    )
    terms.total.sum().backward()  # type: ignore[no-untyped-call]
    assert head.outputs.weight.grad is not None
    assert (head.outputs.weight.grad.abs().sum(2) > 0).all()


@pytest.mark.parametrize("value", [0.0, -0.5, 1.01])
def test_rho_1_outside_is_refused_by_name(value: float) -> None:
    with pytest.raises(RobustBCError, match=f"setting 'target_correlation' must be above 0 and at most 1.*{value}"):
        ChoiceNet().settings({"target_correlation": value})
    with pytest.raises(RobustBCError, match="setting 'correlation' must be one of tanh, sigmoid, but it is 'relu'"):
        ChoiceNet().settings({"correlation": "relu"})


def test_both_settings_are_fitted_saved_and_loaded(pairs: Demonstrations, tmp_path: Path) -> None:
    given: dict[str, Any] = {"correlation": "sigmoid", "target_correlation": 0.9}
    policy = fit(pairs, "choicenet", device="cpu", **QUICK, **given)
    loaded = load_policy(policy.save(tmp_path), device="cpu")
    rho = loaded.mixture(pairs.observations).correlations
    assert rho is not None
    assert rho[..., 0] == pytest.approx(0.9)
    assert (rho[..., 1:] > 0).all()
    assert np.array_equal(loaded.predict(pairs.observations)[0], policy.predict(pairs.observations)[0])
    plain = fit(pairs, "choicenet", device="cpu", **QUICK)
    told = fit(pairs, "choicenet", device="cpu", **QUICK, correlation="tanh", target_correlation=1.0)
    assert all(torch.equal(tensor, told.tensors()[name]) for name, tensor in plain.tensors().items())


def test_every_variant_has_settings_that_its_method_knows() -> None:
    labels = [variant.label for variant in VARIANTS]
    assert len(set(labels)) == len(labels)
    assert labels[0] == DEFAULT
    assert not VARIANTS[0].settings
    for variant in VARIANTS:
        method = get_method(find_contender(variant.method).method)
        assert method.settings(variant.settings) != method.settings({}) or not variant.settings, variant


def test_columns_are_what_they_say() -> None:
    assert [column.name for column in TEACHER_COLUMNS[:3]] == ["clean", "flip 30%", "flip 40%"]
    assert FUNCTION_COLUMNS[4].name == "linear 60%"
    for suite, columns in SUITES.items():
        assert set(QUICK_SUITES[suite]) <= set(columns)
    for column in (FUNCTION_COLUMNS[1], *TEACHER_COLUMNS[:2]):
        problem = make_problem(column, 3)
        assert problem.demonstrations.corrupt is not None
        assert problem.demonstrations.corrupt.mean() == pytest.approx(column.rate)


def test_differences_are_paired_by_seed() -> None:
    variants = [Variant(DEFAULT), Variant("same"), Variant("K = 2", {"mixtures": 2})]
    columns, seeds = TEACHER_COLUMNS[:2], (4, 5)
    rows = run_ablation(variants, columns, seeds, "cpu", settings=QUICK)
    assert len(rows) == 2 * 3 * 2
    by = {(row.method, row.how, row.metric): row for row in rows}
    for how in ("clean", "flip"):
        assert by["same", how, "difference"].mean == pytest.approx(0, abs=1e-6)
        ours, default = by["K = 2", how, "rmse"], by[DEFAULT, how, "rmse"]
        assert by["K = 2", how, "difference"].mean == pytest.approx(ours.mean - default.mean)
        assert by["K = 2", how, "difference"].mean != 0
    problem = make_problem(columns[1], 5)
    alone = fit(problem.demonstrations, seed=5, device="cpu", **QUICK)
    worst = by[DEFAULT, "flip", "rmse"].worst
    assert problem.error(alone) <= worst * (1 + 1e-4)


def row(method: str, how: str, metric: str, values: list[float]) -> Row:
    return summarise(values, task="teacher", how=how, rate=0.3, method=method, metric=metric)


def test_a_verdict_needs_a_clear_difference_of_enough_seeds() -> None:
    assert verdict(row("v", "flip", "difference", [0.1, 0.2, 0.1, 0.2, 0.3])) == "worse"
    assert verdict(row("v", "flip", "difference", [-0.1, -0.2, -0.1, -0.2, -0.3])) == "better"
    assert verdict(row("v", "flip", "difference", [-0.1, 0.2, -0.1, 0.2, 0.0])) == ""
    assert verdict(row("v", "flip", "difference", [0.1, 0.2, 0.1, 0.2])) == ""
    assert verdict(row("v", "flip", "difference", [0.0] * 5)) == ""


def test_standings_tables_and_figure_by_hand() -> None:
    default, twice, half = [1.0, 1.1, 0.9, 1.0, 1.0], [2.0, 2.2, 1.8, 2.0, 2.0], [0.5, 0.55, 0.45, 0.5, 0.5]
    rows = []
    for how, errors in (("flip", twice), ("relabel", half)):
        for label, mine in ((DEFAULT, default), ("changed", errors)):
            rows.append(row(label, how, "rmse", mine))
            rows.append(row(label, how, "difference", [a - b for a, b in zip(mine, default, strict=True)]))
    first, second = standings(rows)
    assert (first.label, first.ratio, first.better, first.worse) == (DEFAULT, 1.0, 0, 0)
    assert (second.better, second.worse) == (1, 1)
    assert second.ratio == pytest.approx(math.sqrt(2 * 0.5))
    table = ablation_markdown(rows)
    assert "| variant | flip 30% | relabel 30% |" in table
    assert "] 2.200 worse | 0.500 [" in table
    assert table.rstrip().endswith("0.550 better |")
    assert "| changed | 1.00 | 1 | 1 |" in standings_markdown({"random teachers": [first, second]})
    panels = ablation_figure(rows).axes
    assert [axis.get_title() for axis in panels] == ["flip 30%", "relabel 30%"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == [DEFAULT, "changed"]
