"""`robust-bc audit`: which demonstrations of a dataset are bad, as tables, files and one page."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.arguments import Device, command_line, parse
from robust_bc.cli.console import print_json, progress_bar, show
from robust_bc.cli.tables import print_table
from robust_bc.errors import RobustBCError
from robust_bc.methods import check_method, get_method
from robust_bc.seeding import check_seed

if TYPE_CHECKING:
    from robust_bc.auditing.results import Audit
    from robust_bc.auditing.truth import Truth
    from robust_bc.report import Table

SHOWN = 10
"""Episodes, or pairs, on the terminal; the page has more, and the files have all."""
REPORT = "report.html"


@dataclasses.dataclass(frozen=True)
class AuditArguments:
    """Say which demonstrations of a dataset are bad: every pair, episode and source gets a quality from 0 to 1.

    Writes audit.json, pairs.safetensors and report.html; `robust-bc filter` drops what the audit found.

    Example: robust-bc audit --dataset mine/mixed-v0 --out runs/audit
    """

    dataset: str
    """Minari dataset: its id, or its folder."""
    out: Path
    """Folder for the results; an audit that is there already is replaced."""
    method: str = "choicenet"
    """Method whose networks judge the pairs; `robust-bc methods` lists them."""
    seed: int = 0
    """The same seed gives the same audit."""
    device: Device = "auto"
    """Where to compute; auto takes CUDA, then MPS, then the CPU."""
    labels: bool = False
    """Also say how well the audit did, for a mix whose hidden labels tell which pairs are corrupt. The audit itself
    never reads them."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(parse(AuditArguments, "robust-bc audit", args), command_line("audit", args))


def execute(arguments: AuditArguments, command: str) -> None:
    """Check everything, audit, then write and print."""
    check_method(arguments.method)
    check_seed(arguments.seed)
    from robust_bc.auditing.audits import audit
    from robust_bc.auditing.page import audit_page
    from robust_bc.auditing.sources import read_sources
    from robust_bc.auditing.storage import FILES, describe
    from robust_bc.auditing.truth import compare
    from robust_bc.cli.audit_replays import audit_replay
    from robust_bc.data.minari_demonstrations import read_labels, read_minari
    from robust_bc.data.minari_files import open_minari
    from robust_bc.files import write_whole
    from robust_bc.report import write_page

    dataset = open_minari(arguments.dataset)
    demonstrations = read_minari(dataset)
    labels = read_labels(dataset, len(demonstrations)) if arguments.labels else None
    _check_judge(arguments, len(demonstrations))
    out = arguments.out
    write_whole(out / "command.txt", command + "\n")  # before the work: a folder that cannot be written is said at once
    with progress_bar(f"auditing {arguments.dataset}") as bar:
        found = audit(
            demonstrations,
            method=arguments.method,
            seed=arguments.seed,
            device=arguments.device,
            progress=bar,
            sources=read_sources(dataset, demonstrations.episodes),
            dataset=arguments.dataset,
        )
    truth = None if labels is None else compare(found, labels)
    found.save(out)
    write_page(out / REPORT, audit_page(found, _facts(found, command), truth, audit_replay(dataset, found)))
    written = [str(out / name) for name in (FILES.description_file, FILES.tensors_file, REPORT)]
    if arguments.json:
        about = {} if truth is None else {"truth": dataclasses.asdict(truth)}
        print_json({"command": command, **describe(found), **about, "files": written})
        return
    _print(found, truth)
    for path in written:
        show(path)


def _check_judge(arguments: AuditArguments, pairs: int) -> None:
    """What would stop the audit on its way is said before it begins, and in terms of the options that there are."""
    from robust_bc.auditing.audits import judging_settings
    from robust_bc.devices import resolve_device
    from robust_bc.gaussian_processes.method import GaussianProcessSettings

    resolve_device(arguments.device)
    settings = get_method(arguments.method).settings(judging_settings(arguments.method, {}))
    if isinstance(settings, GaussianProcessSettings) and pairs > settings.max_pairs:
        raise RobustBCError(
            f"method '{arguments.method}' learns from at most {settings.max_pairs} pairs, but '{arguments.dataset}' has"
            f" {pairs}, and a judge may have to learn from all of them; let another method judge, such as --method"
            " choicenet."
        )


def _facts(found: Audit, command: str) -> dict[str, str]:
    from datetime import datetime

    from robust_bc.benchmark.machine import machine

    about = machine()
    pairs = f"{len(found)} single pairs"
    if not found.single_pairs:
        pairs = f"{len(found)} in {len(found.grouping.names)} episodes"
    return {
        "command": command,
        "pairs": pairs,
        "judged by": f"{found.method}, seed {found.seed}",
        "machine": f"{about['processor']}, {about['cores']} cores",
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
    }


def _print(found: Audit, truth: Truth | None) -> None:
    from robust_bc.auditing.tables import episode_table, pair_table, source_table
    from robust_bc.auditing.wording import headline, truth_sentences

    show(headline(found))
    for sentence in [] if truth is None else truth_sentences(found, truth):
        show(sentence)
    if found.sources is not None:
        _print_table(source_table(found))
    table: Any = pair_table if found.single_pairs else episode_table
    _print_table(table(found, SHOWN))
    total = len(found.grouping.names)
    if total > SHOWN:
        show(f"the {SHOWN} worst of {total} {'pairs' if found.single_pairs else 'episodes'}; more are on the page:")


def _print_table(table: Table) -> None:
    rows = [[f"{cell.text} {cell.note}".strip() for cell in row] for row in table.rows]
    numbers = [column.name for column in table.columns if column.kind == "number"]
    print_table([column.name for column in table.columns], rows, numbers=numbers)
