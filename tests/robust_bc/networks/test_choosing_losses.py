"""Losses that choose among pairs, by rank or by a background, against their literal formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from robust_bc import RobustBCError
from robust_bc.methods import get_method
from robust_bc.methods.baselines.background import Background
from robust_bc.networks.linear import initialise
from robust_bc.networks.losses import regression_loss
from robust_bc.networks.robust_losses import trimmed_mean
from robust_bc.system.seeding import MemberSeed
from tests.robust_bc.networks.test_robust_losses import B, D, M, example, total


def test_trimming_drops_exactly_the_dearest_of_each_member() -> None:
    costs = torch.rand(3, 50, generator=torch.Generator().manual_seed(0), requires_grad=True)
    for rate, dropped in ((0.0, 0), (0.3, 15), (0.49, 24), (0.999, 49)):
        (gradient,) = torch.autograd.grad(trimmed_mean(costs, rate).sum(), costs)
        for member in range(3):
            out = gradient[member] == 0
            assert out.sum() == dropped
            assert not dropped or costs[member][out].min() > costs[member][~out].max()
            torch.testing.assert_close(gradient[member][~out], torch.full((50 - dropped,), 1 / (50 - dropped)))


def test_trimming_grows_from_nothing_and_none_is_least_squares() -> None:
    settings: Any = get_method("trimmed").settings({"rate": 0.4, "warm_up": 0.2})
    assert [settings.rate_at(p) for p in (0.0, 0.1, 0.2, 1.0)] == pytest.approx([0.0, 0.2, 0.4, 0.4])
    assert get_method("trimmed").settings({"rate": 0.4, "warm_up": 0}).rate_at(0.0) == 0.4
    parameters, actions = example()
    torch.testing.assert_close(
        total("trimmed", parameters, actions, rate=0), regression_loss(parameters, actions).total
    )
    torch.testing.assert_close(total("trimmed", parameters, actions, 0.0), regression_loss(parameters, actions).total)
    with pytest.raises(RobustBCError, match="setting 'rate' must be at least 0 and below 1"):
        get_method("trimmed").settings({"rate": 1})


def background_head(**given: Any) -> tuple[Any, Any]:
    settings = Background().settings(given)
    head = Background().head(settings, M, 5, D)
    initialise(head, [MemberSeed(0), MemberSeed(1)])
    return settings, head


def test_background_is_the_literal_formula() -> None:
    settings, head = background_head(background_variance=2.5, tau_inverse=0.05)
    generator = torch.Generator().manual_seed(0)
    h, y = torch.rand(M, 5, B, generator=generator), torch.randn(M, D, B, generator=generator)
    found = Background().loss(settings, head(h, None, 1.0), y, 1.0).total.tolist()
    acted = head.by_row()(h.transpose(1, 2).numpy())  # (M, B, D)
    for m in range(M):
        outputs = (head.outputs.weight[m] @ h[m] + head.outputs.bias[m]).detach().numpy().astype(np.float64)
        target, logits, action = outputs[:D], outputs[D:], y[m].numpy().astype(np.float64)
        log_pi = logits - logsumexp(logits, axis=0)
        near = norm.logpdf(action, target, math.sqrt(0.05)).sum(0)
        broad = norm.logpdf(action, 0, math.sqrt(2.5)).sum(0)
        each = logsumexp(np.stack([log_pi[0] + near, log_pi[1] + broad]), axis=0)
        assert found[m] == pytest.approx(-each.mean(), rel=1e-5)
        np.testing.assert_allclose(acted[m].T, target, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["background", "choicenet"])
def test_the_target_narrows_over_passes_or_a_share_of_training(method: str) -> None:
    given = {"tau_inverse": 0.02, "tau_inverse_start": 0.5, "tau_passes": 30.0, "tau_anneal": 0.4}
    known: Any = get_method(method)
    head = known.head(known.settings(given), M, 5, D)
    initialise(head, [MemberSeed(0), MemberSeed(1)])
    head.prepare(torch.tensor([60.0, 300.0]))
    h = torch.rand(M, 5, B, generator=torch.Generator().manual_seed(0))
    for progress in (0.0, 0.05, 0.1, 0.3, 0.4, 1.0):
        found = head(h, None, progress).variances[:, 0]  # (M, D, B)
        for member, share in enumerate((0.4, 0.1)):  # half of 60 passes is too much, a tenth of 300 is not
            done = min(1.0, progress / share)
            expected = 0.5 * (0.02 / 0.5) ** done
            torch.testing.assert_close(found[member], torch.full((D, B), expected))
