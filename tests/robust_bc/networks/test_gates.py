"""Gates: weights and noise by episode are the literal formulas, and what is learned finds the bad episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robust_bc import ChoiceNet, Demonstrations, RobustBCError, fit, fit_fleet, load_policy
from robust_bc.methods.choicenet import IN_THE_PAPER
from robust_bc.methods.choicenet import ChoiceNet as Method
from robust_bc.networks.gates import FEWEST_PAIRS, NOISE_PAIRS, PRIOR_PAIRS, TARGET_PRIOR, Gate
from robust_bc.networks.linear import initialise
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.system.seeding import MemberSeed
from robust_bc.training.plan import FitPlan
from robust_bc.training.trainer import Trainer
from tests.conftest import QUICK, make_pairs

M, C, D, B = 2, 3, 2, 8
SIZES = torch.tensor([[40.0, 12.0, 3.0], [20.0, 11.0, 0.0]])
EPISODES = torch.tensor([[0, 0, 1, 1, 1, 2, 0, 2], [1, 1, 0, 0, 0, 0, 1, 0]])


def mixture(seed: int) -> tuple[MixtureParameters, torch.Tensor]:
    stream = torch.Generator().manual_seed(seed)
    weights = torch.log_softmax(torch.randn(M, C, B, generator=stream), 1)
    variances = torch.rand(M, C, D, B, generator=stream) + 0.1
    variances[:, 0] = 0.05
    means = torch.randn(M, C, D, B, generator=stream)
    return MixtureParameters(weights, means, variances), torch.randn(M, D, B, generator=stream)


def test_two_updates_are_the_literal_formulas() -> None:
    gate = Gate(M, C, by_episode=True, noise=True)
    gate.prepare(SIZES)
    prior = torch.tensor([TARGET_PRIOR, (1 - TARGET_PRIOR) / 2, (1 - TARGET_PRIOR) / 2])
    counts, squares, weights = torch.zeros(M, 3, C), torch.zeros(M, 3), prior.expand(M, C)
    for step in range(2):
        made, actions = mixture(step)
        gated = gate(made, EPISODES)
        for m in range(M):
            new_counts, new_squares = counts[m].clone(), squares[m].clone()
            for e in range(3):
                times = int((EPISODES[m] == e).sum())
                new_counts[e] *= (1 - 1 / (SIZES[m, e] + 1)) ** times
                new_squares[e] *= (1 - 1 / (SIZES[m, e] + 1)) ** times
            for b in range(B):
                e = int(EPISODES[m, b])
                own = float(SIZES[m, e] >= FEWEST_PAIRS)
                share = (own * counts[m, e] + PRIOR_PAIRS * weights[m]) / (own * counts[m, e].sum() + PRIOR_PAIRS)
                torch.testing.assert_close(gated.log_weights[m, :, b].exp(), share)
                v = (own * squares[m, e] + NOISE_PAIRS * 0.05) / (own * counts[m, e, 0] + NOISE_PAIRS)
                variances = made.variances[m, :, :, b].clone()
                variances[0] += max(0.0, float(v) - 0.05)
                torch.testing.assert_close(gated.variances[m, :, :, b], variances)
                normal = torch.distributions.Normal(made.means[m, :, :, b], variances.sqrt())
                density = normal.log_prob(actions[m, :, b]).sum(1).exp()  # type: ignore[no-untyped-call]
                owned = share * density / (share * density).sum()
                new_counts[e] += owned
                new_squares[e] += owned[0] * (actions[m, :, b] - made.means[m, 0, :, b]).square().mean()
            counts[m], squares[m] = new_counts, new_squares
        gate.update(gated, actions, EPISODES)
        total = counts.sum(1)
        weights = (total + PRIOR_PAIRS * prior) / (total.sum(1, keepdim=True) + PRIOR_PAIRS)
        torch.testing.assert_close(gate.counts, counts)
        torch.testing.assert_close(gate.squares, squares)
        torch.testing.assert_close(gate.weights[:, :, 0], weights)
        unknown = gate(made, None)
        torch.testing.assert_close(unknown.log_weights.exp(), weights[:, :, None].expand(-1, -1, B))
        assert unknown.variances is made.variances


def test_a_rival_is_the_literal_formula_and_may_become_the_target() -> None:
    settings = Method().settings({"mixtures": 2, "rivals": 2, "gate": "global", "tau_inverse": 0.02})
    head = Method().head(settings, 2, 5, D)
    initialise(head, [MemberSeed(0), MemberSeed(1)])
    assert head.rival_log_variance is not None
    head.rival_log_variance.data.uniform_(-1, 1)
    features = torch.rand(2, 5, 4, generator=torch.Generator().manual_seed(0))
    found = head(features, None, 1.0)
    rivals = [head.outputs.weight[:, at : at + D] @ features + head.outputs.bias[:, at : at + D] for at in (5, 7)]
    for number, means in enumerate(rivals):
        torch.testing.assert_close(found.means[:, 2 + number], means)
        broad = head.rival_log_variance[:, D * number : D * (number + 1)].exp() + 0.02
        torch.testing.assert_close(found.variances[:, 2 + number], broad.expand(-1, -1, 4))
        assert (found.correlations[:, 2 + number] == 0).all()
    target = found.means[:, 0].detach().clone()
    weights = torch.tensor([[0.5, 0.1, 0.3, 0.1], [0.3, 0.1, 0.2, 0.4]]).unsqueeze(2)
    settled = head.settle(weights)[:, :, 0]
    torch.testing.assert_close(settled, torch.tensor([[0.5, 0.1, 0.3, 0.1], [0.4, 0.1, 0.2, 0.3]]))
    after = head(features, None, 1.0)
    torch.testing.assert_close(after.means[0, 0], target[0])
    torch.testing.assert_close(after.means[1, 0], found.means[1, 3])
    torch.testing.assert_close(after.means[1, 3], target[1])


def mixed(seed: int, rate: float = 0.4) -> Demonstrations:
    """Ten episodes of sin(3x), of which some show another function of x."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (600, 1))
    episodes = np.arange(600) // 60
    bad = episodes < 10 * rate
    y = np.where(bad[:, None], np.cos(4 * x), np.sin(3 * x)) + 0.05 * generator.normal(size=x.shape)
    return Demonstrations.from_arrays(x, y, episodes, corrupt=bad)


def error_of(policy: Any) -> float:
    x = np.linspace(-1, 1, 200)[:, None]
    return float(np.sqrt(np.square(policy.predict(x)[0] - np.sin(3 * x)).mean()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_episodes_of_another_policy_are_left_to_the_rival(seed: int) -> None:
    given: dict[str, Any] = {"hidden": (64, 64), "steps": 1000, "batch_size": 128, "seed": seed, "device": "cpu"}
    gated, plain = (fit(mixed(seed), method, **given) for method in ("choicenet", "mlp"))
    assert error_of(gated) < 0.1 < error_of(plain)
    weights = gated.mixture(np.zeros((1, 1))).weights[0, 0]
    assert weights[0] == pytest.approx(0.6, abs=0.08)


def test_a_fleet_of_gates_is_each_alone_and_files_keep_the_weights(tmp_path: Path) -> None:
    data = [mixed(0), make_pairs(1, 90), mixed(1, 0.2)]
    data = [Demonstrations.from_arrays(d.observations[:, :1], d.actions[:, :1], d.episodes) for d in data]
    together = fit_fleet(data, "choicenet", device="cpu", **QUICK)
    for seed, policy in enumerate(together):
        alone = fit(data[seed], "choicenet", seed=seed, device="cpu", **QUICK)
        for name, tensor in alone.tensors().items():
            torch.testing.assert_close(tensor, policy.tensors()[name], atol=1e-4, rtol=1e-4)
    loaded = load_policy(together[0].save(tmp_path / "policy"))
    torch.testing.assert_close(loaded.tensors()["gate.weights"], together[0].tensors()["gate.weights"])


def trained(**given: Any) -> Trainer:
    trainer = FitPlan.make([mixed(0)], "choicenet", 1, [0], "cpu", {**QUICK, **given}).trainer([0])
    trainer.run()
    return trainer


def test_what_owns_most_pairs_acts() -> None:
    plan = FitPlan.make([mixed(0)], "choicenet", 1, [0], "cpu", QUICK)
    trainer = plan.trainer([0])
    trainer.run()
    gate = trainer.fleet.gate
    assert gate is not None
    x = mixed(0).observations[:5]
    rival = trainer.fleet(torch.from_numpy(plan.normalisations[0].observations.forward(x).T)[None]).means[0, 2]
    gate.weights = torch.tensor([[[0.3], [0.1], [0.6]]])
    (policy,) = plan.policies([0], trainer)
    expected = plan.normalisations[0].actions.backward(rival.detach().mT.double().numpy())
    np.testing.assert_allclose(policy.predict(x)[0], expected, rtol=1e-4, atol=1e-5)
    assert policy.mixture(x).weights[0, 0] == pytest.approx([0.6, 0.1, 0.3])


def test_weights_belong_to_episodes_or_to_all_and_then_no_divergence_pulls_them() -> None:
    for name, episodes in (("episode", 10), ("global", 1)):
        trainer = trained(gate=name)
        gate = trainer.fleet.gate
        assert gate is not None
        assert gate.counts.shape == (1, episodes, 3)
        assert gate.noise is (name == "episode")
        kl = trainer.history.names.index("kl")
        assert all(np.isnan(values[kl]).all() for values in trainer.history.values)


def test_the_gate_of_a_held_out_episode_is_that_of_all() -> None:
    trainer = trained(restarts=2)
    gate = trainer.fleet.gate
    assert gate is not None
    held_out = gate.sizes[0] == 0
    assert held_out.any()
    assert (gate.counts[0, held_out] == 0).all()
    assert torch.isfinite(trainer.score).all()


def test_the_paper_is_one_call_away() -> None:
    printed = ChoiceNet.as_in_the_paper(mixtures=4)
    assert (printed.gate, printed.rivals, printed.mixtures, printed.noise) == ("state", 0, 4, "shared")
    floor = trained(**IN_THE_PAPER).fleet.head.get_submodule("variance_floor")
    assert floor(0.0).item() == pytest.approx(printed.tau_inverse)  # from the start
    assert printed.l2_weight_at(0.25) > 0 == printed.l2_weight_at(0.5)
    assert "gate.weights" not in fit(make_pairs(0), "choicenet", device="cpu", gate="state", **QUICK).tensors()
    with pytest.raises(RobustBCError, match="setting 'gate' must be one of state, episode, global"):
        ChoiceNet(gate="person")  # type: ignore[arg-type]
