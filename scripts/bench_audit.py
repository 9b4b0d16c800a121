"""`make bench`, its fourth part: time and memory of an audit of up to a million pairs, each size in a fresh process.

python scripts/bench_audit.py [--single-pairs] [--json]    (--single-pairs: only those, the slower kind)
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import resource
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_bc import Demonstrations
from robust_bc_benchmarks.comparisons import Comparison, report

SIZES = (10_000, 100_000, 1_000_000)
KINDS = ("whole episodes", "single pairs")
"""Episodes of some length, and each pair an episode of its own."""
TASK, HOW, RATE, EPISODES = "halfcheetah", "flip", 0.3, 10
"""The mix that is repeated: whole episodes of 1000 pairs."""
NOISE = 0.01
"""Added to each repetition, in units of a column's deviation: no two pairs are the same."""
MOST = 10.0
"""Ten times the pairs may take so many times as long and so many times the memory: that is linear growth."""


@dataclass(frozen=True)
class Measured:
    """One audit."""

    kind: str
    pairs: int
    seconds: float
    peak: float
    """MiB of the process in all, libraries and demonstrations included."""
    data: float
    """MiB of the demonstrations."""
    rate: float
    """Estimated share of corrupt pairs."""
    true_rate: float


def repeated(mix: Demonstrations, times: int) -> Demonstrations:
    """The mix many times over, with noise; every repetition has episodes of its own."""
    generator = np.random.default_rng(0)

    def noisy(values: NDArray[Any]) -> NDArray[Any]:
        out = np.tile(values, (times, 1))
        width = (NOISE * values.std(0)).astype(values.dtype)
        for part in np.split(out, times):  # one repetition at a time: noise for all would be the peak of memory
            part += width * generator.standard_normal(values.shape, dtype=values.dtype)
        return out

    assert mix.corrupt is not None
    assert mix.successors is not None
    of_mix = int(mix.episodes.max()) + 1
    return Demonstrations(
        observations=noisy(mix.observations),
        actions=noisy(mix.actions),
        episodes=(np.arange(times)[:, None] * of_mix + mix.episodes).ravel(),
        corrupt=np.tile(mix.corrupt, times),
        successors=noisy(mix.successors),
    )


def measure(kind: str, pairs: int) -> Measured:
    """Audit so many pairs; called in a process that has done nothing else."""
    from robust_bc import audit
    from robust_bc_benchmarks.suites.mixes import Mixes

    mix = Mixes(None, EPISODES).mix(TASK, HOW, RATE, 0)[0]
    data = repeated(mix, pairs // len(mix))
    if kind == "single pairs":
        data = dataclasses.replace(data, episodes=np.arange(len(data)))
    assert data.corrupt is not None
    arrays = [getattr(data, field.name) for field in dataclasses.fields(data) if field.name != "action_space"]
    start = time.perf_counter()
    found = audit(data)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    size = sum(array.nbytes for array in arrays if array is not None) / 2**20
    return Measured(kind, len(data), seconds, peak, size, found.rate.value, float(data.corrupt.mean()))


def main() -> None:
    """Measure, print, and fail if something that is wanted was missed."""
    as_json = "--json" in sys.argv[1:]
    rows: list[Comparison] = []
    for kind in KINDS[1:] if "--single-pairs" in sys.argv[1:] else KINDS:
        found: list[Measured] = []
        for pairs in SIZES:
            with multiprocessing.get_context("spawn").Pool(1) as pool:  # a process would keep its peak for the next
                found.append(pool.apply(measure, (kind, pairs)))
            if not as_json:
                tell(found[-1])
        rows += compared(*found[-2:])
    title = f"make bench, audit of a {TASK} {HOW} mix, repeated with noise"
    if not report(title, rows, as_json):
        raise SystemExit(1)


def tell(one: Measured) -> None:
    """A line for an audit."""
    print(
        f"{one.pairs:9,} pairs ({one.kind}): {one.seconds:5.1f} s, {1e5 * one.seconds / one.pairs:5.1f} s per 100k"
        f" pairs; peak {one.peak:4.0f} MiB, of them demonstrations {one.data:.0f} MiB;"
        f" {one.rate:.1%} found corrupt of {one.true_rate:.1%}",
        flush=True,
    )


def compared(middle: Measured, large: Measured) -> list[Comparison]:
    """Time and memory of ten times the pairs."""
    sizes, name = f"{large.pairs:,} / {middle.pairs:,} pairs ({large.kind})", large.kind.replace(" ", "_")
    return [
        Comparison(
            f"audit_seconds_{name}",
            f"audit of {sizes}, time",
            f"{large.seconds:.1f} s / {middle.seconds:.1f} s",
            large.seconds / middle.seconds,
            (0.0, MOST),
        ),
        Comparison(
            f"audit_memory_{name}",
            f"audit of {sizes}, peak memory",
            f"{large.peak:.0f} MiB / {middle.peak:.0f} MiB",
            large.peak / middle.peak,
            (0.0, MOST),
        ),
    ]


if __name__ == "__main__":
    main()
