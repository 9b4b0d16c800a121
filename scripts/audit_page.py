"""Writes docs/audit.md, audit-driving.md and their figures from runs of the audit benchmark.

python scripts/audit_page.py [--pages audit audit-driving]    (also by `make docs`)

Finished cells in runs/ are kept: what was interrupted goes on, and what is finished is only written anew.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import tyro

from robust_bc.benchmark.audit_figure import audit_figure
from robust_bc.benchmark.audit_page import what_is_corrupt, who_looks
from robust_bc.benchmark.audit_tables import all_tables, tables_as_markdown
from robust_bc.benchmark.detectors import MLP_HIDDEN
from robust_bc.benchmark.figures import save_figure
from robust_bc.cli.arguments import parse
from robust_bc.cli.benchmark_audit import AuditBenchmarkArguments, Finished, complete, request
from robust_bc.files import write_whole

DOCS = Path("docs")
COMMAND = "robust-bc benchmark audit"
INTRODUCTION = """\
Which demonstrations are bad, and how many? Each mix has whole episodes of a good teacher and a share of corrupt pairs
(`robust-bc mix --pairs all`). Every detector gets the same states, actions, next states and episode numbers; nobody is
told which pairs are corrupt, how many there are, or where clean ones are to be had. Its score for every pair is then
compared with the truth. **AUROC** is the probability that a corrupt pair is more suspect than a clean one: 1 is
perfect, 0.5 is chance. **Average precision** is the mean share of corrupt pairs among the most suspect ones. A cell is
`mean [95 % interval over seeds, worst seed]`; the best mean is bold. Some settings of the audit were found with labels
of these tasks.
"""
TRAINING = """
**Filter, then train.** The audit's suspects are dropped as `robust-bc filter --above 0.5` does: whole episodes whose
mean quality is not above one half, and the bad pairs of those that are partly bad (below 0.9). A plain
MLP ({width} units, otherwise the defaults of `robust-bc train --method mlp`) learns from the rest, and is measured in
{rollouts} episodes beside the same MLP on everything and the **oracle**, which learns from the clean pairs only. A
share is that of the oracle's return, where random actions count as nothing.
"""


@dataclass(frozen=True)
class AuditPage:
    """A page of docs/ that is made of one run."""

    title: str
    options: str


PAGES = {
    "audit": AuditPage("The audit: finding bad demonstrations", "--tasks halfcheetah,walker2d --train 0.3"),
    "audit-driving": AuditPage("The audit on the road", "--tasks lane-driving --seeds 3 --out runs/audit-driving"),
}
PageName = Literal["audit", "audit-driving"]


def main(pages: tuple[PageName, ...] = get_args(PageName)) -> None:
    """Run, or go on; then write."""
    for name in pages:
        page = PAGES[name]
        command = f"{COMMAND} {page.options}"
        finished = complete(request(parse(AuditBenchmarkArguments, COMMAND, shlex.split(page.options)), command))
        write_whole(DOCS / f"{name}.md", _text(name, page, finished, command))
        save_figure(audit_figure(finished.results, finished.rows), DOCS / f"{name}.png")
        print(f"wrote {DOCS / name}.md and its figure")


def _text(name: str, page: AuditPage, finished: Finished, command: str) -> str:
    content, plan = finished.content, finished.results.plan
    made = f"python scripts/audit_page.py --pages {name}"
    named = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    parts = [
        f"# {page.title}\n\nWritten by `{made}` from this run:",
        f"    {command}    # {finished.page.facts['date']}",
        f"on {content['machine']['processor']}, {content['machine']['cores']} cores, {named}.",
        INTRODUCTION,
        "\n".join(f"- {sentence}" for sentence in (*who_looks(plan.detectors), *what_is_corrupt(plan))),
    ]
    if plan.train:
        parts.append(TRAINING.format(width=" and ".join(map(str, MLP_HIDDEN)), rollouts=plan.rollouts))
    parts += ["## What was found", "\n".join(f"- {sentence}" for sentence in content["headlines"])]
    parts.append(
        f"![Estimated against true rates, and AUROC of every detector]({name}.png)\n\nAbove, every mix is a point; the"
        " line is where estimate and truth are the same, the grey band 5 points to either side. Below, means and their"
        " 95 % intervals over seeds."
    )
    for task in plan.tasks:
        tables = all_tables(finished.rows, finished.rates, task, plan.detectors)
        parts.append(f"## {task}\n\n`{command}`\n\n{tables_as_markdown(tables)}")
    if failures := content["failures"]:
        parts.append("## What failed\n\n" + "\n".join(f"- {failure}" for failure in failures))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


if __name__ == "__main__":
    tyro.cli(main)
