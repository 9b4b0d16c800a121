"""Who is foreign: other states with other actions, a camp that grows, and no alarm without need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import Demonstrations
from robust_bc.auditing import strangers
from robust_bc.auditing.audits import LOOKING, audit
from robust_bc.auditing.conflict import Court
from robust_bc.auditing.provenance import Futures
from robust_bc.auditing.strangers import FEWEST, MOST_POLICIES, Camp, find_strangers, strangeness
from tests.auditing.camps import Says, camp, several
from tests.auditing.toys import QUICK, cycle, together


def test_strangeness_is_the_closest_quarter_in_units_of_random_actions() -> None:
    group, predicted = several((200, 60, 40))
    away = np.where((group == 1)[:, None], predicted + 3, predicted)
    scale = away.std(0)
    relative, absolute = strangeness(away, predicted, group)
    assert absolute[[0, 2]] == pytest.approx(0, abs=1e-6)
    assert absolute[1] == pytest.approx(np.sqrt(np.mean((3 / scale) ** 2)), rel=1e-5)
    drawn = np.random.default_rng(1).integers(300, size=20_000)
    rows = np.tile(np.flatnonzero(group == 1), 20_000)[:20_000]
    random = np.quantile(np.sqrt((((away[drawn] - predicted[rows]) / scale) ** 2).mean(1)), 0.25)
    assert relative[1] == pytest.approx(absolute[1] / random, rel=0.1)


def test_half_of_an_honest_group_vouches_for_it() -> None:
    group, predicted = several((200, 60))
    bad = (group == 1) & (np.arange(len(group)) % 2 == 0)
    mixed = camp(group, np.where(bad[:, None], -2 * predicted, predicted))
    mixed.ask(Says(predicted))  # type: ignore[arg-type]
    assert mixed.joined == {0, 1}
    assert not mixed.foreign.any()


@pytest.mark.parametrize(
    ("sizes", "foreign"),
    [
        ((200, 60, 40), {1, 2}),
        ((100, 90, 60), set()),
        ((100, 100), set()),
        ((100, 60, 14, 14, 14, 14), {1}),  # no majority of all, but more than are foreign: handfuls are nobody's
        ((60, 50, *[14] * 8), set()),  # but not even a third of all
    ],
)
def test_nobody_is_foreign_if_the_camp_is_not_what_most_do(sizes: tuple[int, ...], foreign: set[int]) -> None:
    group, predicted = several(sizes)
    others = camp(group, np.where((group > 0)[:, None], predicted + 5, predicted))
    others.ask(Says(predicted))  # type: ignore[arg-type]
    assert others.strange[1:].all()
    assert np.array_equal(others.foreign, np.isin(group, list(foreign)))


def test_few_landmarks_are_few_however_many_pairs_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_bc.auditing.provenance.LANDMARKS", 100)
    group, predicted = several((900, 100))
    rare = camp(group, np.where((group > 0)[:, None], -3 * predicted, predicted))
    rare.ask(Says(predicted))  # type: ignore[arg-type]
    assert (group[rare.futures.landmarks] == 1).sum() < FEWEST
    assert not rare.foreign.any()


@pytest.mark.parametrize("count", [FEWEST - 1, FEWEST])
def test_a_handful_is_not_called_foreign(count: int) -> None:
    group, predicted = several((200, count))
    few = camp(group, np.where((group > 0)[:, None], -3 * predicted, predicted))
    few.ask(Says(predicted))  # type: ignore[arg-type]
    assert few.foreign.any() == (count >= FEWEST)


def test_who_joins_in_a_later_look_is_not_foreign_and_one_look_is_not_the_last() -> None:
    group, predicted = several((200, 60, 40))
    grows = camp(group, predicted)
    at_first = np.where((group == 1)[:, None], -3 * predicted, predicted)  # the policy does not know group 1 yet
    assert grows.ask(Says(at_first))  # type: ignore[arg-type]
    assert grows.joined == {0, 2}
    assert grows.foreign.sum() == 60
    assert not grows.ask(Says(predicted))  # type: ignore[arg-type]
    assert not grows.foreign.any()


def test_who_the_camp_leads_to_joins_whatever_it_does() -> None:
    """One line that is walked from left to right, and a policy that has learned from its left half only."""
    place = np.sort(np.random.default_rng(0).uniform(0, 1, 200))
    actions = np.where(place > 0.5, 1.0, -1.0)[:, None] + 0.01 * place[:, None]
    line = Demonstrations.from_arrays(place[:, None], actions, successors=np.minimum(place + 0.02, 1)[:, None])
    futures = Futures.of(line)
    assert futures is not None
    right = (place > 0.5).astype(np.int64)
    both = Camp(line, futures, right, 0)
    both.ask(Says(np.full((200, 1), -1.0)))  # type: ignore[arg-type]
    assert both.joined == {0, 1}


def test_foreign_are_other_states_with_other_actions() -> None:
    court = Court("mlp", QUICK, "cpu")
    most = cycle(120, 0.0)
    same, against, beside = (together(most, cycle(60, 3.0, turn)) for turn in (0.0, np.pi, 0.3))
    contradicting = together(most, cycle(60, 0.0, np.pi, seed=1))  # in the same states: that is `conflict`'s part
    found = court.foreign([same, against, beside, contradicting], [0, 1, 2, 3])
    assert not found[0].any()
    assert found[1].tolist() == [False] * 120 + [True] * 60
    assert not found[2].any()
    assert not found[3].any()


def test_the_largest_needs_no_majority_if_others_join_it() -> None:
    """Of 240 pairs the largest group has 100; the next does as it does, the third does not."""
    court = Court("mlp", QUICK, "cpu")
    pairs = together(cycle(100, 0.0), cycle(80, -2.0), cycle(60, 3.0, np.pi))
    assert court.foreign([pairs], [0])[0].tolist() == [False] * 180 + [True] * 60


def test_the_largest_group_is_foreign_if_the_others_are_more_together() -> None:
    """Of 240 pairs 100 are alone, and 80 and 60 do as each other does: the camp of these is the larger one."""
    court = Court("mlp", QUICK, "cpu")
    pairs = together(cycle(100, 3.0, np.pi), cycle(80, 0.0), cycle(60, -2.0))
    assert court.foreign([pairs], [0])[0].tolist() == [True] * 100 + [False] * 140
    alone = together(cycle(100, 3.0, np.pi), cycle(80, 0.0))  # nobody joins the 80, so that they stay the smaller camp
    assert court.foreign([alone], [0])[0].tolist() == [False] * 100 + [True] * 80


def test_who_is_not_outnumbered_needs_no_other_camp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 244 pairs 110 are the camp, 100 are against it, and two handfuls are nobody's: no half, but no second camp."""
    part = np.repeat(np.arange(4), (110, 100, 20, 14))
    both = together(*(cycle(int((part == name).sum()), 3.0 * name) for name in range(4)))
    away = np.array([0.0, 5.0, 0.85, 0.85])[part][:, None]
    pairs = Demonstrations.from_arrays(both.observations, both.actions + away, successors=both.successors)
    monkeypatch.setattr(Futures, "groups", lambda self, same=None: part.copy())
    asked: list[NDArray[np.bool_]] = []

    def learn(places: Sequence[int], camps: Sequence[NDArray[np.bool_]]) -> list[Says]:
        asked.extend(camps)
        return [Says(both.actions)]

    (foreign,) = find_strangers([pairs], [0], learn)  # type: ignore[arg-type]
    assert all(2 * flags.sum() <= len(part) and flags[part == 0].all() for flags in asked[:-1])
    assert np.array_equal(asked[-1], part == 1)  # a rival's first policy, to which nobody is nearer
    assert np.array_equal(foreign, part == 1)


@pytest.mark.parametrize(
    ("sizes", "near_the_first", "near_the_rival", "foreign", "camps"),
    [
        ((110, 100, 60), 0.5, 0.1, 0, [{0}, {0, 2}, {1}, {1}, {1, 2}]),  # the start is the rival's, whoever asks first
        ((110, 100, 60), 0.1, 0.5, 1, [{0}, {0, 2}, {1}]),
        ((110, 100, 8), 0.1, 0.1, 1, [{0}, {0, 2}]),  # more than half: there is no contest
    ],
)
def test_a_camp_that_began_without_a_majority_must_be_nearer_to_most_than_its_rival(
    sizes: tuple[int, ...],
    near_the_first: float,
    near_the_rival: float,
    foreign: int,
    camps: list[set[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = np.repeat(np.arange(3), sizes)
    both = together(*(cycle(int((part == name).sum()), 3.0 * name) for name in range(3)))
    pairs = Demonstrations.from_arrays(both.observations, both.actions, successors=both.successors)
    monkeypatch.setattr(Futures, "groups", lambda self, same=None: part.copy())
    away = {0: np.array([0.0, 5.0, near_the_first]), 1: np.array([5.0, 0.0, near_the_rival])}
    asked: list[set[int]] = []

    def learn(places: Sequence[int], flags: Sequence[NDArray[np.bool_]]) -> list[Says]:
        asked.append(set(part[flags[0]].tolist()))
        return [Says(both.actions + away[min(asked[-1])][part][:, None])]

    (found,) = find_strangers([pairs], [0], learn)  # type: ignore[arg-type]
    assert np.array_equal(found, part == foreign)
    assert asked == camps


def test_the_policy_learns_from_those_who_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = together(cycle(100, 0.0), cycle(80, -2.0), cycle(60, 3.0, np.pi))
    asked: list[int] = []
    right = np.where((np.arange(240) < 180)[:, None], pairs.actions, -pairs.actions)

    def learn(places: Sequence[int], camps: Sequence[NDArray[np.bool_]]) -> list[Says]:
        asked.append(int(camps[0].sum()))
        return [Says(right)]

    find_strangers([pairs], [0], learn)  # type: ignore[arg-type]
    assert asked == [100, 180, 60]  # the last is a rival's: 100 of 240 are no majority
    monkeypatch.setattr(strangers, "POLICIES", 1)
    asked.clear()
    assert find_strangers([pairs], [0], learn)[0].sum() == 60  # type: ignore[arg-type]
    assert asked == [100, 60]


def test_the_search_is_part_of_the_progress() -> None:
    told: list[tuple[float, str]] = []
    pairs = together(cycle(100, 0.0), cycle(60, 3.0, np.pi))
    audit(pairs, "mlp", device="cpu", progress=lambda *state: told.append(state), steps=5)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    searching = [share for share, note in told if note == "strangers"]
    assert 0 < max(searching) <= LOOKING < min(share for share, note in told if note == "round 1")
    assert told[-1][0] <= 1


def test_every_look_has_its_share_of_the_progress() -> None:
    told: list[float] = []
    pairs = together(
        cycle(100, 0.0), cycle(80, -2.0), cycle(60, 3.0, np.pi)
    )  # the second joins, and the third is a rival
    Court("mlp", QUICK, "cpu").foreign([pairs], [0], lambda share, note: told.append(share))
    assert told == sorted(told)
    assert told[-1] == pytest.approx(3 / MOST_POLICIES)
