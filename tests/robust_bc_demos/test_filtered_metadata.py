"""What a filtered dataset still says: infos step by step, how episodes were reset, who made it, and of what it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer

from robust_bc import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc_demos.datasets import SPARE_BYTES
from robust_bc_demos.filtering import filter_dataset
from tests.robust_bc.auditing.audits import audit_of

STEPS = 8
WHOLE, CUT = "our/x-v0", "our/y-v0"


def infos_of(number: int) -> dict[str, Any]:
    """With as many entries as observations, with as many as actions, and with one for the whole episode."""
    told = 100.0 * number + np.arange(STEPS + 1)
    return {
        "speed": told,
        "inner": {"place": np.stack([told, -told], 1), "word": [f"at {value:g}" for value in told]},
        "torque": told[:-1],
        "weight": 70.0 + number,
    }


def test_infos_that_minari_cannot_write_are_left_out(datasets: Path) -> None:
    pairs = make()
    with h5py.File(datasets / WHOLE / "data" / "main_data.hdf5", "a") as file:
        file["episode_0/infos/word"] = "hello"
        file["episode_0/infos/nothing"] = np.zeros(0)
    filter_dataset(WHOLE, audit_of(pairs, np.arange(16) == 12, WHOLE), CUT, cut=True)
    first = next(iter(minari.load_dataset(CUT).iterate_episodes()))
    assert sorted(first.infos) == ["inner", "speed", "torque", "weight"]


def make(**about: Any) -> Demonstrations:
    """Two episodes of other people, as Minari writes them."""
    generator = np.random.default_rng(0)
    buffers = [
        EpisodeBuffer(
            id=number,
            seed=number,
            options={"wind": 3 + number, "road": {"lanes": 2}},
            observations=list(generator.normal(size=(STEPS + 1, 3))),
            actions=list(generator.uniform(-1, 1, (STEPS, 2))),
            rewards=[1.0] * STEPS,
            terminations=[False] * (STEPS - 1) + [True],
            truncations=[False] * STEPS,
            infos=infos_of(number),
        )
        for number in range(2)
    ]
    minari.create_dataset_from_buffers(
        WHOLE,
        buffer=buffers,
        observation_space=spaces.Box(-np.inf, np.inf, (3,), np.float64),
        action_space=spaces.Box(-1.0, 1.0, (2,), np.float64),
        **about,
    )
    return Demonstrations.from_minari(WHOLE)


def filtered(bad: list[int], **about: Any) -> list[Any]:
    """The episodes that are left without these pairs."""
    pairs = make(**about)
    filter_dataset(WHOLE, audit_of(pairs, np.isin(np.arange(len(pairs)), bad), WHOLE), CUT, cut=True)
    return list(minari.load_dataset(CUT).iterate_episodes())


def raw(name: str) -> dict[str, Any]:
    storage = minari.load_dataset(name).storage
    return dict(storage.read_raw_metadata(storage.data_path))


def test_infos_go_with_their_steps(datasets: Path) -> None:
    first, second, whole = filtered([2, 3])
    for piece, begin, end in ((first, 0, 2), (second, 4, STEPS)):
        told = infos_of(0)
        assert np.array_equal(piece.infos["speed"], told["speed"][begin : end + 1])  # one more than actions
        assert np.array_equal(piece.infos["inner"]["place"], told["inner"]["place"][begin : end + 1])
        assert [word.decode() for word in piece.infos["inner"]["word"]] == told["inner"]["word"][begin : end + 1]
        assert np.array_equal(piece.infos["torque"], told["torque"][begin:end])
        assert "weight" not in piece.infos  # of the whole episode, which is there no more
    old = list(minari.load_dataset(WHOLE).iterate_episodes())[1].infos
    np.testing.assert_equal(whole.infos, old)  # entry by entry, of the same type
    assert whole.infos["weight"] == 71


def test_how_a_whole_episode_was_reset_is_kept(datasets: Path) -> None:
    filtered([2, 3])
    storage = minari.load_dataset(CUT).storage
    told = list(storage.get_episode_metadata(range(3)))
    assert ["options" in about for about in told] == [False, False, True]
    assert told[2]["options"] == {"wind": 4, "road": {"lanes": 2}}
    assert told[2]["seed"] == 1


def test_who_made_it_and_what_holds_for_the_environment_is_kept(datasets: Path) -> None:
    about = {
        "author": {"ann", "bob"},
        "author_email": "ann@example.org",
        "code_permalink": "https://example.org/code",
        "requirements": ["mujoco>=3.1"],
    }
    filtered([2, 3], algorithm_name="SAC", description="two walks", **about)
    old, new = raw(WHOLE), raw(CUT)
    for name in about:
        assert sorted(new[name]) == sorted(old[name]), name
    assert new["description"] == (
        "14 of 16 pairs of our/x-v0: all but bad episodes and single bad pairs by its audit, seed 0;"
        " the whole was described as: two walks"
    )
    assert new["part_of"] == {"dataset_id": WHOLE, "algorithm_name": "SAC"}
    assert (new["total_steps"], new["total_episodes"], new["dataset_id"]) == (14, 3, CUT)


def test_a_part_of_a_part_tells_of_both(datasets: Path) -> None:
    filtered([2, 3], algorithm_name="SAC", author="ann")
    pairs = Demonstrations.from_minari(CUT)
    audit = audit_of(pairs, np.arange(len(pairs)) == 0, CUT)
    filter_dataset(CUT, audit, "our/z-v0", cut=True, command="robust-bc filter ...")
    told = raw("our/z-v0")
    assert told["part_of"] == {
        "dataset_id": CUT,
        "algorithm_name": "robust_bc_demos.filtering",
        "part_of": {"dataset_id": WHOLE, "algorithm_name": "SAC"},
    }
    assert told["author"] == ["ann"]
    speeds = [episode.infos["speed"] for episode in minari.load_dataset("our/z-v0").iterate_episodes()]
    assert [list(speed) for speed in speeds[:2]] == [[1, 2], [4, 5, 6, 7, 8]]


def test_reference_scores_stay(datasets: Path) -> None:
    pairs = make()
    scores = {"ref_min_score": -1.5, "ref_max_score": 12.0, "num_episodes_average_score": 100}
    minari.load_dataset(WHOLE).storage.update_metadata({**scores, "mean_length": 8})
    filter_dataset(WHOLE, audit_of(pairs, np.arange(16) == 2, WHOLE), CUT, cut=True)
    told = raw(CUT)
    assert {name: told[name] for name in scores} == scores
    assert "mean_length" not in told  # nobody can say whether it still holds


def test_nobody_is_named_who_was_not(datasets: Path) -> None:
    filtered([2])
    told = raw(CUT)
    assert not {"author", "author_email", "code_permalink"} & set(told)
    assert told["description"].endswith("by its audit, seed 0")


def test_an_author_who_is_a_word_is_one_author(datasets: Path) -> None:
    pairs = make()
    path = datasets / WHOLE / "data" / "metadata.json"
    path.write_text(path.read_text().replace('{"total_episodes"', '{"author": "ann", "total_episodes"'))
    filter_dataset(WHOLE, audit_of(pairs, np.arange(16) == 2, WHOLE), CUT, cut=True)
    assert raw(CUT)["author"] == ["ann"]


def test_infos_count_where_the_disk_is_nearly_full(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = make()
    size = sum(np.asarray(values).nbytes for values in (infos_of(0)["speed"], infos_of(0)["inner"]["place"]))
    bare = 8 * ((STEPS + 1) * 3 + STEPS * 2 + STEPS) + SPARE_BYTES
    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, bare + size))
    with pytest.raises(RobustBCError, match=r"the disk of .* is full; nothing was written"):
        filter_dataset(WHOLE, audit_of(pairs, np.zeros(16), WHOLE), CUT, cut=True)
    assert sorted(minari.list_local_datasets()) == [WHOLE]
