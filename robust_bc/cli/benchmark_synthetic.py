"""`robust-bc benchmark synthetic`: the paper's synthetic tables and figures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from robust_bc.cli.arguments import Device, Names, Rates, not_empty
from robust_bc.cli.console import OUTPUT, print_json, progress_bar
from robust_bc.errors import RobustBCError
from robust_bc.methods import check_method

if TYPE_CHECKING:
    from robust_bc.benchmark.rows import Row

_command = "robust-bc benchmark synthetic"


def synthetic(
    functions: Names = ("cosexp", "linear", "step"),
    rates: Rates = (0.0, 0.2, 0.4, 0.6, 0.8),
    methods: Names = ("choicenet", "mdn", "mlp"),
    seeds: int = 10,
    seed: int = 0,
    device: Device = "auto",
    out: Path = Path("runs/benchmark-synthetic"),
    json: bool = False,
) -> None:
    """Fit every method to the paper's one-dimensional functions under growing shares of outliers.

    Each cell is the RMSE against the clean function over all seeds; `oracle` is least squares on the clean pairs only.
    Writes benchmark.json, table.md, table.csv, fits.png and correlation.png.

    Example: robust-bc benchmark synthetic --functions cosexp --rates 0,0.4,0.8 --seeds 3

    Args:
        functions: Target functions, of cosexp, linear and step.
        rates: Shares of outliers, at least 0 and below 1.
        methods: Methods to compare; `robust-bc methods` lists them.
        seeds: Number of seeds per cell; data and start of a fit come from its seed, the same for every method.
        seed: The first seed.
        device: Where to compute; auto takes CUDA, then MPS, then the CPU.
        out: Folder for tables and figures.
        json: Print one JSON object on standard output and nothing else.
    """
    from robust_bc.benchmark.correlation import curves_as_json, run_correlation
    from robust_bc.benchmark.figures import correlation_figure, save_figure, synthetic_figure
    from robust_bc.benchmark.rows import rows_as_csv, rows_as_json, rows_as_markdown
    from robust_bc.benchmark.synthetic import run_synthetic
    from robust_bc.files import write_json, write_whole

    for name in not_empty("methods", methods):
        check_method(name)
    if seeds < 1:
        raise RobustBCError(f"--seeds must be at least 1, but it is {seeds}.")
    chosen = range(seed, seed + seeds)
    with progress_bar("synthetic benchmark") as bar:
        result = run_synthetic(
            not_empty("functions", functions), not_empty("rates", rates), methods, chosen, device, bar
        )
        curves = run_correlation(chosen, device, bar)
    rows = [*result.rows, *(row for curve in curves for row in curve.rows())]
    content = {"command": _command, "rows": rows_as_json(rows), "correlation": curves_as_json(curves)}
    write_json(out / "benchmark.json", content)
    write_whole(out / "table.csv", rows_as_csv(rows))
    write_whole(out / "table.md", f"`{_command}`\n\n{rows_as_markdown(result.rows, 'rmse')}")
    save_figure(synthetic_figure(result), out / "fits.png")
    save_figure(correlation_figure(curves), out / "correlation.png")
    if json:
        print_json(content)
        return
    _print_tables(result.rows)
    for row in (row for curve in curves for row in curve.rows() if row.metric == "rho_2_max"):
        OUTPUT.print(
            f"two mixtures, {row.how}: largest ρ₂ over the corrupt region {row.mean:.3f} (worst seed {row.worst:.3f})",
            highlight=False,
        )
    for name in ("table.md", "benchmark.json", "fits.png", "correlation.png"):
        OUTPUT.print(f"{out / name}", highlight=False, soft_wrap=True)


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


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    global _command
    _command = shlex.join(["robust-bc", "benchmark", "synthetic", *args])
    tyro.cli(synthetic, prog="robust-bc benchmark synthetic", args=args)
