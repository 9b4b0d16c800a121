"""`robust-bc show`: what is in a dataset, or what a policy is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from robust_bc.cli.arguments import parse
from robust_bc.cli.console import print_json, show
from robust_bc.cli.tables import print_table
from robust_bc.errors import RobustBCError

BARS = " ▁▂▃▄▅▆▇█"
LONG = 1e6
POLICY_FILE = "config.json"


def show_dataset(dataset: Annotated[str, tyro.conf.Positional], plot: Path | None = None, json: bool = False) -> None:
    """Tell what is in a Minari dataset: episodes, returns by source, and histograms of the actions.

    Of a policy: its method, and what it learned from.

    Example: robust-bc show mine/cheetah-v0 --plot actions.png

    Args:
        dataset: Its id, or its folder; or the folder of a run or of a policy.
        plot: Also write the action histograms as a picture (.png, .svg or .pdf).
        json: Print one JSON object.
    """
    from robust_bc_demos.summary import check_picture, draw_summary, summarise

    if any((place / POLICY_FILE).is_file() for place in (Path(dataset), Path(dataset) / "policy")):
        show_policy(dataset, plot, json)
        return
    if plot is not None:
        check_picture(plot)
    summary = summarise(dataset)
    if plot is not None:
        draw_summary(summary, plot)
    if json:
        content = dataclasses.asdict(summary)
        print_json(content | {"edges": summary.edges.tolist(), "counts": summary.counts.tolist()})
        return
    show(f"{summary.dataset}: {summary.description}".rstrip(": "))
    show(
        f"{summary.environment or 'no environment'}, {summary.episodes} episodes, {summary.pairs} pairs of"
        f" {summary.observation_size} observations and {summary.action_size} actions"
    )
    if summary.made_by:
        show(f"made by: {summary.made_by}")
    if summary.corrupt_known is not None:
        share = summary.corrupt_known / summary.pairs
        show(f"corrupt pairs: {summary.corrupt_known} ({share:.1%}); which ones is hidden from learners")
    rows = [
        (s.source, str(s.episodes), str(s.pairs), f"{s.return_mean:.1f} ± {s.return_std:.1f}", f"{s.length_mean:.1f}")
        for s in summary.sources
    ]
    columns = ("source", "episodes", "pairs", "return", "length")
    print_table(columns, rows, numbers=columns[1:])
    for source in summary.sources:
        if source.metrics:
            show(f"{source.source}: " + ", ".join(f"{name} {value:.4g}" for name, value in source.metrics.items()))
    for index, (edges, counts) in enumerate(zip(summary.edges, summary.counts, strict=True)):
        show(f"action {index}  {edge(edges[0])} {sparkline(counts.tolist())} {edge(edges[-1])}")
    if plot is not None:
        show(f"picture: {plot}")


def show_policy(folder: str, plot: Path | None, json: bool) -> None:
    """Tell what a policy is and what it learned from."""
    from robust_bc.policies.files import load_policy

    if plot is not None:
        raise RobustBCError(f"'{folder}' is a policy, which has no histogram of actions; leave --plot out.")
    policy = load_policy(folder, "cpu")
    if json:
        about = {"method": policy.method.name, "settings": dataclasses.asdict(policy.settings)}
        cleaning = None if policy.cleaning is None else dataclasses.asdict(policy.cleaning)
        choice = None if policy.choice is None else dataclasses.asdict(policy.choice)
        print_json(about | {"members": policy.members, "cleaning": cleaning, "choice": choice})
        return
    for line in policy.card.splitlines():
        show(line)


def edge(value: float) -> str:
    """Where a histogram begins or ends: with two digits after the point, unless it is far from one."""
    return f"{value:+.2f}" if abs(value) < LONG else f"{value:+.2e}"


def sparkline(counts: Sequence[int]) -> str:
    """A histogram in one line of text; only an empty bin is blank."""
    largest = max(1, *counts)
    return "".join(BARS[0] if count == 0 else BARS[1 + (len(BARS) - 2) * count // largest] for count in counts)


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    parse(show_dataset, "robust-bc show", args)
