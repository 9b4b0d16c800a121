"""`robust-bc teachers`: the teachers that ship, with what was measured, or measured anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robust_bc.cli.arguments import parse
from robust_bc.cli.console import print_json, progress_bar, show
from robust_bc.cli.tables import print_table
from robust_bc.errors import RobustBCError


def teachers(
    task: str | None = None, measure: bool = False, episodes: int = 100, seed: int = 12345, json: bool = False
) -> None:
    """List the teachers: PPO experts, adversaries and medium teachers that ship, and the scripted drivers.

    Example: robust-bc teachers --measure --episodes 100

    Args:
        task: Only the teachers of this task.
        measure: Roll every teacher out now, instead of reading what was measured when it was trained.
        episodes: Episodes for each teacher that is rolled out.
        seed: Of those episodes.
        json: Print one JSON object, with everything on the cards.
    """
    from robust_bc_demos.teachers import shipped_cards
    from robust_bc_envs.tasks import CARDS, find_task

    only = None if task is None else find_task(task).name
    cards = [card for card in shipped_cards() if only in (None, card["task"])]
    rows = sorted(cards, key=lambda card: list(CARDS).index(card["task"]))
    if not rows:
        raise RobustBCError(f"no teachers ship for '{task}'; robust-bc teach trains some.")
    if measure:
        for card in rows:
            card["measured"] = _measured(CARDS[card["task"]], card["role"], episodes, seed)
    if json:
        print_json({"teachers": rows})
        return
    columns = ("task", "teacher", "return", "episodes", "other metrics")
    print_table(columns, [_row(card) for card in rows], numbers=("return", "episodes"))
    if not measure:
        show("measured when they were made; robust-bc teachers --measure rolls all of them out now")


def _measured(task: Any, role: str, episodes: int, seed: int) -> dict[str, Any]:
    from robust_bc_demos.measuring import measure
    from robust_bc_demos.teachers import find_teacher
    from robust_bc_envs.batches import boxes, make_batch

    worlds = make_batch(task, 1)
    teacher = find_teacher(task, role, *boxes(worlds))
    worlds.close()
    with progress_bar(f"{task.name} {role}") as bar:
        return measure(task, teacher, episodes, seed, bar)


def _row(card: dict[str, Any]) -> tuple[str, ...]:
    from robust_bc_envs.tasks import CARDS

    measured = card["measured"]
    parts = []
    for metric in CARDS[card["task"]].metrics:
        value = measured[metric.name]
        if metric.kind == "rate":
            parts.append(f"{metric.name} {value['mean']:.1%}")
        else:
            parts.append(f"{metric.name} {value['mean']:.2f}")
    mean, deviation = measured["return"]["mean"], measured["return"]["std"]
    returned = f"{mean:.0f} ± {deviation:.0f}" if abs(mean) >= 100 else f"{mean:.1f} ± {deviation:.1f}"
    return card["task"], card["role"], returned, str(measured["episodes"]), ", ".join(parts)


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    parse(teachers, "robust-bc teachers", args)
