"""Writes docs/defaults.md: what each default is worth, on the synthetic functions and on random teachers.

python scripts/defaults_page.py [--seeds 5]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tyro

from robust_bc import Demonstrations, fit_fleet
from robust_bc.benchmark.functions import FUNCTIONS, grid, root_mean_square_error, uniform_outliers
from robust_bc.benchmark.teachers import HOWS, make_teacher_task
from robust_bc.files import write_whole

# Every line changes one thing. "mlp" and "mdn" are there to show what stopping does for them.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "choicenet, defaults": ("choicenet", {}),
    "early stopping": ("choicenet", {"early_stopping": True}),
    "restarts=4": ("choicenet", {"restarts": 4}),
    "λ_L2 = 0": ("choicenet", {"l2_weight": 0.0}),
    "λ_L2 = 1 falling over half of training": ("choicenet", {"l2_weight": 1.0, "l2_anneal": 0.5}),
    "λ_L2 = 0.1 constant": ("choicenet", {"l2_weight_end": 0.1}),
    "λ_KL = 0.1": ("choicenet", {"kl_weight": 0.1}),
    "λ_KL = 1": ("choicenet", {"kl_weight": 1.0}),
    "τ⁻¹ = 0.003": ("choicenet", {"tau_inverse": 3e-3}),
    "τ⁻¹ falling over 300 passes": ("choicenet", {"tau_passes": 300.0}),
    "τ⁻¹ not annealed": ("choicenet", {"tau_passes": 0.0}),
    "σ_Z² = 1/e": ("choicenet", {"sigma_z": float(np.exp(-0.5))}),
    "noise=local": ("choicenet", {"noise": "local"}),
    "noise=shared": ("choicenet", {"noise": "shared"}),
    "K = 2": ("choicenet", {"mixtures": 2}),
    "action_scaling=robust": ("choicenet", {"action_scaling": "robust"}),
    "mlp": ("mlp", {}),
    "mlp, early stopping": ("mlp", {"early_stopping": True}),
    "mdn": ("mdn", {}),
    "mdn, early stopping": ("mdn", {"early_stopping": True}),
    "oracle (mlp on clean pairs)": ("oracle", {}),
    "oracle, early stopping": ("oracle", {"early_stopping": True}),
}
RATES = (0.0, 0.6, 0.8)
TEACHER_RATES = (0.0, 0.3, 0.4)

INTRODUCTION = """# What the defaults are worth

Written by `{command}`. Every line changes one setting; every cell is
the mean over {seeds} paired seeds, and in brackets the worst seed.

How the defaults of ChoiceNet were found: by hand, on the three synthetic functions with seeds 0 to 19, looking at the
error against the clean function, as the paper did. No clean pair is used by any fit, but the *settings* have seen
these functions. The random teachers of the second table were made afterwards; the two switches below were chosen with
teachers of other seeds in sight. τ⁻¹ and the passes over which it falls were chosen last and elsewhere, on HalfCheetah
and on driving, looking at returns and collisions. 300 passes are all that 60 % of training allows: about 150 for the
functions, all 300 for the teachers.

**Early stopping is off by default.** On held-out corrupt pairs it makes ChoiceNet clearly worse on the teachers;
it makes least squares a little better under corruption and a little worse without, and the MDN better in some cells
and worse in others. **One start is the default**: no single start of these tables fails with the defaults, and on the
teachers holding pairs out costs more than choosing among starts brings. **Robust action scaling is off**: where most
actions sit on one value (`step` at 0 %), their median absolute deviation is next to nothing and the others are scaled
out of reach.
"""


def main(seeds: int = 5, out: Path = Path("docs/defaults.md")) -> None:
    """Fit all variants and write the page."""
    text = [INTRODUCTION.format(command=f"python scripts/defaults_page.py --seeds {seeds}", seeds=seeds)]
    text += ["## Synthetic functions: RMSE against the function\n", *_table(_synthetic(seeds))]
    text += ["\n## Random teachers, 500 pairs: RMSE in units of the teacher's deviation\n", *_table(_teachers(seeds))]
    write_whole(out, "\n".join(text) + "\n")
    print(f"wrote {out}")


Errors = dict[str, dict[str, list[float]]]  # variant -> column -> one error per seed


def _synthetic(seeds: int) -> Errors:
    cells = [(name, rate, seed) for name in FUNCTIONS for rate in RATES for seed in range(seeds)]
    data = [uniform_outliers(FUNCTIONS[name], rate, seed) for name, rate, seed in cells]
    inputs = grid()
    found: Errors = {}
    for label in VARIANTS:
        columns = found.setdefault(label, {})
        for (name, rate, _), policy in zip(cells, _fit(label, data, [c[2] for c in cells]), strict=True):
            error = root_mean_square_error(policy.predict(inputs)[0], FUNCTIONS[name], inputs)
            columns.setdefault(f"{name} {rate:.0%}", []).append(error)
    return found


def _teachers(seeds: int) -> Errors:
    cells = [(how, rate, seed) for how in HOWS for rate in TEACHER_RATES for seed in range(seeds)]
    cells = [cell for cell in cells if cell[1] > 0 or cell[0] == HOWS[0]]  # clean data are the same for every how
    tasks = [make_teacher_task(*cell) for cell in cells]
    found: Errors = {}
    for label in VARIANTS:
        columns = found.setdefault(label, {})
        policies = _fit(label, [task.demonstrations for task in tasks], [c[2] for c in cells])
        for (how, rate, _), task, policy in zip(cells, tasks, policies, strict=True):
            columns.setdefault(f"{how} {rate:.0%}" if rate else "clean", []).append(task.error(policy))
    return found


def _fit(label: str, data: list[Demonstrations], seeds: list[int]) -> Any:
    method, settings = VARIANTS[label]
    print(f"fitting {len(data)} x {label}", flush=True)
    if method == "oracle":
        return fit_fleet([pairs.clean() for pairs in data], "mlp", seeds=seeds, **settings)
    return fit_fleet(data, method, seeds=seeds, **settings)


def _table(errors: Errors) -> list[str]:
    columns = list(next(iter(errors.values())))
    lines = ["| variant | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for label, cells in errors.items():
        shown = [f"{np.mean(cells[column]):.3f} ({max(cells[column]):.3f})" for column in columns]
        lines.append(f"| {label} | " + " | ".join(shown) + " |")
    return lines


if __name__ == "__main__":
    tyro.cli(main)
