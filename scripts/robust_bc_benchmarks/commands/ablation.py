"""`robust-bc benchmark ablation`: what each part of ChoiceNet is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from robust_bc.cli.arguments import Device, command_line, parse
from robust_bc.cli.console import print_json, progress_bar, show
from robust_bc.cli.tables import print_table
from robust_bc.system.seeding import check_seed
from robust_bc_benchmarks.commands.control_arguments import first_to_last

COMMAND = "benchmark ablation"
QUICK_SEEDS, SEEDS = 2, 5


@dataclass(frozen=True)
class AblationArguments:
    """Change one setting of ChoiceNet at a time and compare with its defaults.

    λ_KL, τ⁻¹ and how it falls, K, λ_L2 and its schedule, σ_Z, tanh or sigmoid, ρ_1, no ρ at all, on the synthetic
    functions and on random teachers. Seeds are paired, and a variant is better or worse where the interval of its
    difference to the defaults leaves out zero; with fewer than 5 seeds nothing is said. Each suite is a table of its
    own. Writes benchmark.json, table.md, table.csv and one figure per suite.

    Example: robust-bc benchmark ablation --quick
    """

    seeds: int | None = None
    """Number of seeds per cell; data and start of a fit come from its seed, the same for every variant. Without, 5."""
    seed: int = 0
    """The first seed."""
    device: Device = "auto"
    """Where to compute; auto takes CUDA, then MPS, then the CPU."""
    out: Path | None = None
    """Folder for tables and figures; without, runs/benchmark-ablation."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""
    quick: bool = False
    """Only one column of each suite and 2 seeds, unless said otherwise; still many minutes on one core."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(parse(AblationArguments, f"robust-bc {COMMAND}", args), command_line(COMMAND, args))


def execute(arguments: AblationArguments, command: str) -> None:
    """Check everything, fit everything, then write and print."""
    default_seeds = QUICK_SEEDS if arguments.quick else SEEDS
    seeds = first_to_last(check_seed(arguments.seed), default_seeds if arguments.seeds is None else arguments.seeds)
    out = arguments.out or Path("runs/benchmark-ablation" + "-quick" * arguments.quick)

    from robust_bc.report import code_as_markdown
    from robust_bc.system.files import write_json, write_whole
    from robust_bc.system.machine import machine, versions
    from robust_bc_benchmarks.ablation.running import QUICK_SUITES, SUITES, run_ablation
    from robust_bc_benchmarks.ablation.tables import ablation_figure, ablation_markdown, standings, standings_markdown
    from robust_bc_benchmarks.ablation.variants import VARIANTS, settings_of_variants
    from robust_bc_benchmarks.figures import save_figure
    from robust_bc_benchmarks.rows import rows_as_csv, rows_as_json

    suites = QUICK_SUITES if arguments.quick else SUITES
    write_whole(out / "command.txt", command + "\n")  # before the work: a folder that cannot be written is said at once
    found = {}
    with progress_bar("ablation") as bar:
        for number, (name, columns) in enumerate(suites.items()):

            def report(share: float, note: str, number: int = number, name: str = name) -> None:
                bar((number + share) / len(suites), f"{name}: {note}")

            found[name] = run_ablation(VARIANTS, columns, seeds, arguments.device, report)
    standing = {name: standings(rows) for name, rows in found.items()}
    everything = [row for rows in found.values() for row in rows]
    content = {
        "command": command,
        "variants": {variant.label: {"method": variant.method, **variant.settings} for variant in VARIANTS},
        "method_settings": settings_of_variants(VARIANTS),
        "rows": rows_as_json(everything),
        "standings": {name: [asdict(line) for line in lines] for name, lines in standing.items()},
        "machine": machine(),
        "versions": versions(),
    }
    write_json(out / "benchmark.json", content)
    write_whole(out / "table.csv", rows_as_csv(everything))
    tables = [f"**{name}**\n\n{ablation_markdown(rows)}" for name, rows in found.items()]
    write_whole(out / "table.md", "\n".join([f"{code_as_markdown(command)}\n", standings_markdown(standing), *tables]))
    figures = {name: f"{name.replace(' ', '-')}.png" for name in found}
    for name, rows in found.items():
        save_figure(ablation_figure(rows), out / figures[name])
    if arguments.json:
        print_json(content)
        return
    show(
        f"error as a multiple of the defaults' (geometric mean), and columns beyond the interval of {len(seeds)} seeds"
    )
    for name, lines in standing.items():
        head = [name, "error / defaults'", "better", "worse", "columns"]
        cells = [
            [line.label, f"{line.ratio:.2f}", str(line.better), str(line.worse), str(len(suites[name]))]
            for line in lines
        ]
        print_table(head, cells, numbers=head[1:])
    for path in ("table.md", "benchmark.json", *figures.values()):
        show(str(out / path))
