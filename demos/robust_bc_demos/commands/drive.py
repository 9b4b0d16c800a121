"""`robust-bc drive`: drive yourself, with the arrow keys, and get a dataset."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from robust_bc.cli.arguments import parse
from robust_bc.cli.console import print_json, say, show
from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import check_seed

if TYPE_CHECKING:
    from robust_bc_demos.datasets import Recorded

COMMAND = "robust-bc drive"


@dataclass(frozen=True)
class DriveArguments:
    """Drive the lane-driving world with the arrow keys and get a Minari dataset.

    ← and → steer, and an arrow or Space starts. At the end of the road Enter keeps the episode and Backspace discards
    it. P pauses, R restarts the road, Esc ends the session. What you keep is on the disk at once.

    Example: robust-bc drive --mode careless --dataset mine/careless-v0 --episodes 5
    """

    mode: Literal["safe", "careless"]
    """How you are going to drive; the dataset says so."""
    dataset: str = "human/lane-driving-MODE-v0"
    """Minari id of the new dataset; MODE stands for the mode."""
    episodes: int = 0
    """Stop when this many are kept; 0 goes on until Esc."""
    lanes: int = 3
    """Lanes of the road."""
    cars: int = 5
    """Standing cars on it."""
    length: float = 200.0
    """Metres of road; the car drives 10 a second."""
    shape: Literal["straight", "curved"] = "straight"
    """Of the road."""
    seed: int = 0
    """The same seed gives the same roads."""
    overwrite: bool = False
    """Replace the dataset if there is one of that id, once the first episode is kept."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(parse(DriveArguments, COMMAND, args), shlex.join([*COMMAND.split(), *args]))


def execute(arguments: DriveArguments, command: str) -> None:
    """Check everything, open the window, and tell what was saved, however the session ended."""
    if arguments.episodes < 0:
        raise RobustBCError(f"--episodes must be 0 or more, but it is {arguments.episodes}.")
    check_seed(arguments.seed)

    from robust_bc_demos.datasets import DatasetPlan, check_free, write_dataset
    from robust_bc_demos.keyboard import TASK, Session
    from robust_bc_demos.keyboard_window import drive
    from robust_bc_envs import LaneSettings, find_task
    from robust_bc_envs.lanes.env import LaneDriving

    name = arguments.dataset.replace("MODE", arguments.mode)
    check_free(name, arguments.overwrite)
    usual = LaneSettings()
    given = {key: getattr(arguments, key) for key in ("lanes", "cars", "length", "shape")}
    settings = {key: value for key, value in given.items() if value != getattr(usual, key)}
    world = LaneDriving(**settings)

    def save(kept: Sequence[Recorded]) -> None:
        plan = DatasetPlan(
            name=name,
            task=find_task(TASK),
            observation_space=world.settings.observation_space(),
            action_space=world.settings.action_space(),
            description=f"{len(kept)} episodes of {arguments.mode} driving by a person at the keyboard",
            command=command,
            settings=settings,
        )
        write_dataset(plan, kept, overwrite=arguments.overwrite or len(kept) > 1)

    session = Session(world, arguments.mode, save, seed=arguments.seed, wanted=arguments.episodes)
    try:
        drive(session)
    except KeyboardInterrupt:
        report(name, session.kept, arguments.json)
        raise
    except Exception:
        if session.kept:
            say(f"the session broke off; {_counted(session.kept)} are safe in dataset '{name}'.")
        raise
    report(name, session.kept, arguments.json)


def report(name: str, kept: Sequence[Recorded], as_json: bool) -> None:
    """How much there is of what, and what to do with it."""
    collisions = sum(recorded.more["outcome"] == "collision" for recorded in kept)
    pairs = sum(len(recorded.episode) for recorded in kept)
    if as_json:
        dataset = name if kept else None
        print_json({"dataset": dataset, "episodes": len(kept), "pairs": pairs, "collisions": collisions})
    elif kept:
        crashed = f"{collisions} collision{'' if collisions == 1 else 's'}"
        show(f"saved {_counted(kept)}: {pairs} pairs, {crashed}")
        show(f"dataset: {name}")
        show(f"next: robust-bc show {name}")
    else:
        say("no episode was kept, so nothing is written.")


def _counted(kept: Sequence[Recorded]) -> str:
    return f"{len(kept)} episode{'' if len(kept) == 1 else 's'}"
