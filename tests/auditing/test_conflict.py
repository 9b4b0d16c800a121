"""Who judges whom: never a network that saw the pair or learned from foreign ones, and the rival where it is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robust_bc import Demonstrations, Policy, RobustBCError, fit_fleet
from robust_bc.auditing import conflict, duel
from robust_bc.auditing.conflict import FOLDS, MOST_ROUNDS, Court, deal
from tests.auditing.toys import QUICK, flipped_episodes

SHORT = {**QUICK, "steps": 20}
"""For tests of who learns what, not of how well."""
Flags = NDArray[np.bool_]


class Spy:
    """Fits as usual, and remembers what every network learned from and was asked about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.learned: list[set[bytes]] = []
        self.asked: list[list[set[bytes]]] = []
        self.monkeypatch = monkeypatch
        monkeypatch.setattr(conflict, "fit_fleet", self.fit_fleet)

    def fit_fleet(self, demonstrations: Sequence[Demonstrations], *args: Any, **settings: Any) -> list[Policy]:
        policies = fit_fleet(demonstrations, *args, **settings)
        for pairs, policy in zip(demonstrations, policies, strict=True):
            self.learned.append(rows(pairs.observations))
            asked: list[set[bytes]] = []
            self.asked.append(asked)

            def predict(observations: Any, asked: Any = asked, original: Any = policy.predict) -> Any:
                asked.append(rows(observations))
                return original(observations)

            self.monkeypatch.setattr(policy, "predict", predict)
        return policies


def rows(observations: NDArray[Any]) -> set[bytes]:
    """The states, which no two pairs of a toy share."""
    return {row.tobytes() for row in np.asarray(observations, np.float64)}


def everybody(pairs: Demonstrations) -> Flags:
    return np.ones(len(pairs), np.bool_)


def test_folds_are_whole_episodes_of_equal_number() -> None:
    episodes = np.random.default_rng(0).permutation(np.repeat(np.arange(23), 7) * 3 - 5)
    fold = deal(episodes, (0, 0))
    of_episode = [set(fold[episodes == name]) for name in np.unique(episodes)]
    assert all(len(found) == 1 for found in of_episode)
    counts = np.bincount([found.pop() for found in of_episode])
    assert sorted(counts.tolist()) == [4, 4, 5, 5, 5]
    assert np.array_equal(fold, deal(episodes, (0, 0)))
    assert not np.array_equal(fold, deal(episodes, (0, 1)))  # another round
    assert not np.array_equal(fold, deal(episodes, (1, 0)))  # another seed


def test_one_episode_is_dealt_pair_by_pair() -> None:
    assert np.bincount(deal(np.full(52, 7), (0, 0))).tolist() == [11, 11, 10, 10, 10]
    assert sorted(deal(np.zeros(3, np.int64), (0, 0))) == [0, 1, 2]
    # Without the long episode there would be but one pair to learn from.
    assert np.bincount(deal(np.repeat([0, 1], [49, 1]), (0, 0))).tolist() == [10] * FOLDS


def test_no_network_ever_saw_a_pair_that_it_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflict, "MOST_ROUNDS", 3)
    spy = Spy(monkeypatch)
    data = [flipped_episodes(0.3, seed) for seed in range(2)]
    judged = Court("mlp", SHORT, "cpu").judge(data, [everybody(pairs) for pairs in data], [0, 1])
    assert len(spy.learned) >= 2 * 2 * FOLDS
    for learned, asked in zip(spy.learned, spy.asked, strict=True):
        assert len(asked) == 1
        assert asked[0]
        assert not learned & asked[0]
    for pairs, judgement in zip(data, judged, strict=True):
        assert len(judgement.good) == len(pairs)
        states = rows(pairs.observations)
        times = sum(len(asked[0] & states) for asked in spy.asked)  # by the trusted, and in later rounds by the rival
        assert judgement.rounds * len(pairs) <= times <= 2 * judgement.rounds * len(pairs)


def test_who_is_trusted_by_next_to_nobody_is_still_judged_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    pairs = flipped_episodes(0.0, episodes=4, length=10)
    court = Court("mlp", SHORT, "cpu")
    trusted = np.arange(40) < 1  # one pair is too few to learn from
    for flags in (trusted, pairs.episodes == 2):  # and in the fold of the episode 2 nothing is left, either
        court._round([pairs], [flags], [~flags], [everybody(pairs)], [(0, 0)], lambda state: None)
    for learned, asked in zip(spy.learned, spy.asked, strict=True):
        assert not learned & asked[0]


def test_two_pairs_cannot_judge_each_other() -> None:
    pairs = Demonstrations.from_arrays(np.eye(2), np.eye(2))
    with pytest.raises(RobustBCError, match="an audit needs at least 3 pairs, but there are 2"):
        Court("mlp", SHORT, "cpu").judge([pairs], [everybody(pairs)], [0])


def test_whole_episodes_stand_a_duel_or_fall_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = flipped_episodes(0.0, episodes=6, length=5)
    calm = np.ones(30, np.bool_)
    calm[5:8] = False  # three of five
    calm[10:12] = False  # two of five
    monkeypatch.setattr(duel, "uncontradicted", lambda *args: calm)
    spy = Spy(monkeypatch)
    Court("mlp", SHORT, "cpu").judge([pairs], [everybody(pairs)], [0])
    at_first = set().union(*spy.learned[:FOLDS])
    assert at_first == rows(pairs.observations[pairs.episodes != 1])


def test_a_duel_tells_the_better_part_of_episodes() -> None:
    """45 % of the episodes are of another smooth policy, and nothing but the count says which one is right."""
    pairs = flipped_episodes(0.45)
    assert pairs.corrupt is not None
    assert np.array_equal(duel.standing(pairs, everybody(pairs), 0), ~pairs.corrupt)


def test_foreign_episodes_are_judged_but_never_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    pairs = flipped_episodes(0.3)
    foreign = pairs.episodes >= 16
    (judged,) = Court("mlp", SHORT, "cpu").judge([pairs], [~foreign], [0])
    outside = rows(pairs.observations[foreign])
    assert not any(learned & outside for learned in spy.learned)
    assert outside <= set().union(*(asked[0] for asked in spy.asked))
    assert np.isfinite(judged.good).all()


def single_pairs(rate: float) -> Demonstrations:
    """The pairs of a toy, each an episode of its own."""
    pairs = flipped_episodes(rate)
    return Demonstrations.from_arrays(pairs.observations, pairs.actions, corrupt=pairs.corrupt)


def test_foreign_single_pairs_teach_the_rival_from_the_second_round_on(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    pairs = single_pairs(0.0)
    foreign = np.arange(400) % 10 == 0
    Court("mlp", QUICK, "cpu").judge([pairs], [~foreign], [0])
    outside = rows(pairs.observations[foreign])
    of_strangers = [bool(learned & outside) for learned in spy.learned]
    assert not any(of_strangers[:FOLDS])  # the first round has no rival
    assert of_strangers[FOLDS : 3 * FOLDS] == [False] * FOLDS + [True] * FOLDS  # the trusted, and then the rival
    for learned, asked in zip(spy.learned, spy.asked, strict=True):
        assert not learned & asked[0]


def test_of_single_pairs_only_what_stood_a_duel_is_learned_from_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    pairs = single_pairs(0.3)
    assert pairs.corrupt is not None
    (judged,) = Court("choicenet", QUICK, "cpu").judge([pairs], [everybody(pairs)], [0])
    bad = rows(pairs.observations[pairs.corrupt])
    at_first = set().union(*spy.learned[:FOLDS])
    assert len(at_first & bad) < 0.03 * len(at_first)
    assert len(at_first) > 0.5 * 400
    assert ((judged.good > 0.5) == ~pairs.corrupt).mean() > 0.97


def test_large_data_is_learned_from_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflict, "LARGEST_FIT", 50)
    spy = Spy(monkeypatch)
    pairs = flipped_episodes(0.0)
    Court("mlp", SHORT, "cpu").judge([pairs], [everybody(pairs)], [0])
    assert {len(learned) for learned in spy.learned[:FOLDS]} == {50}
    assert len(set().union(*spy.learned[:FOLDS])) > 150  # not always the same


def test_clean_data_is_settled_at_once() -> None:
    pairs = flipped_episodes(0.0)
    told: list[float] = []
    (judged,) = Court("choicenet", QUICK, "cpu").judge(
        [pairs], [everybody(pairs)], [0], lambda share, note: told.append(share)
    )
    assert (judged.rounds, judged.settled) == (2, True)
    assert judged.good.mean() > 0.95
    assert judged.spread == pytest.approx(np.abs(judged.opinions[0].good - judged.opinions[1].good) / np.sqrt(2))
    assert told == sorted(told)
    assert told[-1] == pytest.approx(2 / MOST_ROUNDS)


def test_who_is_settled_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """One data set settles after two rounds; the noise beside it goes on, and alone."""
    spy = Spy(monkeypatch)
    clean = flipped_episodes(0.0)
    generator = np.random.default_rng(0)
    noise = Demonstrations.from_arrays(generator.normal(size=(400, 2)), generator.normal(size=(400, 2)), clean.episodes)
    calm, wild = Court("mlp", QUICK, "cpu").judge([clean, noise], [everybody(clean)] * 2, [0, 1])
    assert (calm.rounds, calm.settled) == (2, True)
    assert wild.rounds > 2
    states = rows(clean.observations)
    assert sum(bool(learned & states) for learned in spy.learned) <= 2 * 2 * FOLDS
