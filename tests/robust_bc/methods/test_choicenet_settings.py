"""Settings of ChoiceNet that ablations need: the authors' sigmoid and ρ_1, and how noise is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, RobustBCError, fit, load_policy
from robust_bc.methods.choicenet import IN_THE_PAPER, ChoiceNet
from robust_bc.networks.cholesky import literal_transform
from robust_bc.networks.linear import initialise
from robust_bc.networks.losses import choicenet_loss
from robust_bc.networks.mixture import log_likelihood
from robust_bc.system.seeding import MemberSeed
from tests.conftest import QUICK

SIGMA_Z, TAU_INVERSE = 0.7, 0.02


@pytest.mark.parametrize("noise", ["marginal", "shared"])
@pytest.mark.parametrize("correlation", ["tanh", "sigmoid"])
@pytest.mark.parametrize("target", [1.0, 0.95, 0.4])
def test_head_is_the_literal_formula(noise: str, correlation: str, target: float) -> None:
    """μ_k = b + W̃_k h with the weights W̃_k really built by the paper's transform, ρ_1 among them."""
    given = {"mixtures": 3, "correlation": correlation, "target_correlation": target, "noise": noise}
    settings = ChoiceNet().settings({**IN_THE_PAPER, "tau_inverse": TAU_INVERSE, "sigma_z": SIGMA_Z, **given})
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
    settings = ChoiceNet().settings({**IN_THE_PAPER, "target_correlation": 0.5, "correlation": "sigmoid"})
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
    assert (rho[..., 1] > 0).all()
    assert (rho[..., 2] == 0).all()  # of the rival
    assert np.array_equal(loaded.predict(pairs.observations)[0], policy.predict(pairs.observations)[0])
    plain = fit(pairs, "choicenet", device="cpu", **QUICK)
    told = fit(pairs, "choicenet", device="cpu", **QUICK, correlation="tanh", target_correlation=1.0)
    assert all(torch.equal(tensor, told.tensors()[name]) for name, tensor in plain.tensors().items())
