"""Pressing Ctrl-C on a command as soon as a file is there that it must not lose."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

LONGEST_WAIT = 120
"""Seconds for a first cell, on a machine that is busy."""


def interrupted(words: str, folder: Path, first: str) -> str:
    """What `robust-bc WORDS` in this folder says when it is stopped after its first file; the file must stay."""
    kept = folder / first
    process = subprocess.Popen(
        [sys.executable, "-m", "robust_bc.cli.main", *words.split()], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + LONGEST_WAIT
        while not kept.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=LONGEST_WAIT)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in told
    assert kept.exists()
    return told
