"""Faults that a demonstrator executes: each is what it says, in whole episodes, and the good episodes stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.data.minari_demonstrations import read_labels, read_noise
from robust_bc.data.minari_files import open_minari
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.mixing.datasets import MixRequest, make_mix, mix
from robust_bc_demos.mixing.faults import DELAY, NOISE, Delayed, Noisy, Stuck, graded_noise, middle
from robust_bc_demos.mixing.pairs import KINDS, Mix
from robust_bc_demos.teachers import find_teacher
from robust_bc_envs.tasks import find_task

SPACE = spaces.Box(np.array([-1.0, 0.0], np.float32), np.array([1.0, 4.0], np.float32))
CHEETAH, DRIVING = find_task("halfcheetah"), find_task("lane-driving")
SHORT: dict[str, dict[str, Any]] = {
    "halfcheetah": {"max_episode_steps": 40},
    "lane-driving": {"length": 40.0, "cars": 1},
}


class Counting:
    """Wants the observation itself, two numbers."""

    name = "counting"

    def begin(self, count: int, slots: Any, generators: Any) -> None: ...

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:
        return observations.astype(np.float32)


def act(actor: Any, observations: NDArray[Any]) -> NDArray[Any]:
    """(T, N, A) for the observations (T, N, S)."""
    slots = np.arange(observations.shape[1])
    actor.begin(len(slots), slots, [np.random.default_rng(int(slot)) for slot in slots])
    return np.stack([actor.act(seen) for seen in observations])


def test_delayed_is_the_undelayed_some_steps_later() -> None:
    seen = np.random.default_rng(0).random((12, 3, 2))
    wanted, done = act(Counting(), seen), act(Delayed(Counting()), seen)
    np.testing.assert_array_equal(done[DELAY:], wanted[:-DELAY])
    assert (done[:DELAY] == wanted[0]).all()


def test_a_new_episode_in_a_slot_forgets_the_old_one() -> None:
    seen, late = np.random.default_rng(0).random((6, 2, 2)), Delayed(Counting())
    act(late, seen)
    late.begin(2, np.array([1]), [np.random.default_rng(0)])
    done = late.act(seen[5])
    np.testing.assert_array_equal(done[0], seen[2, 0].astype(np.float32))
    np.testing.assert_array_equal(done[1], seen[5, 1].astype(np.float32))


def test_stuck_is_one_actuator_in_the_middle_of_its_range() -> None:
    seen = np.random.default_rng(0).random((5, 3, 2))
    done = act(Stuck(Counting(), SPACE, 1), seen)
    assert (done[..., 1] == 2.0).all()
    np.testing.assert_array_equal(done[..., 0], seen[..., 0].astype(np.float32))
    assert middle(spaces.Box(np.array([1.0, -np.inf]), np.array([np.inf, np.inf]), dtype=np.float64)).tolist() == [
        1.0,
        0.0,
    ]


def test_noise_is_a_share_of_half_the_action_space_and_stays_inside() -> None:
    centre = np.broadcast_to([0.0, 2.0], (2000, 1, 2))
    for level in (0.1, 0.2):
        assert act(Noisy(Counting(), SPACE, level), centre).std((0, 1)) == pytest.approx([level, 2 * level], rel=0.1)
    wild = act(Noisy(Counting(), SPACE), centre)
    assert SPACE.low[0] == wild[..., 0].min()
    assert SPACE.high[1] == wild[..., 1].max()
    inside = np.abs(wild[..., 0]) < 1
    assert inside.mean() == pytest.approx(0.847, abs=0.03)  # of a Gaussian with the deviation 0.7


def test_noise_is_graded_in_equal_steps_and_dealt_evenly() -> None:
    noise = graded_noise(20)
    np.testing.assert_allclose(np.unique(noise), np.linspace(0, NOISE, 10))
    assert (np.unique(noise, return_counts=True)[1] == 2).all()
    assert graded_noise(3).tolist() == [0.0, NOISE / 2, NOISE]
    assert graded_noise(1).tolist() == [0.0]


def mixed(task: str, kind: str, seed: int = 1, **more: Any) -> Mix:
    rate = None if kind == "graded" else 0.4
    request = MixRequest(find_task(task), kind, rate, None, seed, episodes=5, settings=SHORT[task], **more)
    return make_mix(request).mix


def parts(whole: Mix, corrupt: bool) -> list[Episode]:
    return [e for e, labels in zip(whole.episodes, whole.corrupt, strict=True) if labels[0] == corrupt]


def key(episode: Episode) -> bytes:
    return episode.observations.tobytes() + episode.actions.tobytes()


@pytest.mark.parametrize("task", ["halfcheetah", "lane-driving"])
def test_good_episodes_are_the_same_whatever_the_kind(task: str) -> None:
    """With a shaken hand (halfcheetah), and with a driver who has a memory (lane-driving)."""
    good = {
        key(e)
        for e in make_mix(MixRequest(find_task(task), "flip", 0.0, None, 1, 5, settings=SHORT[task])).mix.episodes
    }
    for kind in KINDS:
        one, again = mixed(task, kind), mixed(task, kind)
        assert {key(e) for e in parts(one, False)} <= good
        assert not {key(e) for e in parts(one, True)} & good
        assert all((labels == labels[0]).all() for labels in one.corrupt)
        assert [key(e) for e in one.episodes] == [key(e) for e in again.episodes]


def test_what_a_faulty_demonstrator_meant_is_recorded_while_its_hand_is_shaken() -> None:
    made = make_mix(MixRequest(CHEETAH, "delayed", 0.4, None, 1, episodes=5, settings=SHORT["halfcheetah"]))
    teacher = find_teacher(CHEETAH, "expert", made.observation_space, made.action_space)
    assert CHEETAH.disturbance > 0
    for episode in parts(made.mix, True):
        wanted = teacher.label(episode.observations[:-1], np.random.default_rng(0))
        np.testing.assert_array_equal(episode.actions[DELAY:], wanted[:-DELAY])
        assert (episode.actions[:DELAY] == wanted[0]).all()


def test_a_stuck_actuator_is_the_same_throughout_a_mix() -> None:
    stuck = [np.flatnonzero((e.actions == 0).all(0)).tolist() for e in parts(mixed("halfcheetah", "stuck"), True)]
    assert len(stuck) == 2
    assert len(stuck[0]) == 1
    assert stuck[0] == stuck[1]
    assert all((e.actions == 0).all() for e in parts(mixed("lane-driving", "stuck"), True))


def test_the_noise_of_a_graded_mix_is_hidden_beside_its_labels(datasets: Path) -> None:
    request = MixRequest(DRIVING, "graded", None, None, 1, episodes=4, settings=SHORT["lane-driving"])
    _, whole = mix(request, "our/graded-v0")
    written = open_minari("our/graded-v0")
    assert whole.noise is not None
    np.testing.assert_array_equal(read_noise(written, len(whole.labels)), whole.noise)
    np.testing.assert_array_equal(read_labels(written, len(whole.labels)), whole.noise > 0)
    assert len(np.unique(whole.noise)) == 4


@pytest.mark.parametrize("kind", ["rollout", "duplicated", "graded"])
def test_at_most_so_many_steps_are_kept_of_good_and_bad(kind: str) -> None:
    lengths = {len(episode) for episode in mixed("halfcheetah", kind, steps=15).episodes}
    assert lengths == ({15, 45} if kind == "duplicated" else {15})


def test_single_pairs_are_drawn_from_faulty_episodes() -> None:
    for kind in ("noisy", "delayed", "stuck", "medium", "misaligned"):
        made = make_mix(MixRequest(CHEETAH, kind, 0.3, 50, episodes=2, settings=SHORT["halfcheetah"])).mix
        assert made.labels.sum() == 15
        assert len(made.episodes) == 50
