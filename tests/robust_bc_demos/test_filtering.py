"""A filtered dataset has just the pairs that stay, with all that was known about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from robust_bc import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.evaluation.rollouts import Episode
from robust_bc_demos.collecting import collect
from robust_bc_demos.datasets import DatasetPlan, Recorded, write_dataset
from robust_bc_demos.filtering import LeftOut, filter_dataset
from robust_bc_demos.mixing.datasets import MixRequest, mix
from robust_bc_envs.tasks import find_task
from tests.conftest import make_dataset, make_pairs
from tests.robust_bc.auditing.audits import audit_of

DRIVING = find_task("lane-driving")
SHORT = {"length": 60, "cars": 1}


def metadata(name: str) -> list[dict[str, Any]]:
    dataset = minari.load_dataset(name)
    return list(dataset.storage.get_episode_metadata(dataset.episode_indices))


def test_whole_episodes_go_with_all_that_is_known(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=4, settings=SHORT)
    before = Demonstrations.from_minari("our/x-v0")
    audit = audit_of(before, before.episodes == 1, "our/x-v0")
    done = filter_dataset("our/x-v0", audit, "our/y-v0", command="robust-bc filter ...")
    after = Demonstrations.from_minari("our/y-v0")
    stays = before.episodes != 1
    assert np.array_equal(after.observations, before.observations[stays])
    assert np.array_equal(after.actions, before.actions[stays])
    assert np.array_equal(done.kept, stays)
    (source,) = done.sources
    assert (source.source, source.episodes, source.dropped_episodes) == ("safe", 4, 1)
    assert done.left_out == [LeftOut(1, "safe", (~stays).sum(), (~stays).sum(), "contradicts the majority")]
    assert (source.pairs, source.dropped_pairs, done.cut_episodes, done.pieces) == (len(before), (~stays).sum(), 0, 3)
    kept, old = metadata("our/y-v0"), metadata("our/x-v0")
    for new, place in zip(kept, (0, 2, 3), strict=True):
        assert {key: value for key, value in new.items() if key != "id"} == {
            key: value for key, value in old[place].items() if key != "id"
        }
    dataset = minari.load_dataset("our/y-v0")
    assert dataset.env_spec == minari.load_dataset("our/x-v0").env_spec
    assert dataset.env_spec.kwargs["length"] == 60
    told, old_about = (dict(minari.load_dataset(name).storage.metadata) for name in ("our/y-v0", "our/x-v0"))
    assert told["task"] == "lane-driving"
    assert told["description"] == (
        f"{stays.sum()} of {len(before)} pairs of our/x-v0: all but bad episodes by its audit, seed 0; the whole was"
        f" described as: {old_about['description']}"
    )
    assert told["algorithm_name"] == "robust-bc filter ..."
    assert [episode.terminations[-1] for episode in dataset.iterate_episodes()] == [True] * 3


def test_an_episode_falls_into_pieces_that_are_true(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=2, settings=SHORT)
    before = Demonstrations.from_minari("our/x-v0")
    length = int((before.episodes == 0).sum())
    bad = np.zeros(len(before), np.bool_)
    bad[[5, 6, 20]] = True
    done = filter_dataset("our/x-v0", audit_of(before, bad, "our/x-v0"), "our/y-v0", cut=True)
    assert [(one.episode, one.dropped_pairs, one.why) for one in done.left_out] == [(0, 3, "single bad pairs")]
    assert (done.cut_episodes, done.pieces, done.sources[0].dropped_episodes, (~done.kept).sum()) == (1, 4, 0, 3)
    whole = next(iter(minari.load_dataset("our/x-v0").iterate_episodes()))
    pieces = list(minari.load_dataset("our/y-v0").iterate_episodes())
    for piece, (begin, end) in zip(pieces, ((0, 5), (7, 20), (21, length)), strict=False):
        assert np.array_equal(piece.observations, whole.observations[begin : end + 1])  # with the true next one
        assert np.array_equal(piece.actions, whole.actions[begin:end])
        assert np.array_equal(piece.rewards, whole.rewards[begin:end])
        assert (bool(piece.truncations[-1]), bool(piece.terminations[-1])) == (end < length, end == length)
    told = metadata("our/y-v0")
    assert ["seed" in about for about in told] == [False, False, False, True]
    assert ["return" in about for about in told] == [False, False, False, True]
    assert {about["source"] for about in told} == {"safe"}


def test_hidden_labels_go_along(datasets: Path) -> None:
    mix(MixRequest(DRIVING, "flip", 0.3, pairs=60, episodes=1), "our/x-v0")
    before = Demonstrations.from_minari("our/x-v0", labels=True)
    assert before.corrupt is not None
    bad = np.arange(len(before)) % 3 == 0
    filter_dataset("our/x-v0", audit_of(before, bad, "our/x-v0"), "our/y-v0")
    after = Demonstrations.from_minari("our/y-v0", labels=True)
    assert after.corrupt is not None
    assert np.array_equal(after.corrupt, before.corrupt[~bad])
    assert np.array_equal(after.actions, before.actions[~bad])


def test_what_would_be_wrong_is_refused(datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=2, settings=SHORT)
    collect("lane-driving", "safe", "our/other-v0", episodes=2, seed=1, settings=SHORT)
    pairs = Demonstrations.from_minari("our/x-v0")
    audit = audit_of(pairs, np.ones(len(pairs)), "our/x-v0")
    for source, name, sentence in (
        ("our/other-v0", "our/y-v0", r"this audit is of other pairs \(our/x-v0\) than those of"),
        ("our/x-v0", "our/other-v0", "'our/other-v0' is there already"),
        ("our/x-v0", "nonsense", "is not the id of a dataset"),
        ("our/none-v0", "our/y-v0", "neither a folder nor the id"),
    ):
        with pytest.raises(RobustBCError, match=sentence):
            filter_dataset(source, audit, name)
    with pytest.raises(RobustBCError, match="'our/x-v0' is the dataset to be filtered; take another id"):
        filter_dataset("our/x-v0", audit, "our/x-v0", overwrite=True)
    assert sorted(minari.list_local_datasets()) == ["our/other-v0", "our/x-v0"]


def test_a_dataset_without_an_environment_is_filtered(datasets: Path) -> None:
    pairs = make_pairs(0)
    make_dataset(pairs)
    audit = audit_of(Demonstrations.from_minari("test/pairs-v0"), pairs.episodes == 3, "test/pairs-v0")
    filter_dataset("test/pairs-v0", audit, "test/y-v0")
    after = Demonstrations.from_minari("test/y-v0")
    assert np.array_equal(after.actions, pairs.actions[pairs.episodes != 3])
    dataset = minari.load_dataset("test/y-v0")
    assert dataset.env_spec is None
    assert "task" not in dataset.storage.metadata
    assert dataset.action_space == minari.load_dataset("test/pairs-v0").action_space


def test_an_environment_that_is_not_installed_is_named_again(datasets: Path) -> None:
    spec = EnvSpec("Nowhere/Robot-v3", "nowhere.robot:Robot", max_episode_steps=7, kwargs={"arms": 2})
    boxes = spaces.Box(-1.0, 1.0, (2,), np.float64), spaces.Box(-1.0, 1.0, (1,), np.float64)
    episode = Episode(5, np.zeros((4, 2)), np.zeros((3, 1)), np.zeros(3), False)
    plan = DatasetPlan("our/x-v0", None, *boxes, "", "", environment=spec.to_json())
    write_dataset(plan, [Recorded(episode, who, who) for who in ("ann", "bob", "eve")])
    pairs = Demonstrations.from_minari("our/x-v0")
    filter_dataset("our/x-v0", audit_of(pairs, pairs.episodes == 0, "our/x-v0"), "our/y-v0")
    dataset = minari.load_dataset("our/y-v0")
    assert dataset.env_spec == spec
    assert [about["source"] for about in metadata("our/y-v0")] == ["bob", "eve"]


@pytest.mark.parametrize(("bad", "undecided"), [(2, None), (1, "a tie.")])
def test_in_doubt_everything_stays(bad: int, undecided: str | None, datasets: Path) -> None:
    collect("lane-driving", "safe", "our/x-v0", episodes=3, settings=SHORT)
    pairs = Demonstrations.from_minari("our/x-v0")
    audit = audit_of(pairs, pairs.episodes < bad, "our/x-v0", undecided=undecided)
    done = filter_dataset("our/x-v0", audit, "our/y-v0")
    assert done.why_kept == audit.why_kept()
    assert done.left_out == []
    assert np.array_equal(Demonstrations.from_minari("our/y-v0").actions, pairs.actions)


def test_an_audit_with_the_digest_of_these_pairs_and_other_episodes(datasets: Path) -> None:
    """As somebody can write it on purpose: it would drop what nobody judged."""
    collect("lane-driving", "safe", "our/x-v0", episodes=2)
    pairs = Demonstrations.from_minari("our/x-v0")
    audit = audit_of(pairs, pairs.episodes == 0, "our/x-v0")
    of_pairs = ("clean", "conflict", "shown", "expected")
    longer = {name: np.concatenate([getattr(audit, name)] * 2) for name in of_pairs}
    for changed in (longer | {"episodes": np.repeat(np.arange(2), len(pairs))}, {"episodes": pairs.episodes + 1}):
        with pytest.raises(RobustBCError, match="this audit is of other pairs"):
            filter_dataset("our/x-v0", replace(audit, **changed), "our/y-v0")
