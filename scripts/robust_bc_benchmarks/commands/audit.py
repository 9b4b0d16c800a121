"""`robust-bc benchmark audit`: how well the audit finds bad episodes, beside its parts and simple detectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from robust_bc.cli.arguments import Names, Rates, command_line, not_empty, parse
from robust_bc.cli.console import print_json, show
from robust_bc.cli.tables import print_table
from robust_bc.errors import RobustBCError
from robust_bc_benchmarks.commands.running import TABLE, Request, as_records, compute, first_to_last, known

if TYPE_CHECKING:
    import pandas

COMMAND = "benchmark audit"
GROUPS = ("development", "test")
EPISODES = 20
MORE_EPISODES = {"reacher": 40, "lane-driving": 40}
"""Where episodes are short."""


@dataclass(frozen=True)
class AuditBenchmarkArguments:
    """Ask the audit, its parts and simple detectors which episodes of a mix are bad, and compare with the truth.

    results.csv in the folder has one row for each number: task, kind, rate, method, seed, metric, value; the methods
    are detectors. Every finished cell is kept: an interrupted benchmark goes on where it stopped, and a new detector,
    rate or seed computes only its own cells.

    Example: robust-bc benchmark audit --tasks pendulum --kinds clean,flip --rates 0.3 --seeds 2 --detectors audit
    """

    tasks: Names = GROUPS
    """Tasks by name; `development` and `test` stand for those that settings were chosen on, and for the others."""
    kinds: Names | None = None
    """Kinds of corruption (`robust-bc mix --help` tells what they are), and `clean`; without, all."""
    rates: Rates = (0.1, 0.3, 0.45)
    """Shares of bad pairs, above 0 and below 1."""
    seeds: int = 10
    """Number of seeds; a mix and every random choice of a detector come from its seed."""
    seed: int = 0
    """The first seed."""
    episodes: int | None = None
    """Episodes of a mix; without, 20, and 40 of reacher and lane-driving."""
    steps: int = 300
    """At most so many steps of each episode."""
    pairs: int | None = None
    """So many single pairs in place of whole episodes, as in the paper; some kinds exist in whole episodes only."""
    detectors: Names | None = None
    """audit, agreement, policies, conflict, checks, neighbours, isolation, loss; without, all."""
    returns: bool = False
    """Also fit policies to everything, to what the audit keeps and to the good pairs, and measure their returns."""
    jobs: int = 1
    """Processes."""
    out: Path = Path("runs/benchmark-audit")
    """Folder for the cells and the table."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    given = parse(AuditBenchmarkArguments, f"robust-bc {COMMAND}", args)
    asked = request(given, command_line(COMMAND, args))
    results, about, _ = compute(asked)
    table = results.table()
    if given.json:
        print_json({**about, "results": as_records(table)})
        return
    _print(table)
    show(str(given.out / TABLE))


def request(given: AuditBenchmarkArguments, command: str) -> Request:
    """The benchmark that these arguments mean, checked."""
    from robust_bc_benchmarks.core.plan import CLEAN, Plan
    from robust_bc_benchmarks.suites.auditing import AuditSuite
    from robust_bc_benchmarks.suites.detectors import DETECTORS
    from robust_bc_benchmarks.suites.mixes import Mixes
    from robust_bc_demos.mixing.pairs import KINDS
    from robust_bc_envs.tasks import CARDS

    counts = {"episodes": given.episodes, "steps": given.steps, "pairs": given.pairs, "jobs": given.jobs}
    for name, value in counts.items():
        if value is not None and value < 1:
            raise RobustBCError(f"--{name} must be at least 1, but it is {value}.")
    chosen = known("task", given.tasks, (*CARDS, *GROUPS))
    tasks = [name for name, card in CARDS.items() if {name, GROUPS[not card.development]} & set(chosen)]
    kinds = (CLEAN, *KINDS)
    plan = Plan(
        tasks=tuple(tasks),
        kinds=kinds if given.kinds is None else known("kind of corruption", given.kinds, kinds),
        rates=given.rates,
        methods=tuple(DETECTORS) if given.detectors is None else not_empty("detectors", given.detectors),
        seeds=first_to_last(given.seed, given.seeds),
    )
    if given.pairs is not None:
        mixes = Mixes(given.pairs, given.episodes)
    else:
        more = MORE_EPISODES if given.episodes is None else {}
        mixes = Mixes(None, given.episodes or EPISODES, more, given.steps)
    suite = AuditSuite(plan, given.returns, mixes)
    return Request("audit benchmark", command, suite, given.out, given.jobs, given.json)


def _print(table: pandas.DataFrame) -> None:
    """Mean AUROC of every detector by task."""
    found = table[table.metric == "auroc"]
    if found.empty:
        return
    means = found.pivot_table(index="task", columns="method", values="value", sort=False)
    rows = [
        [str(task), *(f"{value:.3f}" for value in row)] for task, row in zip(means.index, means.values, strict=True)
    ]
    show("mean AUROC of episodes")
    print_table(["task", *means.columns], rows, list(means.columns))
