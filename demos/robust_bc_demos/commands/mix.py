"""`robust-bc mix`: demonstrations with a share of corrupt pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from robust_bc.cli.arguments import EnvironmentSettings, PairCount, command_line, parse
from robust_bc.cli.console import print_json, progress_bar, show


@dataclasses.dataclass(frozen=True)
class MixArguments:
    """Mix good demonstrations with a share of corrupt pairs; which they are is hidden from learners.

    Example: robust-bc mix --task halfcheetah --rate 0.3 --kind delayed --pairs all --dataset mine/mixed-v0
    """

    task: str
    """A card's name (`robust-bc tasks`) or a Gymnasium id."""
    dataset: str
    """Id of the new Minari dataset, such as mine/mixed-v0."""
    rate: float | None = None
    """Share of corrupt pairs; without, 0.3. Exact to a pair for single pairs; whole episodes come as near as they can.
    It has no part in a graded mix."""
    kind: Literal[
        "rollout",
        "medium",
        "noisy",
        "delayed",
        "stuck",
        "relabel",
        "flip",
        "uniform",
        "misaligned",
        "duplicated",
        "graded",
    ] = "rollout"
    """The kind of corruption. Episodes of another teacher: rollout (the bad one), medium (trained half-way). The good
    teacher with a fault: noisy, delayed (by four steps), stuck (one actuator). Its states with other actions: relabel
    (what the bad teacher would do), flip (negated), uniform (random). Its episodes, recorded wrongly: misaligned (one
    step off), duplicated (each row three times). graded: ten demonstrators of rising noise."""
    pairs: PairCount = 500
    """Single pairs, stored as one-step episodes; `all` keeps whole episodes, each of them good or bad throughout."""
    steps: int | None = None
    """At most so many steps of each episode are kept, as by a time limit."""
    seed: int = 0
    """One seed has the same good episodes for every kind of corruption."""
    episodes: int | None = None
    """Episodes that each teacher is rolled out for; without, those of the task's card. More if the pairs need more."""
    good: str | None = None
    """Good teacher: a name or a path. Without, the one of the task's card."""
    bad: str | None = None
    """Bad teacher: a name or a path. Without, the one of the task's card."""
    clean: str | None = None
    """Dataset with good episodes, instead of a teacher."""
    corrupt: str | None = None
    """Dataset with bad episodes, for rollout."""
    disturbance: float | None = None
    """How much the teachers' hands are shaken, as a share of half the action space, while what they meant is recorded;
    without, what the task's card says."""
    env: EnvironmentSettings = ()
    """Settings of the environment, such as shape=curved,cars=2 for lane-driving."""
    overwrite: bool = False
    """Replace a dataset of that id."""
    trust_pickle: bool = False
    """Read a Stable-Baselines3 .zip, which can run code."""
    trust_dataset: str | None = None
    """The dataset of --clean once more, if its environment may be made by the entry point, wrappers and settings that
    its file names, which can run code."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    arguments = parse(MixArguments, "robust-bc mix", args)
    from robust_bc_demos.mixing.datasets import MixRequest, mix
    from robust_bc_envs.tasks import find_task

    same_names = {field.name for field in dataclasses.fields(MixRequest)} - {"task", "settings"}
    request = MixRequest(
        task=find_task(arguments.task),
        settings=dict(arguments.env),
        **{name: getattr(arguments, name) for name in same_names},
    )
    with progress_bar("rolling out") as bar:
        folder, mixed = mix(
            request,
            arguments.dataset,
            overwrite=arguments.overwrite,
            command=command_line("mix", args),
            progress=bar,
        )
    pairs, corrupt = len(mixed.labels), int(mixed.labels.sum())
    if arguments.json:
        print_json(
            {
                "dataset": arguments.dataset,
                "folder": str(folder),
                "episodes": len(mixed.episodes),
                "pairs": pairs,
                "corrupt": corrupt,
                "rate": corrupt / pairs,
            }
        )
        return
    show(f"mixed {pairs} pairs in {len(mixed.episodes)} episodes, {corrupt} of them corrupt by {arguments.kind}")
    show(f"dataset: {arguments.dataset} (robust-bc train --dataset {arguments.dataset} --out runs/mine)")
