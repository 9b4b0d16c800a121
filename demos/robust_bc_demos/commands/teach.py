"""`robust-bc teach`: train an expert, an adversary or a medium teacher of your own with PPO."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from robust_bc.cli.arguments import parse
from robust_bc.cli.console import print_json, progress_bar, say, show


@dataclasses.dataclass(frozen=True)
class TeachArguments:
    """Train a teacher with PPO, for a task with a card or for any Gymnasium id with Box spaces.

    Example: robust-bc teach --task MountainCarContinuous-v0 --role adversary --steps 100000 --out runs/car-adversary
    """

    task: str
    """A card's name (`robust-bc tasks`) or a Gymnasium id."""
    out: Path
    """Folder of the teacher; `robust-bc collect --teacher FOLDER` uses it."""
    role: Literal["expert", "adversary", "medium"] = "expert"
    """An adversary is trained on the reversed reward; without a card that is the negated one. A medium teacher is the
    expert, stopped half-way between random actions and the expert, as the returns of the task's card say."""
    steps: int | None = None
    """Environment steps; without, those of the task's card."""
    seed: int = 0
    """The same seed gives the same teacher, bit by bit."""
    episodes: int = 100
    """Episodes over which it is measured at the end."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    arguments = parse(TeachArguments, "robust-bc teach", args)
    import torch

    from robust_bc.cli.arguments import command_line
    from robust_bc_demos.training.teaching import train_teacher
    from robust_bc_envs.tasks import find_task

    task = find_task(arguments.task)
    torch.set_num_threads(1)  # small networks: more threads only wait for each other
    with progress_bar(f"training {task.name} {arguments.role}") as bar:
        try:
            teacher = train_teacher(
                task,
                arguments.role,
                arguments.out,
                bar,
                seed=arguments.seed,
                steps=arguments.steps,
                episodes=arguments.episodes,
                command=command_line("teach", args),
                say=say,
            )
        except KeyboardInterrupt:
            say(f"stopped; the same command goes on from the last checkpoint in {arguments.out}, if there is one.")
            raise
    measured = teacher.card["measured"]
    if arguments.json:
        print_json({"teacher": str(arguments.out), **teacher.card})
        return
    show(
        f"trained {teacher.name}: true return {measured['return']['mean']:.1f} ± {measured['return']['std']:.1f}"
        f" over {measured['episodes']} episodes"
    )
    show(f"teacher: {arguments.out}")
