"""A command whose results are kept: for the scripts that write pages from benchmarks of an hour."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_once(command: str, out: Path) -> dict[str, Any]:
    """The content of benchmark.json of this command; a finished run of the very same command in `out` is kept."""
    given = f"{command} --out {out}"
    finished = out / "benchmark.json"
    if not finished.exists() or json.loads(finished.read_text())["command"] != given:
        subprocess.run([sys.executable, "-m", "robust_bc.cli.main", *given.split()[1:]], check=True)
    content: dict[str, Any] = json.loads(finished.read_text())
    return content
