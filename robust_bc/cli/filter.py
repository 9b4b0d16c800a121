"""`robust-bc filter`: a new dataset without what an audit found to be bad."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from robust_bc.cli.arguments import command_line, parse
from robust_bc.cli.console import print_json, show
from robust_bc.cli.tables import print_table

if TYPE_CHECKING:
    from robust_bc_demos.filtering import Filtered


@dataclasses.dataclass(frozen=True)
class FilterArguments:
    """Drop the bad demonstrations that `robust-bc audit` found, and write the others as a new Minari dataset.

    What is known of the episodes that stay, and who made them, goes along.

    Example: robust-bc filter --dataset mine/mixed-v0 --audit runs/audit --above 0.5 --out mine/clean-v0
    """

    dataset: str
    """Minari dataset that was audited: its id, or its folder. It stays as it is."""
    audit: Path
    """Folder of its audit."""
    out: str
    """Id of the new Minari dataset, such as mine/clean-v0."""
    keep: float | None = None
    """Share of the pairs to keep, the best ones, such as 0.7; of whole episodes, as many as come nearest to it."""
    above: float | None = None
    """Keep what has a quality above this, such as 0.5; instead of --keep."""
    unit: Literal["auto", "episode", "pair"] = "auto"
    """episode: keep or drop whole episodes by the mean quality of their pairs. pair: keep or drop single pairs; an
    episode that loses some in its middle falls into pieces. auto: episodes where they have more than one step, for a
    bad episode is usually bad throughout; with --above, one that is partly bad (a mean below 0.9) loses its bad pairs.
    Else pairs."""
    overwrite: bool = False
    """Replace a dataset of that id."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    arguments = parse(FilterArguments, "robust-bc filter", args)
    from robust_bc.auditing.storage import load_audit
    from robust_bc_demos.filtering import FilterRequest, filter_dataset

    request = FilterRequest(keep=arguments.keep, above=arguments.above, unit=arguments.unit)
    done = filter_dataset(
        arguments.dataset,
        load_audit(arguments.audit),
        arguments.out,
        request,
        overwrite=arguments.overwrite,
        command=command_line("filter", args),
    )
    if arguments.json:
        print_json(
            {
                "dataset": arguments.out,
                "folder": str(done.folder),
                "unit": done.unit,
                "episodes": done.pieces,
                "pairs": int(done.kept.sum()),
                "dropped_episodes": sum(source.dropped_episodes for source in done.sources),
                "cut_episodes": done.cut_episodes,
                "dropped_pairs": int((~done.kept).sum()),
                "sources": [dataclasses.asdict(source) for source in done.sources],
            }
        )
        return
    show(_sentence(done))
    if len(done.sources) > 1:
        columns = ("source", "episodes", "dropped episodes", "pairs", "dropped pairs", "kept")
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
    show(f"dataset: {arguments.out} (robust-bc train --dataset {arguments.out} --out runs/mine)")


def _sentence(done: Filtered) -> str:
    pairs, dropped = len(done.kept), int((~done.kept).sum())
    if not dropped:
        return f"dropped nothing: all {pairs} pairs in {done.pieces} episodes stay"
    episodes = sum(source.episodes for source in done.sources)
    gone = sum(source.dropped_episodes for source in done.sources)
    if episodes == pairs:
        return f"dropped {dropped} of {pairs} single pairs; {pairs - dropped} stay"
    cut = f", cut {done.cut_episodes}" if done.cut_episodes else ""
    return (
        f"dropped {gone} of {episodes} episodes{cut}, and with them {dropped} of {pairs} pairs;"
        f" {pairs - dropped} pairs in {done.pieces} episodes stay"
    )
