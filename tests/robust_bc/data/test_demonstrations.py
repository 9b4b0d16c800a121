from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_bc import Demonstrations, RobustBCError
from robust_bc.data.fingerprints import pairs_digest
from robust_bc.data.minari_demonstrations import finite_successors
from tests.conftest import make_dataset

GOOD = np.ones((4, 2))


def test_pairs_stand_alone_without_episodes() -> None:
    demos = Demonstrations.from_arrays(GOOD, GOOD[:, :1])
    assert len(demos) == 4
    assert (demos.observation_size, demos.action_size) == (2, 1)
    assert demos.episodes.tolist() == [0, 1, 2, 3]


def test_lists_and_whole_numbers_are_welcome() -> None:
    demos = Demonstrations.from_arrays([[1, 2], [3, 4]], [[1], [2]])
    assert demos.observations.dtype == np.float64


def test_float32_is_kept() -> None:
    assert Demonstrations.from_arrays(GOOD.astype(np.float32), GOOD).observations.dtype == np.float32


def test_arrays_cannot_be_changed_from_inside() -> None:
    mine = GOOD.copy()
    demos = Demonstrations.from_arrays(mine, GOOD)
    with pytest.raises(ValueError, match="read-only"):
        demos.observations[0, 0] = 5
    mine[0, 0] = 2  # the caller's own array stays writeable


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": np.ones((3, 1))}, "actions has 3 rows, but observations has 4"),
        ({"observations": np.ones(4)}, r"observations must have the shape \(N, S\).*reshape"),
        ({"observations": np.ones((4, 2, 2))}, "observations must have the shape"),
        ({"observations": np.ones((4, 0))}, "observations must have at least one column"),
        (
            {"actions": np.array([[0.0], [np.nan], [0.0], [np.inf]])},
            "actions must be finite, but row 1, column 0 is nan",
        ),
        ({"observations": np.full((4, 1), np.inf)}, r"row 0, column 0 is inf \(4 such entries"),
        (
            {"actions": np.array([[0.0], [0.0], [np.nan], [0.0]]), "episodes": np.array([7, 5, 7, 5])},
            r"row 2, column 0 is nan \(step 1 of episode 7; 1 such entries",
        ),
        ({"observations": np.array([["a"]] * 4)}, "observations must be an array of real numbers"),
        ({"observations": np.ones((4, 1), dtype=complex)}, "observations must be an array of real numbers"),
        ({"observations": [[1.0], [1.0, 2.0], [1.0], [1.0]]}, "observations must be an array of real numbers"),
        ({"action_space": spaces.Box(0, 5, (1,), np.int64)}, "action_space must be of real numbers"),
        ({"observations": np.ones((0, 2)), "actions": np.ones((0, 1))}, "has 0 pairs, but at least 2"),
        ({"observations": np.ones((1, 2)), "actions": np.ones((1, 1))}, "has 1 pairs, but at least 2"),
        ({"episodes": [0, 0, 1]}, "episodes has 3 rows"),
        ({"episodes": [0.5, 0, 1, 1]}, "episodes must be one whole number per pair"),
        ({"episodes": [0.0, 0.0, 1.0, 1.0]}, "episodes must be one whole number per pair, .* has type float64"),
        ({"episodes": [2**70, 0, 1, 1]}, "episodes must be one whole number per pair"),
        ({"episodes": [2**64 - 1, -1, 1, 1]}, "episodes must be one whole number per pair"),
        (
            {"episodes": np.array([0, 1, 2**64 - 1, 2**63], np.uint64)},
            r"episodes must be below 2\^63, but that of pair 2 is 18446744073709551615",
        ),
        ({"corrupt": [0, 1, 2, 0]}, "corrupt must be one true or false per pair"),
        ({"corrupt": [True]}, "corrupt has 1 rows"),
        ({"action_space": spaces.Box(-1, 1, (3,))}, "action_space has the shape"),
        (
            {"successors": np.ones((3, 2))},
            r"successors has the shape \(3, 2\), but observations has \(4, 2\); they must be the same",
        ),
        ({"successors": np.ones((4, 3))}, r"successors has the shape \(4, 3\)"),
        ({"successors": np.ones(4)}, r"successors must have the shape \(N, S\)"),
        ({"successors": np.full((4, 2), np.nan)}, "successors must be finite, but row 0, column 0 is nan"),
        ({"action_space": spaces.Discrete(3)}, "action_space must be a gymnasium Box"),
    ],
)
def test_bad_input_gets_one_sentence(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"observations": GOOD, "actions": GOOD[:, :1], **changes}
    with pytest.raises(RobustBCError, match=message) as caught:
        Demonstrations.from_arrays(**arguments)
    assert "\n" not in str(caught.value)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]), min_size=2, max_size=4))
def test_an_episode_keeps_its_number_or_is_refused(ids: list[int]) -> None:
    """Two episodes never become one, and a table shows the number that was given."""
    pairs, given_ids = np.ones((len(ids), 1)), np.array(ids, np.uint64)
    if max(ids) >= 2**63:
        with pytest.raises(RobustBCError, match="episodes must be below"):
            Demonstrations.from_arrays(pairs, pairs, given_ids)
    else:
        assert Demonstrations.from_arrays(pairs, pairs, given_ids).episodes.tolist() == ids


def test_clean_keeps_the_good_pairs_only() -> None:
    demos = Demonstrations.from_arrays(np.arange(8.0).reshape(4, 2), GOOD, corrupt=[False, True, False, True])
    assert demos.clean().observations.tolist() == [[0, 1], [4, 5]]
    with pytest.raises(RobustBCError, match="corrupt is not known"):
        Demonstrations.from_arrays(GOOD, GOOD).clean()


def test_successors_go_with_their_pairs() -> None:
    seen = np.arange(8.0).reshape(4, 2)
    demos = Demonstrations.from_arrays(seen, GOOD, corrupt=[False, True, False, True], successors=seen + 100)
    assert demos.successors is not None
    with pytest.raises(ValueError, match="read-only"):
        demos.successors[0, 0] = 5
    for part in (demos.select([0, 2]), demos.select(np.array([True, False, True, False])), demos.clean()):
        assert part.successors is not None
        assert part.successors.tolist() == [[100, 101], [104, 105]]
    assert Demonstrations.from_arrays(seen, GOOD).successors is None
    assert Demonstrations.from_arrays(seen, GOOD).select([0, 2]).successors is None
    assert Demonstrations.from_arrays([[1], [2]], [[1], [2]], successors=[[2], [3]]).successors is not None


def test_successors_do_not_change_who_the_pairs_are() -> None:
    """A digest names the pairs that are learned from; a run or an audit of them stays theirs."""
    with_them = Demonstrations.from_arrays(GOOD, GOOD, successors=GOOD)
    assert pairs_digest([with_them]) == pairs_digest([Demonstrations.from_arrays(GOOD, GOOD)])


def test_minari_tells_what_came_next(dataset: str, pairs: Demonstrations) -> None:
    read = Demonstrations.from_minari(dataset)
    assert read.successors is not None
    last = np.r_[np.diff(pairs.episodes) != 0, True]
    assert (read.successors[last] == 99).all()  # the observation after the last action
    np.testing.assert_array_equal(read.successors[~last], pairs.observations[1:][~last[:-1]])


def test_labels_are_hidden_from_view() -> None:
    assert "corrupt" not in repr(Demonstrations.from_arrays(GOOD, GOOD, corrupt=[True] * 4))


def test_minari_by_id_and_by_folder(dataset: str, pairs: Demonstrations) -> None:
    root = Path(os.environ["MINARI_DATASETS_PATH"]) / dataset
    for source in (dataset, str(root), root, root / "data"):
        read = Demonstrations.from_minari(source)
        np.testing.assert_array_equal(read.observations, pairs.observations)
        np.testing.assert_array_equal(read.actions, pairs.actions)
        np.testing.assert_array_equal(read.episodes, pairs.episodes)
        assert read.action_space == spaces.Box(-1.0, 1.0, (2,), np.float64)


def test_minari_that_is_not_there(dataset: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for source, message in (
        ("test/other-v0", "is neither a folder nor the id"),
        ("no such thing", "is neither a folder nor the id"),
        (str(tmp_path / "empty"), "is not a Minari dataset"),
    ):
        with pytest.raises(RobustBCError, match=message):
            Demonstrations.from_minari(source)


def test_minari_that_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: Demonstrations) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    data = tmp_path / make_dataset(pairs) / "data"
    whole = (data / "main_data.hdf5").read_bytes()
    (data / "main_data.hdf5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RobustBCError, match="cannot be read"):
        Demonstrations.from_minari("test/pairs-v0")
    for text, message in (("{", "not valid JSON"), ("[]", "is a JSON list, but an object is expected")):
        (data / "metadata.json").write_text(text)
        with pytest.raises(RobustBCError, match=message):
            Demonstrations.from_minari(data)


def test_a_successor_that_is_not_finite_leads_nowhere() -> None:
    """A simulation that went wrong in its last step must not keep anybody from learning from what came before."""
    before = np.arange(6.0).reshape(3, 2)
    after = before + 1
    after[2, 0] = np.nan
    assert finite_successors(after, before).tolist() == [[1, 2], [3, 4], [4, 5]]
    assert finite_successors(before, after) is before
