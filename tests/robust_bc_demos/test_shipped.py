"""The teachers that ship do what their cards say."""

from __future__ import annotations

from typing import Any

import pytest

from robust_bc_demos.measuring import measure
from robust_bc_demos.teachers import find_teacher, shipped_cards
from robust_bc_envs.batches import boxes, make_batch
from robust_bc_envs.tasks import CARDS as TASK_CARDS
from robust_bc_envs.tasks import find_task

CARDS = {card["name"]: card for card in shipped_cards()}
EPISODES = dict.fromkeys(TASK_CARDS, 16) | {"lane-driving": 1000}
GOOD = {"hopper": 3000, "reacher": -6, "pendulum": -170, "double-pendulum": 8800, "lunar-lander": 200}
"""Returns that are known to be good."""


def measured(task: str, role: str, seed: int = 99) -> dict[str, Any]:
    """On episodes that neither training nor the card saw."""
    card = find_task(task)
    worlds = make_batch(card, 1)
    teacher = find_teacher(card, role, *boxes(worlds))
    worlds.close()
    return measure(card, teacher, EPISODES[task], seed)


def test_halfcheetah_runs_forward_and_backward() -> None:
    expert, adversary = measured("halfcheetah", "expert"), measured("halfcheetah", "adversary")
    assert expert["return"]["mean"] >= 5000
    assert expert["return"]["std"] < 0.1 * expert["return"]["mean"]
    assert adversary["return"]["mean"] <= -3000
    assert adversary["x_velocity"]["max"] < 0


def test_walker2d_walks_forward_and_backward() -> None:
    expert, adversary = measured("walker2d", "expert"), measured("walker2d", "adversary")
    assert expert["return"]["mean"] >= 3500
    assert adversary["x_velocity"]["max"] < 0


@pytest.mark.parametrize("task", GOOD)
def test_experts_are_as_good_as_is_known_to_be_good(task: str) -> None:
    assert CARDS[f"{task}-expert"]["measured"]["return"]["mean"] >= GOOD[task]


@pytest.mark.parametrize("task", TASK_CARDS)
def test_adversaries_are_bad_and_do_not_end_their_episodes_at_once(task: str) -> None:
    card, measured = TASK_CARDS[task], CARDS[f"{task}-adversary"]["measured"]
    assert card.reference is not None
    assert card.reference.share(measured["return"]["mean"]) < 0.2
    assert measured["length"]["min"] >= 10


@pytest.mark.parametrize("task", TASK_CARDS)
def test_medium_teachers_are_half_way_between_random_actions_and_the_expert(task: str) -> None:
    card, about = TASK_CARDS[task], CARDS[f"{task}-medium"]
    assert card.reference is not None
    # Doing nothing is already four fifths of reacher's way: random actions pay most of their return for torque.
    most = 0.9 if task == "reacher" else 0.7
    assert 0.3 <= card.reference.share(about["measured"]["return"]["mean"]) <= most
    assert "half-way" in about["training"]["stopped"]
    assert about["training"]["seed"] == CARDS[f"{task}-expert"]["training"]["seed"]


def test_the_lane_expert_never_collides_and_the_adversary_nearly_always() -> None:
    expert, adversary = measured("lane-driving", "expert"), measured("lane-driving", "adversary")
    assert expert["collision"]["max"] == 0
    assert expert["success"]["min"] == 1
    assert adversary["collision"]["mean"] > 0.9


@pytest.mark.parametrize("name", CARDS)
def test_a_card_says_where_its_teacher_comes_from(name: str) -> None:
    card = CARDS[name]
    assert card["measured"]["command"].startswith("robust-bc teachers --measure --task ")
    assert card["measured"]["episodes"] >= 100
    if name not in ("safe", "careless"):
        assert card["training"]["command"].startswith("robust-bc teach --task ")
        assert card["training"]["seed"] == 0
    if name in ("halfcheetah-expert", "walker2d-expert"):
        assert card["measured"]["return"]["std"] < 0.1 * card["measured"]["return"]["mean"]


def test_a_card_can_be_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EPISODES, "lane-driving", 1000)
    card = CARDS["lane-driving-adversary"]["measured"]
    again = measured("lane-driving", "adversary", seed=card["seed"])
    assert again["collision"] == card["collision"]
    assert again["return"]["mean"] == pytest.approx(card["return"]["mean"], rel=1e-3)


@pytest.mark.parametrize("task", TASK_CARDS)
def test_the_reference_of_a_task_is_what_its_good_teacher_earns(task: str) -> None:
    card = TASK_CARDS[task]
    name = card.good if card.good in CARDS else f"{task}-{card.good}"
    assert card.reference is not None
    assert card.reference.expert == pytest.approx(CARDS[name]["measured"]["return"]["mean"], rel=2e-3)


def test_random_actions_earn_the_other_reference() -> None:
    for name, card in TASK_CARDS.items():
        found = measured(name, "random")["return"]
        error = found["std"] / EPISODES[name] ** 0.5
        assert card.reference is not None
        assert abs(found["mean"] - card.reference.random) < 4 * error
