"""`choicenet-duel` is shown what stands a duel first, and then everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robust_bc import Demonstrations, fit, fit_fleet
from robust_bc.fitting import FitPlan
from robust_bc.methods import choicenet_duel
from robust_bc.training import trainer as training
from robust_bc.training.checkpoint import fingerprint, read_checkpoint, write_checkpoint
from robust_bc.training.data import draw_block, odds_of
from robust_bc.training.trainer import Trainer
from tests.auditing.toys import smooth
from tests.conftest import QUICK, make_pairs

SHORT: dict[str, Any] = {**QUICK, "steps": 100}


def trainer_of(pairs: list[Demonstrations], **settings: object) -> Trainer:
    plan = FitPlan.make(pairs, "choicenet-duel", 1, None, "cpu", {**SHORT, **settings})
    return plan.trainer(range(len(pairs)))


@pytest.fixture
def every_third(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third pair falls in the duel."""
    monkeypatch.setattr(choicenet_duel, "standing_pairs", lambda states, actions, seed: np.arange(len(states)) % 3 > 0)


@pytest.mark.usefixtures("every_third")
@pytest.mark.parametrize("held_out", [False, True])
def test_the_opening_shows_what_stands_and_the_rest_of_training_all(
    monkeypatch: pytest.MonkeyPatch, held_out: bool
) -> None:
    seen: list[set[int]] = []

    def spy(*args: Any) -> Any:
        block = draw_block(*args)
        seen.append(set(block.rows.flatten().tolist()))
        return block

    monkeypatch.setattr(training, "draw_block", spy)
    trainer = trainer_of([make_pairs(0, 60), make_pairs(1, 90)], duel_first=0.5, early_stopping=held_out)
    trainer.run()
    falls = {row for row in range(60) if row % 3 == 0} | {60 + row for row in range(90) if row % 3 == 0}
    assert [bool(rows & falls) for rows in seen] == [False, False, True, True]
    assert all(len(rows) > 40 for rows in seen)


@pytest.mark.usefixtures("every_third")
def test_without_an_opening_it_is_choicenet(pairs: Demonstrations) -> None:
    one = fit(pairs, "choicenet-duel", device="cpu", **SHORT, duel_first=0.0)
    other = fit(pairs, "choicenet", device="cpu", **SHORT)
    assert all(torch.equal(tensor, other.tensors()[name]) for name, tensor in one.tensors().items())
    opened = fit(pairs, "choicenet-duel", device="cpu", **SHORT)
    assert not all(torch.equal(tensor, other.tensors()[name]) for name, tensor in opened.tensors().items())


@pytest.mark.usefixtures("every_third")
@pytest.mark.parametrize("stopped_at", [25, 75])
def test_a_run_that_stops_in_the_opening_or_after_it_goes_on_to_the_same_bits(tmp_path: Path, stopped_at: int) -> None:
    pairs = [make_pairs(0, 60)]
    whole, first, second = (trainer_of(pairs, duel_first=0.5) for _ in range(3))
    whole.run()
    while first.step < stopped_at:
        first.run_block()
    write_checkpoint(tmp_path / "half", first, fingerprint(pairs, first))
    read_checkpoint(tmp_path / "half", second, fingerprint(pairs, second))
    assert (second.odds is None) == (stopped_at == 75)
    second.run()
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters, second.parameters, strict=True))


def test_where_nobody_stands_all_are_shown() -> None:
    assert np.allclose(odds_of(np.zeros(4)), [0.25, 0.5, 0.75, 1.0])


def test_each_data_set_has_a_duel_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def standing(states: Any, actions: Any, seed: int) -> Any:
        asked.append((len(states), seed))
        return np.ones(len(states), np.bool_)

    monkeypatch.setattr(choicenet_duel, "standing_pairs", standing)
    data = [make_pairs(0, 60), make_pairs(1, 80)]
    fit_fleet(data, "choicenet-duel", seeds=[7, 8], device="cpu", **SHORT)
    assert asked == [(60, 7), (80, 8)]
    fit_fleet(data, "choicenet-duel", device="cpu", **{**SHORT, "steps": 10})  # too short for an opening
    assert len(asked) == 2


@pytest.mark.usefixtures("every_third")
def test_an_opening_may_last_to_the_end() -> None:
    trainer = trainer_of([make_pairs(0, 60)], duel_first=1.0, steps=110)
    trainer.run()
    assert trainer.odds is not None


@pytest.mark.parametrize("length", [1, 20, 400])
def test_single_bad_steps_of_good_episodes_are_not_shown_first(length: int) -> None:
    generator = np.random.default_rng(0)
    states = generator.uniform(-1, 1, (400, 2))
    bad = generator.random(400) < 0.3
    shown = np.where(bad[:, None], -smooth(states), smooth(states))
    pairs = Demonstrations.from_arrays(states, shown, np.arange(400) // length)
    first = choicenet_duel.ChoiceNetDuel().shown_first(choicenet_duel.ChoiceNetDuelSettings(), pairs, 0)
    assert first[~bad].mean() > 0.8
    assert not first[bad].any()
