"""Writes docs/housing.md and its figure from a full run of the housing benchmark and of the choice of its budget.

python scripts/housing_page.py

A finished run of the same command in runs/docs is kept; delete its folder to run it anew.
"""

from __future__ import annotations

import platform
from datetime import date
from pathlib import Path
from typing import Any

import torch

from robust_bc.system.files import write_whole
from robust_bc_benchmarks.commands.run_once import run_once
from robust_bc_benchmarks.contenders import ALL, expand, fair, settings_in_use
from robust_bc_benchmarks.housing.settings import (
    CHOSEN,
    JUDGES,
    SEEDS,
    SETTINGS,
    HeldOutErrors,
    best_candidate,
    judge_candidates,
    mean_error,
)

COMMAND = "robust-bc benchmark housing --seeds 10"
DOCS, RUNS = Path("docs"), Path("runs/docs/housing")
Rows = dict[tuple[float, str], dict[str, Any]]


def main() -> None:
    """Choose, run, write; the page says so if the choice is no longer the one in the code."""
    judged = judge_candidates(say=print)
    result = run_once(COMMAND, RUNS, settings_in_use(expand([ALL]), SETTINGS))
    rows: Rows = {(row["rate"], row["method"]): row for row in result["rows"]}
    table = (RUNS / "table.md").read_text().split("\n\n", 1)[1]
    page = f"""# Boston housing

Written by `python scripts/housing_page.py` on {date.today():%d %B %Y}: Python {platform.python_version()}, torch
{torch.__version__}. The table comes from

    {COMMAND}

506 districts of 13 numbers and a price in 1000 $. For each seed 20 % are a clean test split; of the prices of the
other 405 districts a share is replaced by uniform draws over the range of the training prices. All methods see the
same pairs. The oracle is `mlp` on the right prices only. The paper's rows are copied from it; it does not say how it
split the data. Its RL and LeakyRL are Tukey's loss (`tukey`) and its leaky version (`leaky-tukey`). `+rate` is told the
true share of wrong prices, which nobody knows outside of a benchmark.

{table}
![errors of all methods by share of wrong prices](housing.png)

{_against_paper(rows, result["paper"]["ChoiceNet"])}

{_ahead(rows)}

## The budget

With the defaults, 2,000 steps, every network sees each of the 405 pairs about 630 times and learns wrong prices by
heart. So all networks got the same other budget. Candidates were fitted to 80 % of the training pairs of seeds
{SEEDS[0]} to {SEEDS[-1]} and judged by the mean absolute error on the other 20 %, corrupt as they are, over all rates:
the smallest mean of {", ".join(JUDGES)} wins. Neither a test split nor a label of what is corrupt has a part in that
rule, and the seeds of the table above are others (of the same 506 districts). The list of candidates grew twice:
after a first look at five of these seeds by the same measure, which had printed their test errors beside it, and by
weight decay 3, because 1 was the largest. A trial of the command had shown `choicenet` and `mlp` on seeds 0 and 1 of
the table before the choice was final.

The budget was "600 steps, weight decay 1" when the table was first made. Weight decay 3 was already ahead by the rule
then, and was not put to use; it is now. So this change was made with the first table's test errors in sight, though
not by them; that table is in `git show 7db481b:docs/housing.md`. On the test splits the change is no clear gain.
ChoiceNet went from 3.82/3.91/4.01/4.10/4.34 to 3.88/3.97/4.04/4.06/4.28, and the oracle, `trimmed`, `co-teaching`,
`bcnd` and `median-of-means` got worse at every rate. The rule asks only the paper's three networks, and fewer methods
are ahead of ChoiceNet than before partly because this budget suits them less. 3 is again the largest weight decay on
the list: a larger one was not tried.

{_choice(judged)}
"""
    write_whole(DOCS / "housing.md", page)
    write_whole(DOCS / "housing.png", (RUNS / "errors.png").read_bytes())
    print(f"wrote {DOCS / 'housing.md'}")


def _against_paper(rows: Rows, paper: dict[str, float]) -> str:
    """ChoiceNet here and there, and where it is not better here."""
    rates = [rate for rate in dict.fromkeys(rate for rate, _ in rows) if str(rate) in paper]
    lines = [
        "| ChoiceNet | " + " | ".join(f"{rate:.0%}" for rate in rates) + " |",
        "| --- |" + " --- |" * len(rates),
        "| here | " + " | ".join(f"{rows[rate, 'choicenet']['mean']:.3f}" for rate in rates) + " |",
        "| in the paper | " + " | ".join(f"{paper[str(rate)]:.2f}" for rate in rates) + " |",
    ]
    missed = [f"{rate:.0%}" for rate in rates if rows[rate, "choicenet"]["mean"] > paper[str(rate)]]
    lines += ["", f"Its error here is larger than the paper's at: {', '.join(missed) or 'no rate'}."]
    return "\n".join(lines)


def _ahead(rows: Rows) -> str:
    """Who has a smaller mean than ChoiceNet at each rate, the oracle aside."""
    said = []
    for rate in dict.fromkeys(rate for rate, _ in rows):
        limit = rows[rate, "choicenet"]["mean"]
        ahead = [m for (at, m), row in rows.items() if at == rate and m != "oracle" and fair(m) and row["mean"] < limit]
        said.append(f"- {rate:.0%}: {', '.join(ahead) or 'nobody'}")
    return "Methods whose mean error is smaller than ChoiceNet's:\n\n" + "\n".join(said)


def _choice(judged: HeldOutErrors) -> str:
    """The candidates, and whether the best of them is the one in use."""
    lines = ["| candidate | " + " | ".join(JUDGES) + " | mean |", "| --- |" + " --- |" * (len(JUDGES) + 1)]
    for label, errors in judged.items():
        shown = " | ".join(f"{errors[method]:.3f}" for method in JUDGES)
        lines.append(f"| {label} | {shown} | {mean_error(errors):.3f} |")
    best = best_candidate(judged)
    lines += ["", f"In use: {CHOSEN}. Smallest mean: {best}."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
