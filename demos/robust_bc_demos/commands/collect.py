"""`robust-bc collect`: a teacher acts, and what it did becomes a Minari dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from robust_bc.cli.arguments import EnvironmentSettings, command_line, parse
from robust_bc.cli.console import print_json, progress_bar, show


@dataclasses.dataclass(frozen=True)
class CollectArguments:
    """Roll a teacher out, many episodes at once, into a Minari dataset.

    Example: robust-bc collect --task halfcheetah --teacher expert --episodes 20 --dataset mine/cheetah-v0
    """

    task: str
    """A card's name (`robust-bc tasks`) or a Gymnasium id."""
    dataset: str
    """Id of the new Minari dataset, such as mine/cheetah-v0."""
    teacher: str = "expert"
    """expert, adversary, medium, safe, careless, random, or the path of a teacher, a policy or a Stable-Baselines3
    .zip."""
    episodes: int = 10
    """How many."""
    seed: int = 0
    """The same seed gives the same episodes."""
    env: EnvironmentSettings = ()
    """Settings of the environment, such as shape=curved,cars=2 for lane-driving."""
    overwrite: bool = False
    """Replace a dataset of that id."""
    trust_pickle: bool = False
    """Read a Stable-Baselines3 .zip, which can run code."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    arguments = parse(CollectArguments, "robust-bc collect", args)
    from robust_bc_demos.collecting import collect
    from robust_bc_demos.summary import summarise

    with progress_bar(f"collecting {arguments.teacher}") as bar:
        folder = collect(
            arguments.task,
            arguments.teacher,
            arguments.dataset,
            episodes=arguments.episodes,
            seed=arguments.seed,
            overwrite=arguments.overwrite,
            trust_pickle=arguments.trust_pickle,
            command=command_line("collect", args),
            settings=dict(arguments.env),
            progress=bar,
        )
    (source,) = summarise(arguments.dataset).sources
    if arguments.json:
        print_json({"dataset": arguments.dataset, "folder": str(folder), **dataclasses.asdict(source)})
        return
    show(
        f"collected {source.episodes} episodes, {source.pairs} pairs of {source.source}:"
        f" return {source.return_mean:.1f} ± {source.return_std:.1f}"
    )
    if source.metrics:
        show(", ".join(f"{name} {value:.4g}" for name, value in source.metrics.items()))
    show(f"dataset: {arguments.dataset} (robust-bc show {arguments.dataset})")
