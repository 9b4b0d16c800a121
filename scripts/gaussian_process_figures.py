"""Writes docs/gaussian-processes.png: how far `lgpr` and `rgpr` trust each pair of cosexp with 20 % outliers.

python scripts/gaussian_process_figures.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from robust_bc import fit
from robust_bc_benchmarks.figures import save_figure
from robust_bc_benchmarks.pair_trust import add_colour_bar, draw_pair_trust
from robust_bc_benchmarks.synthetic.functions import get_function, uniform_outliers

OUT = Path("docs/gaussian-processes.png")
METHODS, RATE, SEED = ("lgpr", "rgpr"), 0.2, 0


def main() -> None:
    """Fit both, draw both."""
    pairs = uniform_outliers(get_function("cosexp"), RATE, SEED)
    figure = Figure(figsize=(10.4, 4.2), layout="constrained")
    axes = figure.subplots(1, len(METHODS), sharey=True)
    for axis, method in zip(axes, METHODS, strict=True):
        draw_pair_trust(axis, fit(pairs, method, seed=SEED, device="cpu"), pairs)
    add_colour_bar(figure, list(axes))
    save_figure(figure, OUT)
    print(f"wrote {OUT}")


if __name__ == "__main__":
    main()
