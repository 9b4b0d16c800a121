"""`robust-bc audit`: which demonstrations of a dataset are bad, as a table, files and one page."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_bc.cli.arguments import command_line, parse
from robust_bc.cli.console import print_json, progress_bar, say, show
from robust_bc.cli.pipes import readers_may_leave
from robust_bc.cli.tables import print_table
from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import check_seed

if TYPE_CHECKING:
    from robust_bc.auditing.audit import Audit
    from robust_bc.auditing.truth import Truth
    from robust_bc.data.demonstrations import Demonstrations
    from robust_bc.data.minari_files import RecordedDataset

REPLAYS = "robust_bc.replays"
"""Entry points of this group are functions from a dataset and its audit to blocks of the page, such as films."""
EXIT_TOO_BAD = 1


@dataclasses.dataclass(frozen=True)
class AuditArguments:
    """Say which demonstrations of a dataset are bad, why, and what cannot be told.

    Writes audit.json, pairs.safetensors and report.html; `robust-bc filter` leaves out what is bad.

    Example: robust-bc audit --dataset mine/mixed-v0 --out runs/audit
    """

    dataset: str
    """Minari dataset: its id, or its folder."""
    out: Path
    """Folder for the results."""
    seed: int = 0
    """The same seed gives the same audit."""
    labels: bool = False
    """Also say how well the audit did, for a mix whose hidden labels tell which pairs are corrupt. The audit itself
    never reads them."""
    weights: Path | None = None
    """Also write `index` and `weight` of every pair into this file, .parquet or .csv; the weight is the probability of
    being clean, or 1 for all if the audit cannot tell."""
    fail_above: float | None = None
    """End with exit code 1 if more than this share of the pairs is bad, such as 0.1; all files are written first. If
    the audit cannot tell, only what the checks found counts."""
    cut: bool = False
    """In what to do next, also leave out single bad pairs of good episodes."""
    resume: bool = False
    """Go on with an audit of these pairs that was interrupted in this folder."""
    overwrite: bool = False
    """Replace a finished audit in this folder, and the file of --weights."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(parse(AuditArguments, "robust-bc audit", args), command_line("audit", args))


def execute(arguments: AuditArguments, command: str) -> None:
    """Check everything, audit, then write and print."""
    check_seed(arguments.seed)
    if arguments.fail_above is not None and not 0 <= arguments.fail_above <= 1:
        raise RobustBCError(f"--fail-above is a share between 0 and 1, but it is {arguments.fail_above}.")
    from robust_bc.auditing.resuming import Unfinished
    from robust_bc.auditing.showing.page import audit_page
    from robust_bc.auditing.storage import FILES, PAGE_FILE, describe, save_audit
    from robust_bc.auditing.weights import write_weights
    from robust_bc.data.demonstrations import Demonstrations
    from robust_bc.data.minari_files import open_minari
    from robust_bc.system.plugins import plugins

    dataset = open_minari(arguments.dataset)
    demonstrations = Demonstrations.from_minari(dataset)
    labels = _labels(dataset, len(demonstrations)) if arguments.labels else None
    _check_free(arguments)
    found = _audited(arguments, command, dataset, demonstrations)
    truth = None if labels is None else _compared(found, labels)
    out = arguments.out
    films = [block for entry in plugins(REPLAYS) for block in entry.load()(dataset, found)]
    page = audit_page(found, out, command, truth, films, arguments.cut)
    save_audit(found, out, page)
    Unfinished(out, "").forget()
    written = [str(out / name) for name in (PAGE_FILE, FILES.description_file, FILES.tensors_file)]
    if arguments.weights is not None:
        written.append(str(write_weights(found, arguments.weights)))
    with readers_may_leave():
        if arguments.json:
            kept = {"kept_pairs": int(found.keep(arguments.cut).sum()), "why_kept": found.why_kept(arguments.cut)}
            about = {} if truth is None else {"truth": dataclasses.asdict(truth)}
            print_json({"command": command, **describe(found), **kept, **about, "files": written})
        else:
            _print(found, truth, arguments)
            for path in written:
                show(path)
    _end_if_too_bad(found, arguments.fail_above)


def _labels(dataset: RecordedDataset, pairs: int) -> tuple[Any, Any]:
    from robust_bc.data.minari_demonstrations import read_labels, read_noise

    return read_labels(dataset, pairs), read_noise(dataset, pairs)


def _compared(found: Audit, labels: tuple[Any, Any]) -> Truth:
    from robust_bc.auditing.truth import compare

    return compare(found, *labels)


def _check_free(arguments: AuditArguments) -> None:
    """Nothing is overwritten unasked; what would stop the audit on its way is said before it begins."""
    from robust_bc.auditing.storage import FILES
    from robust_bc.auditing.weights import check_weights_path

    allowed = arguments.overwrite or arguments.resume
    if FILES.is_in(arguments.out) and not allowed:
        raise RobustBCError(f"'{arguments.out}' has a finished audit; take another folder, or --overwrite.")
    if arguments.weights is not None and check_weights_path(arguments.weights).exists() and not allowed:
        raise RobustBCError(f"'{arguments.weights}' is there already; take another file, or --overwrite.")


def _audited(
    arguments: AuditArguments, command: str, dataset: RecordedDataset, demonstrations: Demonstrations
) -> Audit:
    """The audit, computed, or as far as it was done before."""
    from robust_bc.auditing import resuming
    from robust_bc.auditing.sources import read_sources
    from robust_bc.auditing.storage import FILES
    from robust_bc.system.files import write_whole

    out, sources = arguments.out, read_sources(dataset, demonstrations.episodes)
    if arguments.resume and FILES.is_in(out) and not arguments.overwrite:
        done = resuming.finished_audit(out, demonstrations, arguments.seed)
        if done is None:
            raise RobustBCError(f"'{out}' has a finished audit of other pairs; take another folder, or --overwrite.")
        return done.about(arguments.dataset, sources)
    write_whole(out / "command.txt", command + "\n")  # before the work: a folder that cannot be written is said at once
    with progress_bar(f"auditing {arguments.dataset}") as bar:
        return resuming.audit_in_folder(
            demonstrations,
            out,
            seed=arguments.seed,
            resume=arguments.resume,
            progress=bar,
            sources=sources,
            dataset=arguments.dataset,
        )


def _end_if_too_bad(found: Audit, limit: float | None) -> None:
    """An audit that cannot tell fails nobody, but for what the checks found."""
    from robust_bc.auditing.showing.wording import percent

    bad = found.rate.value if found.undecided is None else found.rate.low
    if limit is not None and bad > limit:
        say(f"robust-bc: {percent(bad)} of the pairs are bad, and --fail-above allows {percent(limit)}.")
        raise SystemExit(EXIT_TOO_BAD)


def _print(found: Audit, truth: Truth | None, arguments: AuditArguments) -> None:
    from robust_bc.auditing.showing.tables import source_table
    from robust_bc.auditing.showing.wording import next_commands, truth_sentences

    for line in str(found).splitlines():
        show(line)
    if found.sources is not None:
        table = source_table(found)
        rows = [[f"{cell.text} {cell.note}".strip() for cell in row] for row in table.rows]
        names = [column.name for column in table.columns]
        print_table(names, rows, numbers=names[1:])
    show("")
    for sentence in [] if truth is None else truth_sentences(found, truth):
        show(sentence)
    sentence, commands = next_commands(found, arguments.out, arguments.cut)
    for line in (sentence, *(f"    {command}" for command in commands)):
        show(line)
