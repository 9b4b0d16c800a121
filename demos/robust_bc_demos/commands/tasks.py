"""`robust-bc tasks`: the task cards, and what a reversed reward is in each."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from robust_bc.cli.arguments import parse
from robust_bc.cli.console import OUTPUT, print_json, show


def tasks(json: bool = False) -> None:
    """List the tasks that have a card. Any other Gymnasium id with Box spaces works as a task, too.

    Example: robust-bc tasks

    Args:
        json: Print one JSON object, with metrics and PPO settings.
    """
    from robust_bc_demos.teachers import teacher_names
    from robust_bc_envs.tasks import CARDS

    if json:
        print_json({"tasks": [asdict(card) | {"teachers": teacher_names(card)} for card in CARDS.values()]})
        return
    for card in CARDS.values():
        OUTPUT.print(f"[bold]{card.name}[/bold]  {card.environment}: {card.summary}", highlight=False, soft_wrap=True)
        _line("used for", "development: settings may be chosen on it" if card.development else "test")
        _line("teachers", ", ".join(teacher_names(card)))
        _line("measured", ", ".join(["return", *(metric.name for metric in card.metrics)]))
        _line("adversary", f"is rewarded for {card.reverse}")
        _line("mixes", f"{card.good} with {card.bad}, unless others are named")
    show("")
    show("Any Gymnasium id with Box spaces works as a task, too: its return is measured,")
    show("and an adversary gets the negated reward.")


def _line(name: str, text: str) -> None:
    """One entry of a card; what is longer than the line goes on below itself."""
    for line in textwrap.wrap(text, OUTPUT.width, initial_indent=f"  {name:13}", subsequent_indent=" " * 15):
        show(line)


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    parse(tasks, "robust-bc tasks", args)
