"""Readers of other people's files: what is good is read, and each kind of damage has its sentence."""

from __future__ import annotations

import json
import os
import shutil
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import h5py
import minari
import numpy as np
import pytest
from safetensors.numpy import save_file

from robust_bc import Demonstrations
from robust_bc.data.json_files import as_typed, parse_json, read_json, sealed, unsealed
from robust_bc.data.minari_files import open_minari
from robust_bc.data.tensor_files import Expected, read_sealed_tensors, read_tensors, sealed_tensors
from robust_bc.errors import DamagedFileError, RobustBCError
from robust_bc_demos.datasets import local_datasets
from robust_bc_demos.summary import summarise
from tests.hostile.hdf5_tricks import HDF5


@dataclass(frozen=True)
class Inner:
    number: float


@dataclass(frozen=True)
class Thing:
    name: str
    count: int
    kind: Literal["a", "b"] = "a"
    inner: Inner | None = None
    sizes: tuple[int, ...] = ()
    more: dict[str, float | None] = field(default_factory=dict)
    value: int | float | str | None = None


def test_plain_content_becomes_typed() -> None:
    given = {"name": "x", "count": 2, "inner": {"number": 1}, "sizes": [1, 2], "more": {"y": None}, "value": 3}
    made = as_typed(Thing, given, "file")
    assert made == Thing("x", 2, "a", Inner(1.0), (1, 2), {"y": None}, 3)
    assert isinstance(made.value, int)
    assert isinstance(made.inner, Inner)
    assert isinstance(made.inner.number, float)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"count": 1.5}, "'count' must be a whole number, but it is 1.5"),
        ({"count": True}, "'count' must be a whole number, but it is True"),
        ({"count": 2**63}, "'count' must be a whole number"),
        ({"name": None}, "'name' must be a word, but it is None"),
        ({"kind": "c"}, "'kind' must be one of a, b, but it is 'c'"),
        ({"inner": {"number": 10**400}}, "'inner.number' must be a finite number"),
        ({"inner": {"number": float("inf")}}, "'inner.number' must be a finite number, but it is inf"),
        ({"inner": {}}, "'inner.number' is missing"),
        ({"inner": 3}, "'inner' must be an object, but it is 3"),
        ({"sizes": [1, "x"]}, r"'sizes\[1\]' must be a whole number, but it is 'x'"),
        ({"more": {"y": []}}, r"'more.y' must be a finite number, but it is \[\]"),
        ({"value": []}, "'value' must be a whole number or a finite number or a word"),
        ({"other": 1}, "'other' is not known"),
        ({"name": "x" * 1000, "count": "y" * 1000}, "'count' must be a whole number, but it is 'y{59}…"),
    ],
)
def test_what_is_of_another_type_is_named(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DamagedFileError, match=f"in 'file' {sentence}"):
        as_typed(Thing, {"name": "x", "count": 2, **changed}, "file")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 10_000, "nested too deeply"),
        ('{"a":' * 100 + "1" + "}" * 100, "nested too deeply"),
        ('{"a": 1' + "0" * 400 + "}", "a number of 401 digits"),
        ('{"a": [' + "[]," * 2_000_000 + "[]]}", "more than 2000000 objects"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": "\\ud800"}', "surrogates not allowed"),
        ("[]", "is a JSON list, but an object is expected"),
        (b"\xff", "invalid start byte"),
        ("", "Expecting value"),
    ],
)
def test_text_that_is_no_object_of_ours(text: str | bytes, sentence: str) -> None:
    with pytest.raises(DamagedFileError, match=sentence) as told:
        parse_json(text, "file")
    assert "\n" not in str(told.value)


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # whose reader would wait for ever
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**12)
    for name, sentence in (
        *(("pipe", "is not a file"), ("zero", "is not a file"), (".", "is not a file")),
        *(("loop", "cannot be read"), ("sparse", "at most"), ("none", "there is no file")),
    ):
        for read in (read_json, read_tensors):
            with pytest.raises(DamagedFileError, match=sentence):
                read(tmp_path / name)


def test_a_seal_tells_damage() -> None:
    content = {"x": [1.5, None, "ä"], "y": {"z": 1e-300}}
    kept = json.loads(json.dumps(sealed(content)))
    assert unsealed(kept, "file") == content
    for changed in ({**kept, "x": [1.5, None, "a"]}, {**kept, "new": 1}, content, {**kept, "x": float("inf")}):
        with pytest.raises(DamagedFileError, match="its checksum is not that of its content"):
            unsealed(changed, "file")


def test_tensors_and_their_seal(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(3), "c": np.array([True, False]), "d": np.zeros((0, 2))}
    (tmp_path / "x").write_bytes(sealed_tensors(arrays))
    found = read_sealed_tensors(tmp_path / "x")
    for name, array in arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)
    wanted = {"a": Expected((-1, 3), np.float64), "b": Expected((), np.int64)}
    assert found.take(wanted, others=True).keys() == wanted.keys()
    with pytest.raises(DamagedFileError, match="has an unknown tensor 'c'"):
        found.take(wanted)
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(whole.replace(b'"a"', b'"q"'))  # as a flipped bit in a name would
    with pytest.raises(DamagedFileError, match="was damaged"):
        read_sealed_tensors(tmp_path / "x")


@pytest.mark.parametrize("way", HDF5)
def test_what_hdf5_can_do_and_a_recording_does_not_need(way: str, dataset: str, tmp_path: Path) -> None:
    data = tmp_path / "minari" / dataset / "data"
    with h5py.File(data / "main_data.hdf5", "a") as file:
        HDF5[way](file, file["episode_3"], "observations", data / "main_data.hdf5")

    if way in ("not a number", "huge numbers"):  # numbers like any other, to be judged where they are used
        assert len(list(open_minari(dataset).episodes())) == 10
        return
    with pytest.raises(DamagedFileError) as told:
        list(open_minari(dataset).episodes(about=True, infos=True))
    assert "\n" not in str(told.value)


def test_a_damaged_dataset_takes_no_other_down(dataset: str, tmp_path: Path) -> None:
    root = tmp_path / "minari"
    for name, text in (("bad/one-v0", "[" * 10_000), ("bad/two-v0", "{}"), ("bad/no version", '{"total_steps": "x"}')):
        (root / name / "data").mkdir(parents=True)
        (root / name / "data" / "metadata.json").write_text(text)
    (root / "bad" / "three-v0" / "data").mkdir(parents=True)
    (root / "bad" / "loop").symlink_to(root)
    found = local_datasets()
    assert [row["dataset"] for row in found.rows] == ["bad/two-v0", dataset]
    assert len(found.damaged) == 3
    assert all("\n" not in sentence for sentence in found.damaged)


def test_our_reading_is_minaris(dataset: str) -> None:
    theirs = minari.load_dataset(dataset)
    for mine, other in zip(open_minari(dataset).episodes(), theirs.iterate_episodes(), strict=True):
        np.testing.assert_array_equal(mine.observations, other.observations, strict=True)
        np.testing.assert_array_equal(mine.actions, other.actions, strict=True)
        np.testing.assert_array_equal(mine.rewards, other.rewards)
        assert mine.terminated == other.terminations[-1]
    some = theirs.filter_episodes(lambda episode: episode.id in (2, 5))
    assert len(list(open_minari(some).episodes())) == 2


def test_the_number_of_episodes_must_be_right(dataset: str, tmp_path: Path) -> None:
    path = tmp_path / "minari" / dataset / "data" / "metadata.json"
    content = json.loads(path.read_text())
    for told in (9, 10**12):
        path.write_text(json.dumps({**content, "total_episodes": told}))
        with pytest.raises(RobustBCError, match=f"has 10 episodes, but metadata.json says {told}"):
            summarise(dataset)
    shutil.rmtree(path.parent)
    with pytest.raises(RobustBCError, match="neither a folder nor the id"):
        summarise(dataset)


@pytest.mark.parametrize("shape", [[1] * 65, [0, 2**40, 2**40]])
def test_a_shape_that_no_array_has(shape: list[int], tmp_path: Path) -> None:
    size = 0 if 0 in shape else 1
    header = json.dumps({"x": {"dtype": "U8", "shape": shape, "data_offsets": [0, size]}}).encode()
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    with pytest.raises(DamagedFileError, match=r"not a whole safetensors file|a shape that no array has"):
        read_tensors(tmp_path / "x")


@pytest.mark.parametrize(
    "changed",
    [
        *({"dtype": word} for word in ("(,)f4", ",", "float128", "complex64", "object", "O", "x" * 5000)),
        *({"dtype": "uint8", "low": [-1, -1], "high": [300, 300]}, {"dtype": "int64", "low": [-np.inf] * 2}),
        *({"low": [np.inf] * 2, "high": [np.inf] * 2}, {"dtype": "float16", "low": [1e10] * 2, "high": [1e11] * 2}),
        *({"low": [1, 1], "high": [0, 0]}, {"low": "x"}, {"low": [1]}, {"low": [np.nan] * 2}, {"shape": [10**12]}),
    ],
)
def test_a_box_that_cannot_be(changed: dict[str, Any], dataset: str, tmp_path: Path) -> None:
    path = tmp_path / "minari" / dataset / "data" / "metadata.json"
    content = json.loads(path.read_text())
    space = {**json.loads(content["action_space"]), **changed}
    path.write_text(json.dumps({**content, "action_space": json.dumps(space)}))
    with pytest.raises(DamagedFileError, match="'action_space of") as told:
        open_minari(dataset)
    assert len(str(told.value)) < 600


def test_a_chunk_is_not_unpacked_for_a_few_numbers(dataset: str, tmp_path: Path) -> None:
    """A kilobyte that two deflates make a gigabyte of, behind an array of eight numbers."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((2**27,))
    plan.set_deflate(9)
    with h5py.File(tmp_path / "minari" / dataset / "data" / "main_data.hdf5", "a") as file:
        group = file["episode_0"]
        del group["rewards"]
        space = h5py.h5s.create_simple((20,), (h5py.h5s.UNLIMITED,))
        array = h5py.h5d.create(group.id, b"rewards", h5py.h5t.IEEE_F64LE, space, plan)
        array.write_direct_chunk((0,), zlib.compress(bytes(2**20), 9))
    with pytest.raises(DamagedFileError, match="'episode_0/rewards' declares 160 bytes, which are not there"):
        list(open_minari(dataset).episodes())


def test_words_that_all_point_at_one(dataset: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "minari" / dataset / "data" / "main_data.hdf5", "a") as file:
        file["episode_0"].attrs["source"] = ["a", "b"]
    with pytest.raises(DamagedFileError, match="the attribute 'source' of 'episode_0' is not a number or a word"):
        open_minari(dataset).about_episodes()


def test_labels_are_of_these_pairs(dataset: str, tmp_path: Path) -> None:
    path = tmp_path / "minari" / dataset / "hidden_labels.safetensors"
    for labels in (np.zeros(7, np.uint8), np.full(200, 2, np.uint8)):
        save_file({"corrupt": labels}, path)
        with pytest.raises(DamagedFileError, match="does not tell a 0 or a 1 for each of 200 pairs"):
            Demonstrations.from_minari(dataset, labels=True)


def test_a_good_array_of_another_file_is_not_read(dataset: str, tmp_path: Path) -> None:
    """Links and external storage that would work: only the refusal keeps them from being followed."""
    path, other = tmp_path / "minari" / dataset / "data" / "main_data.hdf5", tmp_path / "other.hdf5"
    shutil.copy(path, other)
    for link in (h5py.ExternalLink(other, "/episode_3/actions"), h5py.SoftLink("/episode_2/actions")):
        shutil.copy(other, path)
        with h5py.File(path, "a") as file:
            del file["episode_3/actions"]
            file["episode_3/actions"] = link
        with pytest.raises(DamagedFileError, match="'episode_3/actions' is a link to somewhere else"):
            list(open_minari(dataset).episodes())
