"""Draws docs/correlation.png: what ρ of a second mixture says where outputs are mirrored, and where they are random.

python scripts/correlation_figure.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from robust_bc.training.fitting import fit_fleet
from robust_bc_benchmarks.showing.drawing import save
from robust_bc_benchmarks.suites.functions import CORRUPT_REGION, FUNCTIONS, REGION_FLIP, REGION_UNIFORM, corrupt_region

SEEDS = range(10)
CLEAN, CORRUPT, TARGET = "#555555", "#D55E00", "#0072B2"


def main(path: Path = Path("docs/correlation.png")) -> None:
    """Fit two mixtures to both kinds of corruption, and draw them."""
    function, inputs = FUNCTIONS["cosexp"], np.linspace(-3, 3, 601)[:, None]
    figure = Figure(figsize=(10.4, 6.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for column, kind in enumerate((REGION_FLIP, REGION_UNIFORM)):
        mixes = [corrupt_region(function, kind, 0.5, seed) for seed in SEEDS]
        policies = fit_fleet(mixes, "choicenet", seeds=SEEDS, device="cpu", mixtures=2, rivals=0, gate="state")
        above, below = axes[:, column]
        corrupt = mixes[0].corrupt
        assert corrupt is not None
        for label, mine, colour in (("good pairs", ~corrupt, CLEAN), ("bad pairs", corrupt, CORRUPT)):
            above.scatter(mixes[0].observations[mine], mixes[0].actions[mine], s=5, color=colour, lw=0, label=label)
        above.plot(inputs, policies[0].predict(inputs)[0], color=TARGET, label="ChoiceNet, K = 2")
        above.plot(inputs, function.formula(inputs), "--", color="black", lw=1, label="target")
        above.set(title=f"{kind}: half of the outputs on 0 to 2", ylabel="y")
        below.axvspan(*CORRUPT_REGION, color=CORRUPT, alpha=0.12, lw=0)
        below.axhline(1, color=TARGET, label="ρ₁ (target)")
        for seed, policy in enumerate(policies):
            rho = policy.mixture(inputs).correlations
            assert rho is not None
            below.plot(inputs, rho[0, :, 1], color=CORRUPT, alpha=0.7, lw=1, label="ρ₂, a line each seed" * (seed == 0))
        below.set(xlabel="x", ylabel="correlation with the target", ylim=(-1.08, 1.08))
        for axis in (above, below):
            axis.legend(frameon=False, fontsize="small")
            axis.spines[["top", "right"]].set_visible(False)
    save(figure, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
