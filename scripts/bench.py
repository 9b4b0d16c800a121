"""`make bench`: speed and memory as ratios of measurements that were taken in one run.

The machine may be noisy, so the things to compare take turns and each counts with its fastest turn.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from robust_bc import Demonstrations, fit, fit_fleet
from robust_bc.fitting import FitPlan

TURNS = 5
STEPS = 200
MEMBERS = 20


def demonstrations(seed: int, pairs: int = 1000, observations: int = 17, actions: int = 6) -> Demonstrations:
    """Pairs of the size of a MuJoCo task."""
    generator = np.random.default_rng(seed)
    return Demonstrations.from_arrays(
        generator.normal(size=(pairs, observations)), generator.normal(size=(pairs, actions))
    )


def fastest(*jobs: Callable[[], object]) -> list[float]:
    """Seconds of the fastest turn of each job; the jobs take turns, so that noise meets all alike."""
    seconds = [float("inf")] * len(jobs)
    for _ in range(TURNS):
        for index, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            seconds[index] = min(seconds[index], time.perf_counter() - start)
    return seconds


def fleet_ratio() -> tuple[float, float]:
    """Milliseconds per step for 20 ChoiceNets: one after another, and as one fleet."""
    data = [demonstrations(seed) for seed in range(MEMBERS)]

    def one_after_another() -> None:
        for seed, pairs in enumerate(data):
            fit(pairs, seed=seed, device="cpu", steps=STEPS)

    alone, together = fastest(one_after_another, lambda: fit_fleet(data, device="cpu", steps=STEPS))
    return 1e3 * alone / STEPS, 1e3 * together / STEPS


def step_ratio() -> tuple[float, float]:
    """Milliseconds per step of one MLP and of one ChoiceNet with the same trunk."""
    pairs = demonstrations(0)
    mlp, choicenet = fastest(
        lambda: fit(pairs, "mlp", device="cpu", steps=5 * STEPS),
        lambda: fit(pairs, "choicenet", device="cpu", steps=5 * STEPS),
    )
    return 1e3 * mlp / (5 * STEPS), 1e3 * choicenet / (5 * STEPS)


BIG = {"batch": 16384, "features": 128, "actions": 17}


def peak_of_training(batch: int, mixtures: int) -> float:
    """MiB that one training block adds to the peak memory of a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure_peak, (batch, mixtures))


def _measure_peak(batch: int, mixtures: int) -> float:
    torch.set_num_threads(1)
    pairs = demonstrations(0, actions=BIG["actions"])
    given: dict[str, Any] = {"batch_size": batch, "mixtures": mixtures, "hidden": (BIG["features"],), "steps": 1}
    small = FitPlan.make([pairs], "choicenet", 1, [0], "cpu", {**given, "batch_size": 2}).trainer([0])
    small.run()  # whatever the libraries allocate once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    FitPlan.make([pairs], "choicenet", 1, [0], "cpu", given).trainer([0]).run()
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return kibibytes / (1024 if sys.platform == "linux" else 1024**2)


def main() -> None:
    """Measure, print, and say what was asked for."""
    alone, together = fleet_ratio()
    mlp, choicenet = step_ratio()
    batch = BIG["batch"]
    peaks = {(b, k): peak_of_training(b, k) for b, k in ((batch, 5), (batch, 40), (batch // 2, 40))}
    naive = 4 * batch * BIG["features"] * BIG["actions"] / 2**20  # MiB per mixture of a (B, K, Q, D) tensor
    found = {
        "fleet_speedup": alone / together,
        "choicenet_to_mlp": choicenet / mlp,
        "memory_k40_to_k5": peaks[batch, 40] / peaks[batch, 5],
        "memory_batch_to_half": peaks[batch, 40] / peaks[batch // 2, 40],
    }
    if "--json" in sys.argv[1:]:
        print(json.dumps({"command": "make bench", **found}, indent=2))
        return
    table = Table(title=f"make bench ({torch.get_num_threads()} threads)", title_justify="left")
    for column in ("what", "measured", "ratio", "wanted"):
        table.add_column(column)
    table.add_row(
        f"{MEMBERS} ChoiceNets as one fleet, against one after another",
        f"{together:.2f} ms and {alone:.2f} ms a step",
        f"{found['fleet_speedup']:.1f}x faster",
        "at least 4x",
    )
    table.add_row(
        "one ChoiceNet step, against an MLP step of the same trunk",
        f"{choicenet:.2f} ms and {mlp:.2f} ms",
        f"{found['choicenet_to_mlp']:.2f}x",
        "at most 3.5x",
    )
    table.add_row(
        f"peak memory of a step at K = 40, against K = 5 (batch {batch})",
        f"{peaks[batch, 40]:.0f} MiB and {peaks[batch, 5]:.0f} MiB; (B, K, Q, D) alone: {40 * naive:.0f} MiB",
        f"{found['memory_k40_to_k5']:.1f}x",
        "at most 8x (linear)",
    )
    table.add_row(
        f"peak memory of a step at batch {batch}, against {batch // 2} (K = 40)",
        f"{peaks[batch, 40]:.0f} MiB and {peaks[batch // 2, 40]:.0f} MiB",
        f"{found['memory_batch_to_half']:.1f}x",
        "about 2x (linear)",
    )
    Console().print(table)


if __name__ == "__main__":
    main()
