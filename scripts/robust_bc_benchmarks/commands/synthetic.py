"""`robust-bc benchmark synthetic`: the paper's synthetic tables and figures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from robust_bc.cli.arguments import Device, Names, Rates, not_empty, parse
from robust_bc.cli.console import OUTPUT, print_json, progress_bar, show
from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import check_seed

if TYPE_CHECKING:
    from robust_bc_benchmarks.rows import Row

COMMAND = "robust-bc benchmark synthetic"


@dataclass(frozen=True)
class SyntheticArguments:
    """Fit every method to the paper's one-dimensional functions under growing shares of outliers.

    Each cell is the RMSE against the clean function over all seeds; `oracle` is least squares on the clean pairs only.
    Writes benchmark.json, table.md, table.csv, fits.png and correlation.png.

    Example: robust-bc benchmark synthetic --functions cosexp --rates 0,0.4,0.8 --seeds 3
    """

    functions: Names = ("cosexp", "linear", "step")
    """Target functions, of cosexp, linear and step."""
    rates: Rates = (0.0, 0.2, 0.4, 0.6, 0.8)
    """Shares of outliers, at least 0 and below 1."""
    methods: Names = ("choicenet", "mdn", "mlp")
    """Methods to compare; `robust-bc methods` lists them, `all` and `neural` stand for many. trimmed+rate is trimmed
    with the true rate, which nobody knows outside of a benchmark; mlp+restarts keeps the best of five starts;
    mlp+clean learns from what an audit keeps."""
    seeds: int = 10
    """Number of seeds per cell; data and start of a fit come from its seed, the same for every method."""
    seed: int = 0
    """The first seed."""
    device: Device = "auto"
    """Where to compute; auto takes CUDA, then MPS, then the CPU."""
    out: Path = Path("runs/benchmark-synthetic")
    """Folder for tables and figures."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(parse(SyntheticArguments, COMMAND, args), shlex.join([*COMMAND.split(), *args]))


def execute(arguments: SyntheticArguments, command: str) -> None:
    """Check everything, fit everything, then write and print."""
    not_empty("functions", arguments.functions)
    not_empty("rates", arguments.rates)
    if arguments.seeds < 1:
        raise RobustBCError(f"--seeds must be at least 1, but it is {arguments.seeds}.")
    check_seed(arguments.seed)

    from robust_bc.report import code_as_markdown
    from robust_bc.system.files import write_json, write_whole
    from robust_bc_benchmarks.contenders import ORACLE, expand, settings_in_use
    from robust_bc_benchmarks.figures import correlation_figure, save_figure, synthetic_figure
    from robust_bc_benchmarks.rows import rows_as_csv, rows_as_json, rows_as_markdown
    from robust_bc_benchmarks.synthetic.correlation import curves_as_json, run_correlation
    from robust_bc_benchmarks.synthetic.running import SyntheticData, run_synthetic

    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    methods = expand(not_empty("methods", arguments.methods))
    data = SyntheticData.make(arguments.functions, arguments.rates, seeds)
    out = arguments.out
    write_whole(out / "command.txt", command + "\n")  # before the work: a folder that cannot be written is said at once
    stages = [*methods, ORACLE, "correlation"]
    with progress_bar("synthetic benchmark") as bar:

        def report(share: float, stage: str) -> None:
            bar((stages.index(stage) + share) / len(stages), stage)

        result = run_synthetic(data, methods, arguments.device, report)
        curves = run_correlation(seeds, arguments.device, report)
    rows = [*result.rows, *(row for curve in curves for row in curve.rows())]
    content = {
        "command": command,
        "method_settings": settings_in_use(methods),
        "rows": rows_as_json(rows),
        "correlation": curves_as_json(curves),
    }
    write_json(out / "benchmark.json", content)
    write_whole(out / "table.csv", rows_as_csv(rows))
    write_whole(out / "table.md", f"{code_as_markdown(command)}\n\n{rows_as_markdown(result.rows, 'rmse')}")
    save_figure(synthetic_figure(result), out / "fits.png")
    save_figure(correlation_figure(curves), out / "correlation.png")
    if arguments.json:
        print_json(content)
        return
    _print_tables(result.rows)
    for row in (row for row in rows if row.metric == "rho_2_max"):
        show(f"two mixtures, {row.how}: largest ρ₂ where corrupt {row.mean:.3f}, worst seed {row.worst:.3f}")
    for name in ("table.md", "benchmark.json", "fits.png", "correlation.png"):
        show(str(out / name))


def _print_tables(rows: Sequence[Row]) -> None:
    """One table per function, methods down and rates across."""
    from rich.table import Table

    for task in dict.fromkeys(row.task for row in rows):
        mine = [row for row in rows if row.task == task]
        table = Table(title=f"{task}: RMSE, mean (worst of {mine[0].n} seeds)", title_justify="left")
        table.add_column("method")
        for rate in dict.fromkeys(row.rate for row in mine):
            table.add_column(f"{rate:.0%}", justify="right")
        for method in dict.fromkeys(row.method for row in mine):
            cells = [f"{row.mean:.3f} ({row.worst:.3f})" for row in mine if row.method == method]
            table.add_row(method, *cells)
        OUTPUT.print(table)
