"""Single pairs: robust policies, two groups of pairs, and sets in which nobody is bad."""

from __future__ import annotations

import numpy as np
import pytest

from robust_bc import Demonstrations, audit
from robust_bc.auditing.audit import Audit
from tests.robust_bc.auditing.toys import smooth


def single(bad: float, kind: str = "clean", count: int = 240, seed: int = 0) -> Demonstrations:
    """Pairs of a smooth policy, and a share of them that are not."""
    generator = np.random.default_rng(seed)
    states = generator.uniform(-1, 1, (count, 2))
    actions = smooth(states) + 0.05 * generator.normal(size=(count, 2))
    corrupt = np.arange(count) < round(bad * count)
    wrong = {
        "clean": actions,
        "another policy": np.stack([-states[:, 1], 1.5 + states[:, 0]], 1),
        "at random": generator.uniform(-2, 3, (count, 2)),
    }[kind]
    return Demonstrations.from_arrays(states, np.where(corrupt[:, None], wrong, actions), None, corrupt=corrupt)


def found_in(pairs: Demonstrations) -> tuple[Audit, float, float]:
    """The audit, and the shares of bad and of good pairs that it drops."""
    found = audit(pairs)
    assert pairs.corrupt is not None
    dropped = ~found.keep()
    return found, float(dropped[pairs.corrupt].mean()), float(dropped[~pairs.corrupt].mean())


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.45])
@pytest.mark.parametrize("kind", ["another policy", "at random"])
def test_bad_pairs_are_found(kind: str, rate: float) -> None:
    found, bad, good = found_in(single(rate, kind))
    assert found.undecided is None
    assert bad > 0.75
    assert good < 0.02
    assert found.rate.value == pytest.approx(rate, abs=0.06)


@pytest.mark.parametrize("seed", range(3))
def test_clean_pairs_stay(seed: int) -> None:
    found, _, good = found_in(single(0.1, "clean", seed=seed))
    assert good == 0
    assert found.verdict == "clean"


def test_bang_bang_control_stays() -> None:
    generator = np.random.default_rng(0)
    states = generator.uniform(-1, 1, (300, 2))
    actions = np.sign(states[:, :1] + 0.3 * states[:, 1:])
    found = audit(Demonstrations.from_arrays(states, actions, None))
    assert found.keep().all()
    assert not found.bad_episodes.any()


def test_flipped_bang_bang_control_is_no_reason_to_drop_one_end_of_the_switch() -> None:
    generator = np.random.default_rng(1)
    states = generator.uniform(-1, 1, (300, 2))
    actions = np.sign(states[:, :1] + 0.3 * states[:, 1:])
    corrupt = np.arange(300) < 60
    pairs = Demonstrations.from_arrays(states, np.where(corrupt[:, None], -actions, actions), None, corrupt=corrupt)
    _, bad, good = found_in(pairs)
    assert good < 0.1
    assert bad > 0.3


def test_a_long_episode_does_not_vouch_for_itself() -> None:
    generator = np.random.default_rng(0)
    states = generator.uniform(-1, 1, (450, 6))
    actions = smooth(states) + 0.05 * generator.normal(size=(450, 2))
    actions[300:] *= -1
    episodes = np.concatenate([np.arange(300), np.full(150, 300)])
    found = audit(Demonstrations.from_arrays(states, actions, episodes))
    assert found.by_pair
    assert found.conflict[300:].mean() > 0.9
    assert found.verdicts[-1] == "bad"
    assert "bad" not in found.verdicts[:-1]


def test_states_that_explain_nothing_cannot_tell() -> None:
    generator = np.random.default_rng(0)
    pairs = Demonstrations.from_arrays(generator.normal(size=(120, 3)), generator.normal(size=(120, 2)), None)
    assert audit(pairs).undecided == "the states do not explain the actions of most pairs."


def test_a_pair_is_doubted_once() -> None:
    found = audit(single(0.3, "at random"))
    assert found.clean == pytest.approx(1 - found.conflict)
    assert np.array_equal(found.bad_pairs, found.bad_episodes)


def test_few_pairs_cannot_be_told() -> None:
    found = audit(single(0.3, "at random", count=60))
    assert found.undecided is not None
    assert "60 single pairs are too few" in found.undecided
