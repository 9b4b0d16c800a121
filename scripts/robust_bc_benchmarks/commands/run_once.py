"""A command whose results are kept: for the scripts that write pages from benchmarks of an hour."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robust_bc.data.json_files import read_json


def run_once(command: str, out: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The content of benchmark.json of this command, which tells its `method_settings`.

    A finished run in `out` is kept if it is of the very same command and settings: defaults may have changed since.
    """
    given = f"{command} --out {out}"
    finished = out / "benchmark.json"
    before = read_json(finished) if finished.exists() else {}
    if before.get("command") != given or before.get("method_settings") != settings:
        subprocess.run([sys.executable, "-m", "robust_bc.cli.main", *given.split()[1:]], check=True)  # noqa: S603 (our own words)
    return read_json(finished)
