"""`make bench`, its first half: speed and memory of learning."""

from __future__ import annotations

import multiprocessing
import resource
import sys
from typing import Any

import numpy as np
import torch

from robust_bc import Demonstrations, fit, fit_fleet
from robust_bc.training.plan import FitPlan
from robust_bc_benchmarks.comparisons import Comparison, fastest, report

STEPS = 200
MEMBERS = 20
SMALL: dict[str, Any] = {"hidden": (64, 64), "batch_size": 128}
"""A network whose steps are short, so that what is not multiplication counts."""


def demonstrations(seed: int, pairs: int = 1000, observations: int = 17, actions: int = 6) -> Demonstrations:
    """Pairs of the size of a MuJoCo task."""
    generator = np.random.default_rng(seed)
    return Demonstrations.from_arrays(
        generator.normal(size=(pairs, observations)), generator.normal(size=(pairs, actions))
    )


def fleet_ratio() -> tuple[float, float]:
    """Milliseconds per step for 20 ChoiceNets: one after another, and as one fleet."""
    data = [demonstrations(seed) for seed in range(MEMBERS)]

    def one_after_another() -> None:
        for seed, pairs in enumerate(data):
            fit(pairs, "choicenet", seed=seed, device="cpu", steps=STEPS, **SMALL)

    alone, together = fastest(
        one_after_another, lambda: fit_fleet(data, "choicenet", device="cpu", steps=STEPS, **SMALL)
    )
    return 1e3 * alone / STEPS, 1e3 * together / STEPS


def step_ratio() -> tuple[float, float]:
    """Milliseconds per step of one MLP and of one ChoiceNet with the same trunk."""
    pairs = demonstrations(0)
    mlp, choicenet = fastest(
        lambda: fit(pairs, "mlp", device="cpu", steps=5 * STEPS, **SMALL),
        lambda: fit(pairs, "choicenet", device="cpu", steps=5 * STEPS, **SMALL),
    )
    return 1e3 * mlp / (5 * STEPS), 1e3 * choicenet / (5 * STEPS)


STEP_SIZES = {"small": ((64, 64), 128), "large": ((512, 512), 4096)}
"""Hidden layers and pairs of a step, below and above `SHARED_FROM`."""


def thread_gain(hidden: tuple[int, ...], batch: int) -> tuple[float, float]:
    """Milliseconds per step with one thread, and with two wherever they are."""
    pairs, settings = demonstrations(0), {"hidden": hidden, "batch_size": batch, "steps": 25}
    trainers = [FitPlan.make([pairs], "mlp", 1, [0], "cpu", settings).trainer([0]) for _ in range(2)]

    def block(place: int) -> None:
        torch.set_num_threads(1 + place)
        trainers[place].step = 0
        trainers[place].run_block()

    usual = torch.get_num_threads()
    seconds = fastest(lambda: block(0), lambda: block(1))
    torch.set_num_threads(usual)
    return 1e3 * seconds[0] / 25, 1e3 * seconds[1] / 25


PROCESS_PAIRS = 10_000, 50_000


def process_seconds() -> list[float]:
    """Seconds to fit a Gaussian process in which a thousand pairs stand for all."""
    data = [demonstrations(0, pairs) for pairs in PROCESS_PAIRS]
    return fastest(*(lambda pairs=pairs: fit(pairs, "gpr", device="cpu", inducing=1000) for pairs in data), turns=2)


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
    """Measure, print, and fail if something that is wanted was missed."""
    batch = BIG["batch"]
    # Memory first: a child inherits the peak that its parent had when it was started.
    peaks = {(b, k): peak_of_training(b, k) for b, k in ((batch, 5), (batch, 40), (batch // 2, 40))}
    naive = 4 * batch * 40 * BIG["features"] * BIG["actions"] / 2**20  # MiB of one (B, K, Q, D) tensor at K = 40
    alone, together = fleet_ratio()
    mlp, choicenet = step_ratio()
    fewer, more = process_seconds()
    gains = {name: thread_gain(*size) for name, size in STEP_SIZES.items()}
    rows = [
        *(
            Comparison(
                f"threads_{name}",
                f"a {name} step with one thread / with two",
                f"{one:.2f} ms / {two:.2f} ms",
                one / two,
                (0.0, 3.0),
            )
            for name, (one, two) in gains.items()
        ),
        Comparison(
            "process_linear",
            f"a Gaussian process of {PROCESS_PAIRS[1]:,} / {PROCESS_PAIRS[0]:,} pairs, time of the fit",
            f"{more:.1f} s / {fewer:.1f} s",
            more / fewer,
            (0.0, 1.5 * PROCESS_PAIRS[1] / PROCESS_PAIRS[0]),
        ),
        Comparison(
            "fleet_speedup",
            f"{MEMBERS} ChoiceNets one after another / as one fleet, a step",
            f"{alone:.2f} ms / {together:.2f} ms",
            alone / together,
            (4.0, float("inf")),
        ),
        Comparison(
            "choicenet_to_mlp",
            "one ChoiceNet / one MLP of the same trunk, a step",
            f"{choicenet:.2f} ms / {mlp:.2f} ms",
            choicenet / mlp,
            (0.0, 3.5),
        ),
        Comparison(
            "memory_k40_to_k5",
            f"peak memory of a step at K = 40 / K = 5, batch {batch}",
            f"{peaks[batch, 40]:.0f} MiB / {peaks[batch, 5]:.0f} MiB",
            peaks[batch, 40] / peaks[batch, 5],
            (0.0, 8.0),
        ),
        Comparison(
            "memory_batch_to_half",
            f"peak memory of a step at batch {batch} / {batch // 2}, K = 40",
            f"{peaks[batch, 40]:.0f} MiB / {peaks[batch // 2, 40]:.0f} MiB",
            peaks[batch, 40] / peaks[batch // 2, 40],
            (0.0, 2.5),
        ),
        Comparison(
            "memory_to_naive",
            "peak memory of a step at K = 40 / a (B, K, Q, D) tensor",
            f"{peaks[batch, 40]:.0f} MiB / {naive:.0f} MiB",
            peaks[batch, 40] / naive,
            (0.0, 0.2),
        ),
    ]
    if not report(f"make bench, learning, {torch.get_num_threads()} threads", rows, "--json" in sys.argv[1:]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
