"""Measures what the pages of docs/ show, and puts it into docs/results (`make results`, many hours).

python scripts/results.py mujoco housing    (without names, all)

Finished cells are kept in runs/, so what was interrupted goes on. `make docs` renders the pages afterwards.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from robust_bc.cli.main import main as robust_bc

RESULTS = Path("docs/results")
RETURNS = "halfcheetah,walker2d,pendulum,reacher,double-pendulum,lunar-lander"
FAULTS = "rollout,medium,noisy,delayed,stuck,relabel,flip,uniform,misaligned,duplicated"
EPISODES = f"--pairs all --kinds {FAULTS} --rates 0,0.2,0.4 --methods auto,choicenet,mlp --seeds 5 --jobs 2"
COMMANDS = {
    "mujoco-episodes": f"benchmark mujoco --tasks all --episodes 20 {EPISODES}",
    "driving-episodes": f"benchmark driving --episodes 100 {EPISODES}",
    "mujoco-clean": "benchmark mujoco --pairs all --good-episodes 6 --tasks all --kinds flip --rates 0 --methods auto"
    " --episodes 20 --jobs 2",
    "mujoco-pairs": "benchmark mujoco --rates 0.3 --seeds 5 --episodes 20 --jobs 2",
    "mujoco-rollout": "benchmark mujoco --kinds rollout --rates 0.1,0.2,0.3 --seeds 5 --episodes 20 --jobs 2",
    "defaults-passes": "benchmark mujoco --tasks halfcheetah --kinds uniform --rates 0.4"
    " --methods choicenet,choicenet@steps=4000 --seeds 3 --episodes 20",
    "defaults-size": "benchmark mujoco --pairs all --good-episodes 30 --tasks hopper --kinds flip --rates 0"
    " --methods mlp,mlp@steps=8000,gpr --seeds 3 --episodes 20",
    "defaults-noise": "benchmark mujoco --pairs all --tasks halfcheetah,hopper --kinds delayed,graded --rates 0.4"
    " --methods gpr,gpr@episode_noise=false --seeds 3 --episodes 20",
    "mujoco": "benchmark mujoco --jobs 2",
    "driving": "benchmark driving --jobs 2",
    "driving-curved": "benchmark driving --road curved --seeds 5 --jobs 2",
    "mujoco-methods": "benchmark mujoco --methods all --rates 0.3 --seeds 3 --episodes 20 --jobs 2",
    "driving-methods": "benchmark driving --methods all --seeds 3 --episodes 100 --jobs 2",
    "synthetic": "benchmark synthetic --methods all --jobs 2",
    "correlation": "benchmark synthetic --functions cosexp --kinds region-flip,region-uniform --rates 0.5"
    " --methods choicenet@mixtures=2@rivals=0@gate=state",
    "housing": "benchmark housing --jobs 2",
    "synthetic-fresh": "benchmark synthetic --methods choicenet --seed 100",
    "ablation": "benchmark ablation --seeds 5 --jobs 2",
    "ablation-functions": "benchmark ablation --tasks cosexp,linear,step --rates 0,0.6,0.8 --seeds 5 --jobs 2",
    "audit": "benchmark audit --detectors audit --seed 60 --jobs 2",
    "audit-returns": f"benchmark audit --detectors audit --rates 0.3 --seed 60 --seeds 5 --returns"
    f" --kinds clean,{FAULTS} --tasks {RETURNS} --jobs 2",
    "audit-pairs": "benchmark audit --detectors audit --pairs 500 --tasks halfcheetah,walker2d --kinds"
    " rollout,relabel,flip,uniform --rates 0.1,0.2,0.3,0.4 --seed 60 --seeds 3 --returns --jobs 2",
    "audit-parts": "benchmark audit --rates 0.3 --seed 60 --seeds 2 --jobs 2",
}


def main(names: list[str]) -> None:
    """Run, or go on; then copy."""
    for name in names:
        if name not in COMMANDS:
            raise SystemExit(f"there is no page '{name}'; there are {', '.join(COMMANDS)}.")
    for name in names or COMMANDS:
        out = Path("runs", name)
        robust_bc([*COMMANDS[name].split(), "--out", str(out)])
        for ending in ("csv", "json"):
            shutil.copyfile(out / f"results.{ending}", RESULTS / f"{name}.{ending}")
        print(f"measured {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
