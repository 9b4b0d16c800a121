"""Files from anybody: none of them runs code, and whatever is damaged gets one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def run(*words: str) -> None:
    """In a process of its own, which may fork and be limited; what it prints is shown if it complains."""
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("", "envs", "demos"))
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_nothing_that_a_file_names_is_run() -> None:
    run("tests.hostile.guard")


@pytest.mark.slow
def test_damaged_files_get_one_sentence() -> None:
    run("tests.hostile.fuzz", "--count", "270", "--seed", "1")
