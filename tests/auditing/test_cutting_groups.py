"""Groups of single pairs that are of both sides are cut before they join the camp."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc import Demonstrations
from robust_bc.auditing.provenance import SAME_FUTURE, Futures
from robust_bc.auditing.strangers import FEWEST, find_strangers, strangeness
from tests.auditing.camps import Says, camp, of_both_sides, several
from tests.auditing.toys import cycle, together


@pytest.mark.parametrize("cuts", [(), (SAME_FUTURE,), (0.1, SAME_FUTURE)])  # at 0.1 nothing is cut yet
def test_whom_only_some_vouch_for_are_cut_before_they_join(cuts: tuple[float, ...]) -> None:
    part, actions, unsure = of_both_sides()
    both = camp(part, actions)
    both.group, both.cuts = np.minimum(part, 1), cuts  # where all begin, both sides are one group
    assert both.ask(Says(unsure)) == bool(cuts)  # type: ignore[arg-type]
    assert both.cuts == ()
    if not cuts:
        assert both.joined == {0, 1}
        assert not both.foreign.any()
        return
    assert len(set(zip(both.group, part, strict=True))) == both.group.max() + 1 == 3  # the parts, in any order
    assert np.array_equal(both.looks[0][:, 1], both.looks[0][:, 2])  # pieces have the past of the whole
    assert both.looks[-1][:, both.group[-1]] == pytest.approx(  # and what they do themselves
        [each[2] for each in strangeness(actions, unsure, part)], rel=0.1
    )
    assert np.array_equal(both.flags, part < 2)
    assert np.array_equal(both.foreign, part == 2)


def test_cuts_are_made_one_after_the_other_and_only_as_far_as_need_be() -> None:
    part, actions, _ = of_both_sides()
    both = camp(part, actions)
    both.group, both.cuts = np.minimum(part, 1), (SAME_FUTURE, 0.97)
    both.ask(Says(np.where((part == 2)[:, None], -actions, actions)))  # type: ignore[arg-type]
    assert both.joined == {0, 1}  # most of them do exactly what the camp does
    assert both.cuts == (SAME_FUTURE, 0.97)


def test_a_piece_takes_all_of_its_pairs_and_is_counted_by_its_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_bc.auditing.provenance.LANDMARKS", 420)  # half of the pairs
    part, actions, unsure = of_both_sides(600, 120, 120)
    both = camp(part, actions)
    assert (part[both.futures.landmarks] == 2).sum() >= FEWEST
    both.group, both.cuts = np.minimum(part, 1), (SAME_FUTURE,)
    both.ask(Says(unsure))  # type: ignore[arg-type]
    assert np.array_equal(both.foreign, part == 2)
    monkeypatch.setattr("robust_bc.auditing.provenance.LANDMARKS", 84)  # a tenth: twelve are too few
    both = camp(part, actions)
    both.group, both.cuts = np.minimum(part, 1), (SAME_FUTURE,)
    both.ask(Says(unsure))  # type: ignore[arg-type]
    assert both.group.max() == 1


def test_pieces_have_enough_landmarks_and_what_is_strange_is_not_cut() -> None:
    part, actions, unsure = of_both_sides(200, 40, FEWEST - 1)
    few = camp(part, actions)
    few.group, few.cuts = np.minimum(part, 1), (SAME_FUTURE,)
    assert not few.ask(Says(unsure))  # type: ignore[arg-type]
    assert few.joined == {0, 1}  # not to be cut, so it joins, and there is nobody left to ask about
    assert few.group.max() == 1
    part, predicted = several((200, 40, 40))
    strange = camp(part, np.where((part > 0)[:, None], -3 * predicted, predicted))
    strange.group, strange.cuts = np.minimum(part, 1), (SAME_FUTURE,)
    assert not strange.ask(Says(predicted))  # type: ignore[arg-type]
    assert strange.group.max() == 1
    assert np.array_equal(strange.foreign, part > 0)


def test_who_was_strange_is_cut_as_well_before_it_joins() -> None:
    part, actions, unsure = of_both_sides()
    both = camp(part, actions)
    both.group = np.minimum(part, 1)
    both.ask(Says(np.where((part > 0)[:, None], unsure + 20, unsure)))  # type: ignore[arg-type]
    assert both.strange[1]
    both.cuts = (SAME_FUTURE,)
    assert both.ask(Says(unsure))  # type: ignore[arg-type]
    assert np.array_equal(both.flags, part < 2)


@pytest.mark.parametrize("cuts", [(), (0.1,)])
def test_who_is_clearly_alike_joins_before_who_is_nearly_so_while_there_are_cuts(cuts: tuple[float, ...]) -> None:
    group, predicted = several((200, 60, 60))
    grows = camp(group, predicted)
    grows.cuts = cuts
    unsure = np.where((group == 2)[:, None], predicted + 0.5, predicted)
    assert grows.ask(Says(unsure)) == bool(cuts)  # type: ignore[arg-type]
    assert grows.joined == ({0, 1} if cuts else {0, 1, 2})
    if cuts:
        grows.ask(Says(unsure))  # type: ignore[arg-type]
        assert grows.joined == {0, 1, 2}


@pytest.mark.parametrize("whole", [False, True])
def test_single_pairs_may_be_cut_and_whole_episodes_may_not(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """Two circles that are one group at first; in one of them the camp's policy is nearly right."""
    part, actions, unsure = of_both_sides()
    both = together(*(cycle(int((part == name).sum()), 3.0 * name) for name in range(3)))
    episodes = part if whole else np.arange(len(part))  # a finer cut would part the last two
    pairs = Demonstrations.from_arrays(both.observations, actions, episodes, successors=both.successors)
    usual = Futures.groups
    monkeypatch.setattr(
        Futures, "groups", lambda self, same=None: np.minimum(part, 1) if same is None else usual(self, SAME_FUTURE)
    )
    (foreign,) = find_strangers([pairs], [0], lambda places, camps: [Says(unsure)])  # type: ignore[list-item]
    assert np.array_equal(foreign, (part == 2) & (not whole))
