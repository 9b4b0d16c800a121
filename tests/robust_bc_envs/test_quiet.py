"""MuJoCo keeps quiet about deprecations and about nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import mujoco
import pytest

from robust_bc_envs.quiet import quiet_mujoco

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    "code",
    [
        "import gymnasium\nwith quiet_mujoco(): gymnasium.make('HalfCheetah-v5')",
        "from robust_bc_envs.mujoco_batch import MujocoBatch\nMujocoBatch('HalfCheetah-v5', 4).reset(seed=0)",
    ],
)
def test_console_and_folder_stay_clean(code: str, tmp_path: Path) -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in (".", "envs"))
    done = subprocess.run(
        [sys.executable, "-c", f"from robust_bc_envs.quiet import quiet_mujoco\n{code}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert not list(tmp_path.iterdir())


def test_quiet_keeps_errors_and_puts_the_handler_back() -> None:
    heard: list[str] = []
    handler = heard.append
    mujoco.set_mju_user_warning(handler)
    try:
        with pytest.raises(ValueError, match="XML Error"), quiet_mujoco():
            mujoco.MjModel.from_xml_string("<mujoco><nonsense/></mujoco>")
        assert mujoco.get_mju_user_warning() is handler
    finally:
        mujoco.set_mju_user_warning(None)


def test_quiet_blocks_may_overlap_between_threads() -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with quiet_mujoco():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with quiet_mujoco():
        thread.start()
        assert entered.wait(10)
    assert mujoco.get_mju_user_warning() is not None  # the other is still inside
    leave.set()
    thread.join()
    assert mujoco.get_mju_user_warning() is None
