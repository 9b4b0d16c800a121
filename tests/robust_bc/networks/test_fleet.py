"""A member does not depend on the others."""

from __future__ import annotations

import pytest
import torch

from robust_bc import Policy, fit, fit_fleet
from robust_bc.methods import method_names
from robust_bc.methods.choicenet import IN_THE_PAPER, ChoiceNet
from robust_bc.networks.linear import FleetLinear, initialise
from robust_bc.system.seeding import MemberSeed
from tests.conftest import QUICK, make_pairs, quick


def test_layer_equals_torchs_linear_layer_for_each_member() -> None:
    layer = FleetLinear(3, 4, 5)
    initialise(layer, [MemberSeed(seed) for seed in range(3)])
    x = torch.randn(3, 4, 6)
    for member, output in enumerate(layer(x)):
        expected = torch.nn.functional.linear(x[member].T, layer.weight[member], layer.bias[member, :, 0])
        torch.testing.assert_close(output.T, expected)


def test_one_batch_serves_all_members() -> None:
    layer = FleetLinear(3, 4, 5)
    initialise(layer, [MemberSeed(seed) for seed in range(3)])
    x = torch.randn(1, 4, 6)
    torch.testing.assert_close(layer(x), layer(x.expand(3, -1, -1)))


def test_a_member_starts_the_same_in_any_fleet() -> None:
    alone, together = FleetLinear(1, 4, 5), FleetLinear(3, 4, 5)
    initialise(alone, [MemberSeed(7, 2)])
    initialise(together, [MemberSeed(7, 0), MemberSeed(7, 1), MemberSeed(7, 2)])
    assert torch.equal(alone.weight[0], together.weight[2])
    assert not torch.equal(together.weight[0], together.weight[1])
    assert together.weight.abs().max() <= 0.5


@pytest.mark.parametrize("method", method_names())
def test_a_policy_is_the_same_alone_and_in_company(method: str) -> None:
    """To float tolerance: batched matrix products may be split differently for another number of members."""
    data = [make_pairs(seed, 100 + 50 * seed) for seed in range(3)]
    together = fit_fleet(data, method, seeds=[5, 6, 7], device="cpu", **quick(method))
    for number, policy in enumerate(together):
        alone = fit(data[number], method, seed=5 + number, device="cpu", **quick(method))
        same_weights(policy, alone, tolerance=1e-5)


def test_permuting_members_permutes_results() -> None:
    data = [make_pairs(seed) for seed in range(3)]
    forward = fit_fleet(data, "choicenet", seeds=[5, 6, 7], device="cpu", **QUICK)
    backward = fit_fleet(data[::-1], "choicenet", seeds=[7, 6, 5], device="cpu", **QUICK)
    for one, other in zip(forward, backward[::-1], strict=True):
        same_weights(one, other, tolerance=1e-5)


def test_a_large_fleet_is_split_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [make_pairs(seed) for seed in range(5)]
    whole = fit_fleet(data, "mlp", device="cpu", **QUICK)
    monkeypatch.setattr("robust_bc.training.fitting.LARGEST_FLEET", 2)
    done: list[int] = []
    split = fit_fleet(data, "mlp", device="cpu", progress=lambda state: done.append(state.done), **QUICK)
    for one, other in zip(whole, split, strict=True):
        same_weights(one, other, tolerance=1e-5)
    assert done == sorted(done)
    assert done[-1] == 3 * QUICK["steps"]


def same_weights(one: Policy, other: Policy, tolerance: float) -> None:
    for name, tensor in one.tensors().items():
        torch.testing.assert_close(tensor, other.tensors()[name], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("noise", ["marginal", "local", "shared"])
def test_choicenet_head_is_the_literal_formula(noise: str) -> None:
    """ρ, π, μ_k and Σ_k from the weights, mixture by mixture, as docs/choicenet.md writes them."""
    settings = ChoiceNet().settings(
        {**IN_THE_PAPER, "mixtures": 3, "noise": noise, "tau_inverse": 0.02, "sigma_z": 0.7}
    )
    head = ChoiceNet().head(settings, 2, 5, 2)
    initialise(head, [MemberSeed(0), MemberSeed(1)])
    h = torch.rand(2, 5, 4, generator=torch.Generator().manual_seed(0))
    shape = head.noise_shape(4)
    drawn = torch.randn(2, *shape, generator=torch.Generator().manual_seed(1)) if shape else None
    found = head(h, drawn, 1.0)
    for m in range(2):
        weight, bias = head.outputs.weight[m], head.outputs.bias[m, :, 0]
        for b in range(4):
            feature = h[m, :, b]
            outputs = weight @ feature
            lever, raw, logits, log_base = outputs[:2], outputs[2:4], outputs[4:7], outputs[7:]
            rho = torch.cat([torch.ones(1), torch.tanh(raw + bias[2:4])])
            base = (log_base + bias[7:]).exp()
            torch.testing.assert_close(found.correlations[m, :, b], rho)
            torch.testing.assert_close(found.log_weights[m, :, b], torch.log_softmax(logits + bias[4:7], 0))
            for k in range(3):
                free = 1 - rho[k] ** 2
                mean = bias[:2] + rho[k] * lever
                variance = free * base + 0.02
                if drawn is None:
                    variance = variance + free * 0.7**2 * feature.square().sum()
                else:
                    w, z = drawn[m, 0], drawn[m, 1]
                    towards = [e @ feature if noise == "shared" else e[:, b] * feature.norm() for e in (w, z)]
                    mean = mean + free.sqrt() * 0.7 * (rho[k] * towards[0] + free.sqrt() * towards[1])
                torch.testing.assert_close(found.means[m, k, :, b], mean)
                torch.testing.assert_close(found.variances[m, k, :, b], variance)


def test_patience_of_one_does_not_depend_on_the_other() -> None:
    """One member is given up long before its neighbour; until then and after, it must not change."""
    given = {**QUICK, "steps": 1500, "early_stopping": True, "patience": 2, "evaluate_every": 5, "learning_rate": 0.02}
    data = [make_pairs(0, 60), make_pairs(1, 400)]
    together = fit_fleet(data, "mlp", seeds=[0, 1], device="cpu", **given)
    alone = [fit(pairs, "mlp", seed=seed, device="cpu", **given) for seed, pairs in enumerate(data)]
    lengths = [policy.history.steps[-1] for policy in alone if policy.history is not None]
    assert max(lengths) > min(lengths)
    for one, other in zip(together, alone, strict=True):
        same_weights(one, other, tolerance=1e-4)
