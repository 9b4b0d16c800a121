from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from robust_bc import RobustBCError
from robust_bc.system.files import make_folder, remove_asides, write_all_whole, write_json, write_whole

# A limit on the size of files makes the kernel refuse the write half-way, as a full disk does.
FULL_DISK = """
import resource, sys
from pathlib import Path
from robust_bc import RobustBCError
from robust_bc.system.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(Path(sys.argv[1]), b"x" * 5000)
except RobustBCError as problem:
    print(problem)
"""


def test_a_full_disk_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"cannot write '{path}': ")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_belong_together_change_together(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("old")
    second.mkdir()  # cannot be replaced by a file
    with pytest.raises(RobustBCError, match="cannot write"):
        write_all_whole({second: "new", first: "new"})
    assert first.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]


def test_what_a_killed_writer_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in (".a.77.part", "deep/.b.77.part", "keep.part", ".keep"):
        (tmp_path / name).touch()
    remove_asides(tmp_path)
    assert {path.name for path in tmp_path.rglob("*")} == {"deep", "keep.part", ".keep"}


def test_written_whole_with_parents(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b", "text")
    write_json(tmp_path / "a" / "c", {"x": 1})
    assert (tmp_path / "a" / "b").read_text() == "text"
    assert (tmp_path / "a" / "c").read_text() == '{\n  "x": 1\n}\n'
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RobustBCError, match="cannot create the folder"):
        make_folder(tmp_path / "file" / "below")


def test_nan_is_no_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(tmp_path / "x", {"x": float("nan")})
    assert not list(tmp_path.iterdir())
