from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, Policy, RobustBCError, fit, fit_fleet
from robust_bc.methods.choicenet import ChoiceNet, ChoiceNetSettings
from robust_bc.system.seeding import MemberSeed
from robust_bc.training.data import draw_block, split
from robust_bc.training.plan import FitPlan
from tests.conftest import QUICK, make_pairs


def test_labels_are_never_read(pairs: Demonstrations) -> None:
    labels = np.arange(len(pairs)) % 3 == 0
    told = dataclasses.replace(pairs, corrupt=labels)
    assert_same_bits(fit(pairs, "choicenet", device="cpu", **QUICK), fit(told, "choicenet", device="cpu", **QUICK))


def test_another_seed_is_another_policy(pairs: Demonstrations) -> None:
    one, other = (fit(pairs, "choicenet", seed=seed, device="cpu", **QUICK).predict(np.zeros(3))[0] for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_restarts_keep_the_best_on_held_out_pairs(pairs: Demonstrations) -> None:
    given = {**QUICK, "restarts": 4}
    plan = FitPlan.make([pairs], "choicenet", 2, [0], "cpu", given)
    trainer = plan.trainer([0])
    trainer.run()
    policy = plan.policies([0], trainer)[0]
    assert policy.members == 2
    scores = trainer.score.reshape(2, 4)
    for member in range(2):
        winner = 4 * member + int(scores[member].argmin())
        for name, tensor in policy.tensors().items():
            assert torch.equal(tensor[member], trainer.fleet.state_dict()[name][winner])


def test_restarts_share_their_split_and_members_do_not() -> None:
    episodes = np.arange(100)
    first, restart, member = (split(episodes, 0.2, MemberSeed(0, m, r))[1] for m, r in ((0, 0), (0, 1), (1, 0)))
    assert np.array_equal(first, restart)
    assert not np.array_equal(first, member)


@pytest.mark.parametrize("episodes", [np.arange(100), np.arange(100) // 10, np.zeros(100, dtype=np.int64)])
def test_split_is_a_partition(episodes: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    training, held_out = split(episodes, 0.2, MemberSeed(3))
    assert sorted([*training, *held_out]) == list(range(100))
    assert len(held_out) == 20


def test_batches_are_fresh_in_every_block_and_cover_the_training_rows(pairs: Demonstrations) -> None:
    given = {"restarts": 2, "batch_size": 64}
    trainer = FitPlan.make([pairs], "mlp", 1, [0], "cpu", given).trainer([0])

    def rows(index: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        block = draw_block(trainer.data, trainer.seeds, index, 25, 64, (2,), trainer.device)
        assert block.noise is not None
        return block.rows.numpy()

    first, again, second = rows(0), rows(0), rows(1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first[:, 0], first[:, 1])  # restarts see the same pairs in another order
    seen, mine = set(first[:, 0].ravel()), set(trainer.data.training[0])
    assert seen <= mine
    assert len(seen) > 0.95 * len(mine)
    assert trainer.data.held_out is not None
    assert not set(first.ravel()) & set(trainer.data.held_out.numpy().ravel())


def test_episodes_are_held_out_whole() -> None:
    episodes = np.repeat(np.arange(8), [5, 30, 7, 9, 11, 13, 20, 5])
    training, held_out = split(episodes, 0.25, MemberSeed(1))
    assert not set(episodes[training]) & set(episodes[held_out])
    assert 0 < len(held_out) < 50


def test_judges_come_from_all_held_out_episodes() -> None:
    episodes = np.repeat(np.arange(20), 3000)
    training, held_out = split(episodes, 0.2, MemberSeed(1))
    assert len(training) == 16 * 3000
    assert len(held_out) == 5000
    assert len(np.unique(episodes[held_out])) == 4


def test_members_without_a_split_share_their_rows(pairs: Demonstrations) -> None:
    trainer = FitPlan.make([pairs], "mlp", 5, [0], "cpu", {}).trainer([0])
    assert len({id(rows) for rows in trainer.data.training}) == 1


def test_numbers_of_numpy_are_numbers(pairs: Demonstrations) -> None:
    given = {**QUICK, "steps": np.int64(30), "learning_rate": np.float32(1e-3)}
    policy = fit(pairs, "choicenet", members=np.int64(2), seed=np.int64(1), device="cpu", **given)  # type: ignore[arg-type]
    assert policy.members == 2


def test_schedules_go_from_their_start_to_their_end() -> None:
    settings = ChoiceNetSettings(l2_weight=1.0, l2_weight_end=0.5, l2_anneal=0.4, tau_inverse=0.01, tau_anneal=0.5)
    assert [round(settings.l2_weight_at(share), 6) for share in (0.0, 0.2, 0.4, 1.0)] == [1.0, 0.75, 0.5, 0.5]
    head = ChoiceNet().head(settings, 1, 4, 2)
    floors = [head.variance_floor(share).item() for share in (0.0, 0.25, 0.5, 1.0)]
    assert floors == pytest.approx([1.0, 0.1, 0.01, 0.01])
    at_once = ChoiceNetSettings(l2_anneal=0.0, tau_anneal=0.0, tau_inverse=0.01)
    assert at_once.l2_weight_at(0.0) == 0.0
    assert ChoiceNet().head(at_once, 1, 4, 2).variance_floor(0.0).item() == pytest.approx(0.01)


def test_annealing_counts_passes_over_each_members_own_pairs() -> None:
    settings = ChoiceNetSettings(tau_inverse=0.01, tau_passes=100.0, tau_anneal=0.6)
    head = ChoiceNet().head(settings, 3, 4, 2)
    head.prepare(torch.tensor([1000.0, 200.0, 50.0]))  # 100 passes are 10 %, 50 % and more than all of training
    at = {share: head.variance_floor(share).flatten().tolist() for share in (0.05, 0.25, 0.3, 0.6)}
    assert at[0.05] == pytest.approx([0.1, 0.01**0.1, 0.01 ** (0.05 / 0.6)])
    assert at[0.25] == pytest.approx([0.01, 0.1, 0.01 ** (0.25 / 0.6)])
    assert at[0.3] == pytest.approx([0.01, 0.01**0.6, 0.1])
    assert at[0.6] == pytest.approx([0.01, 0.01, 0.01])


def test_the_trainer_tells_the_head_how_often_pairs_are_seen(pairs: Demonstrations) -> None:
    given = {**QUICK, "steps": 40, "batch_size": 16, "tau_passes": 2.0}
    plan = FitPlan.make([pairs, pairs.select(np.arange(20))], "choicenet", 1, None, "cpu", given)
    shares = plan.trainer([0, 1]).fleet.head.get_buffer("variance_floor.anneal").flatten().tolist()
    assert shares == pytest.approx([min(0.6, 2 * len(pairs) / 640), 2 * 20 / 640])


def test_too_few_pairs_to_hold_out() -> None:
    two = Demonstrations.from_arrays(np.eye(2), np.eye(2))
    with pytest.raises(RobustBCError, match="leaves nothing to judge by"):
        fit(two, "choicenet", restarts=2, held_out=0.1, device="cpu", **QUICK)
    assert fit(two, "choicenet", device="cpu", **QUICK).members == 1


def test_early_stopping_keeps_the_best_weights(pairs: Demonstrations) -> None:
    given = {**QUICK, "early_stopping": True, "evaluate_every": 5, "steps": 200, "learning_rate": 0.05}
    plan = FitPlan.make([pairs], "mlp", 3, [0], "cpu", given)
    trainer = plan.trainer([0])
    trainer.run()
    best = np.min(trainer.history.held_out, axis=0)
    trainer.finish()
    np.testing.assert_allclose(trainer.held_out_score().numpy(), best, rtol=1e-5)
    assert len(trainer.history.held_out_steps) == 40


def test_patience_ends_early_and_freezes_what_was_given_up(pairs: Demonstrations) -> None:
    given = {**QUICK, "early_stopping": True, "evaluate_every": 5, "steps": 5000, "learning_rate": 0.05}
    patient = FitPlan.make([pairs], "mlp", 1, [0], "cpu", {**given, "patience": 3}).trainer([0])
    patient.run()
    assert patient.step < 5000
    scores = np.array(patient.history.held_out)[:, 0]
    stop = next(i for i in range(len(scores)) if i >= 3 and scores[: i - 2].min() <= scores[i - 2 : i + 1].min())
    assert patient.score.item() == pytest.approx(scores[: stop + 1].min())


def test_history_tells_every_part(pairs: Demonstrations) -> None:
    history = fit(pairs, "choicenet", members=2, device="cpu", gate="state", **QUICK).history
    assert history is not None
    names = {name for _, _, name, _ in history.rows()}
    assert names == {"total", "nll", "l2", "kl"}
    assert history.steps == [25, 50, 60]
    header, first = history.to_csv().splitlines()[:2]
    assert header == "step,network,name,value"
    assert first.startswith("25,0,kl,")


@pytest.mark.parametrize("given", [{}, {"early_stopping": True}, {"restarts": 2}])
def test_divergence_is_said(given: dict[str, Any]) -> None:
    with pytest.raises(RobustBCError, match="diverged; lower learning_rate"):
        fit(make_pairs(0), "mlp", device="cpu", **{**QUICK, "learning_rate": 1e30, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "choicnet"}, "there is no method 'choicnet' .did you mean 'choicenet'"),
        ({"stepz": 3}, "method 'choicenet' has no setting 'stepz'; it has: action_scaling, hidden, activation, steps"),
        ({"steps": 0}, "setting 'steps' must be at least 1, but it is 0"),
        ({"steps": 2.5}, "setting 'steps' must be a whole number, but it is 2.5"),
        ({"learning_rate": float("nan")}, "setting 'learning_rate' must be a finite number"),
        ({"noise": "loud"}, "setting 'noise' must be one of marginal, local, shared"),
        ({"hidden": 64}, "setting 'hidden' must be a sequence of whole numbers"),
        ({"tau_anneal": 1.5}, "setting 'tau_anneal' must be between 0 and 1"),
        ({"early_stopping": 1}, "setting 'early_stopping' must be true or false"),
        ({"members": 0}, "members must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"device": "tpu9"}, "device"),
    ],
)
def test_bad_settings_are_named(pairs: Demonstrations, given: dict[str, Any], message: str) -> None:
    with pytest.raises(RobustBCError, match=message):
        fit(pairs, **{"method": "choicenet", **given})


def test_fleets_of_unequal_shape_are_refused(pairs: Demonstrations) -> None:
    with pytest.raises(RobustBCError, match="must have the same sizes"):
        fit_fleet([pairs, Demonstrations.from_arrays(np.eye(4), np.eye(4))])
    with pytest.raises(RobustBCError, match="demonstrations is empty"):
        fit_fleet([])
    with pytest.raises(RobustBCError, match="seeds has 1 entries"):
        fit_fleet([pairs, pairs], seeds=[0])


def assert_same_bits(one: Policy, other: Policy) -> None:
    for name, tensor in one.tensors().items():
        assert torch.equal(tensor, other.tensors()[name]), name


def test_threads_follow_the_size_of_the_work(pairs: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, seen = torch.get_num_threads(), []

    def look(state: Any) -> None:
        seen.append(torch.get_num_threads())

    try:
        torch.set_num_threads(2)
        fit(pairs, "mlp", device="cpu", progress=look, **QUICK)
        assert set(seen) == {1}
        monkeypatch.setattr("robust_bc.training.threads.SHARED_FROM", 10.0)
        seen.clear()
        fit(pairs, "mlp", device="cpu", progress=look, **QUICK)
        assert set(seen) == {2}
        assert torch.get_num_threads() == 2  # as before
    finally:
        torch.set_num_threads(usual)
