"""`robust-bc filter`: a new dataset without what an audit found to be bad."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robust_bc.cli.arguments import command_line, parse
from robust_bc.cli.console import print_json, show
from robust_bc.cli.tables import print_table

if TYPE_CHECKING:
    from robust_bc_demos.filtering import Filtered

SHOWN = 10
"""Episodes in the table of what was left out."""


@dataclasses.dataclass(frozen=True)
class FilterArguments:
    """Leave out the bad episodes that `robust-bc audit` found, and write the others as a new Minari dataset.

    If the audit cannot tell, or if half of the pairs or more would go, everything is kept. What is known of the
    episodes that stay, and who made them, goes along.

    Example: robust-bc filter --dataset mine/mixed-v0 --audit runs/audit --out mine/clean-v0
    """

    dataset: str
    """Minari dataset that was audited: its id, or its folder. It stays as it is."""
    audit: Path
    """Folder of its audit."""
    out: str
    """Id of the new Minari dataset, such as mine/clean-v0."""
    cut: bool = False
    """Also leave out single bad pairs of other episodes; an episode that loses some in its middle falls into pieces."""
    overwrite: bool = False
    """Replace a dataset of that id."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    arguments = parse(FilterArguments, "robust-bc filter", args)
    from robust_bc.auditing.audit import load_audit
    from robust_bc_demos.filtering import filter_dataset

    done = filter_dataset(
        arguments.dataset,
        load_audit(arguments.audit),
        arguments.out,
        cut=arguments.cut,
        overwrite=arguments.overwrite,
        command=command_line("filter", args),
    )
    if arguments.json:
        print_json(
            {
                "dataset": arguments.out,
                "folder": str(done.folder),
                "episodes": done.pieces,
                "pairs": int(done.kept.sum()),
                "dropped_episodes": sum(source.dropped_episodes for source in done.sources),
                "cut_episodes": done.cut_episodes,
                "dropped_pairs": int((~done.kept).sum()),
                "why_kept": done.why_kept,
                "left_out": [dataclasses.asdict(episode) for episode in done.left_out],
                "sources": [dataclasses.asdict(source) for source in done.sources],
            }
        )
        return
    show(_sentence(done))
    _print_left_out(done)
    if len(done.sources) > 1:
        _print_sources(done)
    show(f"dataset: {arguments.out} (robust-bc train --dataset {arguments.out} --out runs/mine)")


def _sentence(done: Filtered) -> str:
    pairs, dropped = len(done.kept), int((~done.kept).sum())
    if done.why_kept is not None:
        return done.why_kept
    if not dropped:
        return f"Nothing was left out, for nothing is bad: all {pairs} pairs in {done.pieces} episodes stay."
    episodes = sum(source.episodes for source in done.sources)
    gone = sum(source.dropped_episodes for source in done.sources)
    if episodes == pairs:
        return f"Left out {dropped} of {pairs} single pairs; {pairs - dropped} stay."
    cut = f", cut {done.cut_episodes}" if done.cut_episodes else ""
    return (
        f"Left out {gone} of {episodes} episodes{cut}, and with them {dropped} of {pairs} pairs;"
        f" {pairs - dropped} pairs in {done.pieces} episodes stay."
    )


def _print_left_out(done: Filtered) -> None:
    if not done.left_out:
        return
    columns = ("episode", "source", "pairs", "left out", "why")
    rows = [
        (str(one.episode), one.source, str(one.pairs), str(one.dropped_pairs), one.why) for one in done.left_out[:SHOWN]
    ]
    print_table(columns, rows, numbers=("pairs", "left out"))
    if len(done.left_out) > SHOWN:
        show(f"and {len(done.left_out) - SHOWN} more")


def _print_sources(done: Filtered) -> None:
    columns = ("source", "episodes", "left out", "pairs", "pairs left out", "kept")
    rows = [
        (
            source.source,
            str(source.episodes),
            str(source.dropped_episodes),
            str(source.pairs),
            str(source.dropped_pairs),
            f"{1 - source.dropped_pairs / source.pairs:.1%}",
        )
        for source in done.sources
    ]
    print_table(columns, rows, numbers=columns[1:])
