"""Networks that make up one member together, and pairs that are weighed between rounds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import norm

from robust_bc import Demonstrations, fit
from robust_bc.methods.baselines.bcnd import BCND, BCNDSettings
from robust_bc.methods.baselines.co_teaching import CoTeaching, CoTeachingSettings
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.system.seeding import MemberSeed, Purpose
from robust_bc.training.checkpoint import fingerprint, read_checkpoint, write_checkpoint
from robust_bc.training.data import draw_block, odds_of
from robust_bc.training.plan import FitPlan
from robust_bc.training.trainer import BLOCK_STEPS, Trainer
from tests.conftest import QUICK, make_pairs


def trainer_of(pairs: list[Demonstrations], method: str, **settings: object) -> Trainer:
    plan = FitPlan.make(pairs, method, 1, None, "cpu", {**QUICK, **settings})
    return plan.trainer(range(len(pairs)))


def test_each_network_learns_what_the_other_finds_easy() -> None:
    generator = torch.Generator().manual_seed(0)
    means = torch.randn((4, 1, 2, 10), generator=generator, requires_grad=True)  # two members of two peers
    actions = torch.randn((4, 2, 10), generator=generator)
    parameters = MixtureParameters(torch.zeros(4, 1, 10), means, torch.zeros(4, 1, 2, 10))
    total = CoTeaching().loss(CoTeachingSettings(rate=0.3), parameters, actions, progress=1.0).total
    errors = ((actions - means[:, 0]) ** 2).sum(1).detach().numpy()
    for one, other in ((0, 1), (1, 0), (2, 3), (3, 2)):
        easy = np.argsort(errors[other])[:7]
        assert total[one].item() == pytest.approx(errors[one][easy].mean(), rel=1e-5)
    total[0].backward()  # type: ignore[no-untyped-call]
    assert means.grad is not None
    assert means.grad[0].abs().sum() > 0
    assert means.grad[1:].abs().sum() == 0  # to choose is not to learn


def test_peers_share_their_batches_but_not_their_start(pairs: Demonstrations) -> None:
    one, other = MemberSeed(3, 1, 0, 0), MemberSeed(3, 1, 0, 1)
    assert one.stream(Purpose.TRAIN, 4).random() == other.stream(Purpose.TRAIN, 4).random()
    assert one.stream(Purpose.SPLIT).random() == other.stream(Purpose.SPLIT).random()
    assert one.stream(Purpose.INITIALISE).random() != other.stream(Purpose.INITIALISE).random()
    policy = fit(pairs, "co-teaching", device="cpu", **QUICK)
    assert (policy.members, policy.networks) == (1, 2)
    weights = policy.tensors()["trunk.layers.0.weight"]
    assert not torch.equal(weights[0], weights[1])


def test_bcnd_gives_every_pair_to_one_network() -> None:
    rows = np.arange(100, 123)
    parts = BCND().share_out(BCNDSettings(networks=5), rows, MemberSeed(0))
    assert np.array_equal(np.sort(np.concatenate(parts)), rows)
    assert {len(part) for part in parts} == {4, 5}
    again, other = (BCND().share_out(BCNDSettings(networks=5), rows, MemberSeed(seed)) for seed in (0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(parts, other, strict=True))


def test_bcnd_weighs_pairs_by_the_mean_density_per_dimension() -> None:
    generator = np.random.default_rng(0)
    density = generator.uniform(0.1, 3.0, size=(3, 8))  # of three networks
    weights = BCND().weights(BCNDSettings(networks=3), np.log(density))
    assert weights.shape == (3, 8)
    assert np.allclose(weights / weights.sum(1, keepdims=True), density.mean(0) / density.mean(0).sum())


def test_bcnds_opinion_is_the_density_per_live_dimension() -> None:
    generator = torch.Generator().manual_seed(0)
    means, actions = torch.randn((2, 1, 3, 7), generator=generator), torch.randn((2, 3, 7), generator=generator)
    actions[0, 1] = 0  # a locked joint in the first member's data
    live = torch.tensor([[True, False, True], [True, True, True]])[:, :, None]
    parameters = MixtureParameters(torch.zeros(2, 1, 7), means, torch.full_like(means, 0.5), live=live)
    said = BCND().pair_score(parameters, actions)
    densities = norm.logpdf(actions.numpy(), means[:, 0].numpy(), np.sqrt(0.5))  # (M, D, B)
    np.testing.assert_allclose(said[0], densities[0, [0, 2]].mean(0), rtol=1e-5)
    np.testing.assert_allclose(said[1], densities[1].mean(0), rtol=1e-5)


@pytest.mark.parametrize(("steps", "reweightings"), [(25, 0), (60, 2), (250, 9), (2000, 9)])
def test_few_steps_have_few_rounds(steps: int, reweightings: int) -> None:
    trainer = trainer_of([make_pairs(0, 40)], "bcnd", steps=steps)
    assert len({trainer.round_of(block) for block in range(math.ceil(steps / BLOCK_STEPS))}) - 1 == reweightings


def test_a_new_round_shows_pairs_by_their_weights() -> None:
    trainer = trainer_of([make_pairs(0, 60), make_pairs(1, 80)], "bcnd", networks=2, reweighted=1, steps=100)
    while trainer.step < 50:
        trainer.run_block()
    assert trainer.odds is None
    trainer.run_block()
    assert trainer.odds is not None
    method, settings = BCND(), trainer.settings
    trainer = trainer_of([make_pairs(0, 60), make_pairs(1, 80)], "bcnd", networks=2, reweighted=1, steps=100)
    while trainer.step < 50:
        trainer.run_block()
    # The literal rule, group by group and pair by pair, from the networks as they are before the second round.
    expected = []
    for group in range(2):
        networks = [2 * group, 2 * group + 1]
        for network in networks:
            rows = trainer.data.training[network]
            batch = trainer.data.observations[torch.from_numpy(rows)].T.expand(4, -1, -1)
            shown = trainer.data.actions[torch.from_numpy(rows)].T.expand(4, -1, -1)
            with torch.no_grad():
                said = method.pair_score(trainer.fleet(batch), shown)[networks]
            weights = said.double().exp().mean(0).numpy()
            expected.append(np.cumsum(weights) / weights.sum())
    trainer.run_block()
    assert settings.rounds == 2
    assert trainer.odds is not None
    for odds, literal in zip(trainer.odds, expected, strict=True):
        assert np.allclose(odds, literal, atol=1e-5)


def test_pairs_are_drawn_by_their_odds() -> None:
    trainer = trainer_of([make_pairs(0, 40)], "mlp")
    weights = np.r_[np.zeros(10), np.ones(10), 3 * np.ones(10), np.zeros(10)]
    odds = np.cumsum(weights) / weights.sum()
    seeds = [MemberSeed(0)]
    block = draw_block(trainer.data, seeds, 0, 200, 100, (), torch.device("cpu"), [odds])
    counts = np.bincount(block.rows.flatten().numpy(), minlength=40)
    assert counts[:10].sum() == counts[30:].sum() == 0
    assert counts[20:30].sum() / counts[10:20].sum() == pytest.approx(3, rel=0.1)


def test_a_run_that_stops_between_rounds_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    pairs = [make_pairs(0, 60)]
    given = {"networks": 2, "reweighted": 2, "steps": 150}
    whole, first, second = (trainer_of(pairs, "bcnd", **given) for _ in range(3))
    whole.run()
    while first.step < 75:  # in the middle of the second round
        first.run_block()
    mark = fingerprint(pairs, first)
    write_checkpoint(tmp_path / "checkpoint", first, mark)
    read_checkpoint(tmp_path / "checkpoint", second, mark)
    second.run()
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters, second.parameters, strict=True))


def test_where_no_pair_has_weight_all_are_drawn_alike() -> None:
    assert np.allclose(odds_of(np.zeros(4)), [0.25, 0.5, 0.75, 1.0])
