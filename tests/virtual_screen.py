"""A screen that nobody sees, for tests of windows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def virtual_screen(size: str = "1400x900x24") -> Iterator[str]:
    """Start an X server without a screen and give its DISPLAY; where none can be had, skip the test."""
    server = installed("Xvfb", "xvfb")
    if server is None:
        pytest.skip("there is no Xvfb here and it cannot be installed (apt-get install xvfb)")
    reads, writes = os.pipe()
    # The server picks a free display and writes its number once it is ready. Without -noreset it starts anew when its
    # last client leaves, and whoever connects in that moment is turned away.
    process = subprocess.Popen(
        [server, "-displayfd", str(writes), "-screen", "0", size, "-nolisten", "tcp", "-noreset"],
        pass_fds=[writes],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writes)
    try:
        with os.fdopen(reads) as answer:
            number = answer.readline().strip()
        if not number:
            pytest.skip("Xvfb does not start here")
        yield f":{number}"
    finally:
        process.terminate()
        process.wait(20)


def installed(program: str, package: str) -> str | None:
    """Where the program is; a missing one is installed, if we may do that."""
    if shutil.which(program) or shutil.which("apt-get") is None or os.getuid() != 0:
        return shutil.which(program)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update"],
        ["apt-get", "install", "-o", "DPkg::Lock::Timeout=200", "-y", "--no-install-recommends", package],
    ):
        try:
            subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            return None
    return shutil.which(program)
