"""`robust-bc datasets`: the Minari datasets on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from robust_bc.cli.arguments import parse
from robust_bc.cli.console import print_json, say, show
from robust_bc.cli.tables import print_table


def datasets(json: bool = False) -> None:
    """List the Minari datasets on this machine.

    Example: robust-bc datasets

    Args:
        json: Print one JSON object.
    """
    from robust_bc_demos.datasets import local_datasets

    found = local_datasets()
    rows = found.rows
    for sentence in found.damaged:
        say(f"note: {sentence}")
    if json:
        print_json({"datasets": rows, "damaged": found.damaged})
    elif not rows:
        show("there are no datasets yet; robust-bc collect and robust-bc mix make some.")
    else:
        table = [
            (row["dataset"], row["description"] or row["environment"] or "", str(row["episodes"]), str(row["pairs"]))
            for row in rows
        ]
        print_table(("dataset", "what", "episodes", "pairs"), table, numbers=("episodes", "pairs"))


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    parse(datasets, "robust-bc datasets", args)
