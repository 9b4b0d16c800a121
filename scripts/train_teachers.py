"""Trains the teachers that ship in robust_bc_demos, measures them, and writes them where they ship.

    python scripts/train_teachers.py [--only halfcheetah-expert,walker2d-adversary] [--jobs 2] [--out FOLDER]

A teacher that is there is skipped; one that was interrupted goes on from its last checkpoint, to the same bits.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import tyro

from robust_bc.cli.arguments import Names
from robust_bc.errors import RobustBCError
from robust_bc.system.files import write_json
from robust_bc_demos.drivers import STYLES, ScriptedDriver
from robust_bc_demos.measuring import measure
from robust_bc_demos.network_teacher import CARD_FILE
from robust_bc_demos.teachers import DRIVERS_FILE, DRIVING, ROLES, SHIPPED
from robust_bc_demos.training.teaching import MEASURING_SEED
from robust_bc_envs.tasks import CARDS

ALL = tuple(f"{task}-{role}" for task in CARDS for role in ROLES)
MEASURED = {DRIVING: 1000}
"""Episodes over which a teacher is measured, where it is not 100."""


def main(only: Names = ALL, jobs: int = 1, seed: int = 0, out: Path = SHIPPED) -> None:
    """Train what is missing, `jobs` at a time; each job is `robust-bc teach` and shows its own progress."""
    unknown = [name for name in only if name not in ALL]
    if unknown:
        raise SystemExit(f"there is no teacher '{unknown[0]}'; the teachers are {', '.join(ALL)}.")
    if jobs < 1:
        raise SystemExit(f"--jobs must be at least 1, but it is {jobs}.")
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    waiting = [name for name in only if not (out / name / CARD_FILE).exists()]
    print(f"{len(only) - len(waiting)} of {len(only)} are there, to train: {', '.join(waiting) or 'none'}")
    running: dict[str, subprocess.Popen[bytes]] = {}
    failed = False
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                running[name] = subprocess.Popen(command(name, seed, out))  # noqa: S603 (our own words)
            time.sleep(1.0)
            for name in [name for name, job in running.items() if job.poll() is not None]:
                failed |= running.pop(name).returncode != 0
    except KeyboardInterrupt:
        for job in running.values():
            job.terminate()
            job.wait()  # they keep their checkpoints
        raise SystemExit(130) from None
    if not (out / DRIVERS_FILE).exists():
        write_json(out / DRIVERS_FILE, {name: measure_driver(name) for name in STYLES})
    raise SystemExit(int(failed))


def measure_driver(name: str) -> dict[str, Any]:
    """What a scripted driver does on the same roads as the trained ones."""
    return measure(CARDS[DRIVING], ScriptedDriver(name), MEASURED[DRIVING], MEASURING_SEED)


def command(name: str, seed: int, out: Path) -> list[str]:
    """The command that trains one teacher; it stands on the teacher's card."""
    task, role = name.rsplit("-", 1)
    words = [sys.executable, "-m", "robust_bc.cli.main", "teach", "--task", task, "--role", role, "--seed", str(seed)]
    here = Path.cwd()
    folder = (out / name).relative_to(here) if out.is_relative_to(here) else out / name  # the card is read elsewhere
    return [*words, "--episodes", str(MEASURED.get(task, 100)), "--out", str(folder)]


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except RobustBCError as problem:
        raise SystemExit(str(problem)) from None
