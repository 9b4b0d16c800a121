"""The machine and the versions that numbers were made with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("robust-bc", "torch", "numpy", "scipy", "scikit-learn", "gymnasium", "mujoco")


def machine() -> dict[str, str]:
    """Processor, cores and system."""
    cores = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    return {"processor": _processor(), "cores": str(cores), "system": platform.platform()}


def versions() -> dict[str, str]:
    """Of Python and of the packages that numbers depend on, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """Linux tells the model in a file, others by themselves."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
