"""Mixed datasets: what learners get, what stays hidden, and what may be mixed."""

from __future__ import annotations

from pathlib import Path

import minari
import numpy as np
import pytest

from robust_bc import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_demos.collecting import collect
from robust_bc_demos.mixing.datasets import MixRequest, make_mix, mix
from robust_bc_envs.tasks import find_task

DRIVING = find_task("lane-driving")


def test_a_mix_keeps_the_settings_of_its_road(datasets: Path) -> None:
    settings = {"length": 80.0, "cars": 1, "shape": "curved"}
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, episodes=1, settings=settings), "our/m-v0")
    assert minari.load_dataset("our/m-v0").env_spec.kwargs == settings
    collect("lane-driving", "safe", "our/c-v0", episodes=1, settings=settings)
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, clean="our/c-v0"), "our/n-v0")
    assert minari.load_dataset("our/n-v0").env_spec.kwargs == settings


def test_a_mix_takes_only_what_fits(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/safe-v0", episodes=1)
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=20, episodes=1), "our/mixed-v0")
    for request, sentence in (
        (MixRequest(DRIVING, "flip", 0.1, clean="our/mixed-v0"), "is a mix itself"),
        (MixRequest(find_task("halfcheetah"), "flip", 0.1, clean="our/safe-v0"), "but task 'halfcheetah' is"),
        (MixRequest(DRIVING, "flip", 0.1, clean="our/safe-v0", good="safe"), "--good has no part in this mix"),
        (MixRequest(DRIVING, "flip", 0.1, bad="careless"), "--bad has no part in this mix"),
        (MixRequest(DRIVING, "flip", 0.1, clean="our/safe-v0", corrupt="our/safe-v0"), "--corrupt has no part"),
        (MixRequest(DRIVING, "noisy", 0.1, clean="our/safe-v0"), "a good teacher must act for --kind noisy"),
        (MixRequest(DRIVING, "graded", 0.1, pairs=None), "--rate has no part in this mix"),
        (MixRequest(DRIVING, "flip", 0.1, steps=0), "steps must be at least 1, but it is 0"),
        (MixRequest(DRIVING, "flip", 0.1, seed=-1), "seed must be a whole number"),
    ):
        with pytest.raises(RobustBCError, match=sentence):
            mix(request, "our/x-v0")


def test_good_and_bad_teachers_drive_other_roads(datasets: Path) -> None:
    request = MixRequest(DRIVING, "rollout", 0.5, pairs=None, episodes=2, good="safe", bad="safe")
    mixed = make_mix(request).mix
    starts = [episode.observations[0].tobytes() for episode in mixed.episodes]
    assert len(set(starts)) == len(starts)


@pytest.mark.parametrize("kind", ["rollout", "relabel", "misaligned", "stuck"])
@pytest.mark.parametrize("pairs", [60, None], ids=["pairs", "all"])
def test_a_mix_goes_to_learners_without_its_labels(kind: str, pairs: int | None, datasets: Path) -> None:
    _, mixed = mix(
        MixRequest(DRIVING, kind, 0.3, pairs=pairs, episodes=3, settings={"length": 80.0, "cars": 1}), "our/m-v0"
    )
    blind = Demonstrations.from_minari("our/m-v0")
    assert blind.corrupt is None
    known = Demonstrations.from_minari("our/m-v0", labels=True)
    assert known.corrupt is not None
    assert np.array_equal(known.corrupt, mixed.labels)
    assert known.corrupt.mean() == pytest.approx(0.3, abs=0.01 if pairs else 0.15)
    assert len(np.unique(known.episodes)) == len(mixed.episodes)
    told = minari.load_dataset("our/m-v0").storage.get_episode_metadata(range(len(mixed.episodes)))
    assert {(about["source"], about["teacher"]) for about in told} == {("mix", "mix")}  # no hint
    if pairs is not None:
        dataset = minari.load_dataset("our/m-v0")
        assert dataset.total_episodes == dataset.total_steps == 60
        assert all(len(episode.observations) == 2 for episode in dataset.iterate_episodes())


def test_a_mix_of_ones_own_datasets(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/good-v0", episodes=3)
    collect("lane-driving", "careless", "our/bad-v0", episodes=3)
    request = MixRequest(DRIVING, "rollout", 0.25, pairs=100, clean="our/good-v0", corrupt="our/bad-v0")
    mix(request, "our/mix-v0")
    pairs = Demonstrations.from_minari("our/mix-v0", labels=True)
    good, bad = (
        {row.tobytes() for row in Demonstrations.from_minari(name).observations}
        for name in ("our/good-v0", "our/bad-v0")
    )
    assert pairs.corrupt is not None
    for row, corrupt in zip(pairs.observations, pairs.corrupt, strict=True):
        assert row.tobytes() in (bad if corrupt else good)
    with pytest.raises(RobustBCError, match="name them with --corrupt or --bad"):
        mix(MixRequest(DRIVING, "rollout", 0.25, clean="our/good-v0"), "our/other-v0")
    with pytest.raises(RobustBCError, match="give both or neither"):
        mix(MixRequest(DRIVING, "rollout", 0.25, corrupt="our/bad-v0"), "our/other-v0")


def test_more_pairs_than_the_episodes_have_are_rolled_out(datasets: Path) -> None:
    settings = {"length": 40.0, "cars": 0}
    _, mixed = mix(MixRequest(DRIVING, "rollout", 0.5, pairs=400, episodes=1, settings=settings), "our/m-v0")
    assert mixed.labels.sum() == 200
