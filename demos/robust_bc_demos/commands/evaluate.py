"""`robust-bc evaluate`: policies in their task, with intervals, as tables and one page."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from robust_bc.cli.arguments import EnvironmentSettings, command_line, not_empty, parse
from robust_bc.cli.console import print_json, progress_bar, say, show
from robust_bc.cli.tables import print_table
from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import check_seed
from robust_bc_envs.evaluation_replays import driving_replay

if TYPE_CHECKING:
    from robust_bc import Evaluation
    from robust_bc.evaluation.metrics import Reference

RESULTS = "evaluation.json"
SIDE_BY_SIDE = 3
"""Up to this many policies have a column each on the terminal; more have a line each."""


@dataclasses.dataclass(frozen=True)
class EvaluateArguments:
    """Roll policies out in the same episodes and compare them.

    Writes evaluation.json, episodes.csv, table.md and report.html.

    Example: robust-bc evaluate --policy runs/mine,expert --task halfcheetah --episodes 100
    """

    task: str
    """A card's name (`robust-bc tasks`) or a Gymnasium id."""
    policy: Annotated[tuple[str, ...], tyro.conf.UseAppendAction]
    """A run folder of `robust-bc train`, a policy's folder, a teacher's name or folder, or a Stable-Baselines3 .zip;
    several are separated by commas, or --policy is given several times."""
    episodes: int = 100
    """For each policy; all get the same ones."""
    seed: int = 0
    """The same seed gives the same episodes."""
    env: EnvironmentSettings = ()
    """Settings of the environment, such as shape=curved,cars=2 for lane-driving."""
    expert_return: float | None = None
    """Return that counts as 1, instead of the card's; with --random-return."""
    random_return: float | None = None
    """Return that counts as 0, instead of the card's; with --expert-return."""
    video: Path | None = None
    """Film one episode of the first policy into this .gif or .mp4."""
    video_episode: int = 0
    """Which one."""
    out: Path | None = None
    """Folder for the results; the first that is free of runs/evaluation-TASK, -2, -3, ..., unless said otherwise."""
    overwrite: bool = False
    """Replace the results that --out has."""
    trust_pickle: bool = False
    """Read a Stable-Baselines3 .zip, which can run code."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse and go."""
    execute(parse(EvaluateArguments, "robust-bc evaluate", args), command_line("evaluate", args))


def execute(arguments: EvaluateArguments, command: str) -> None:
    """Check everything, roll everything out, then write and print."""
    given = (name for word in arguments.policy for name in word.split(",") if name)
    names = not_empty("policy", tuple(dict.fromkeys(given)))  # doubles count once
    check_seed(arguments.seed)
    if arguments.episodes < 1:
        raise RobustBCError(f"episodes must be at least 1, but it is {arguments.episodes}.")
    reference = _reference(arguments)
    settings = dict(arguments.env)
    if arguments.video is not None:
        _check_video(arguments)
    from robust_bc.evaluation.evaluating import evaluate_fleet
    from robust_bc.evaluation.page import comparison_table, episodes_as_csv, evaluation_page
    from robust_bc.report import code_as_markdown, table_as_markdown, write_page
    from robust_bc.system.files import write_json, write_whole
    from robust_bc_envs.tasks import find_task

    task = find_task(arguments.task)
    out = _free(arguments, task.name)
    policies = _policies(task, names, settings, arguments.trust_pickle)
    write_whole(out / "command.txt", command + "\n")  # before the work: a folder that cannot be written is said at once
    with progress_bar(f"evaluating on {task.name}") as bar:
        evaluations = evaluate_fleet(
            policies,
            arguments.task,
            arguments.episodes,
            arguments.seed,
            names=names,
            settings=settings,
            reference=reference,
            progress=bar,
        )
    table = comparison_table(evaluations)
    facts = _facts(arguments, command)
    replay = driving_replay(task, policies, evaluations, settings)
    content = {**facts, "evaluations": [evaluation.as_json() for evaluation in evaluations]}
    write_json(out / RESULTS, content)
    write_whole(out / "episodes.csv", episodes_as_csv(evaluations))
    write_whole(out / "table.md", f"{code_as_markdown(command)}\n\n{table_as_markdown(table)}\n")
    write_page(out / "report.html", evaluation_page(evaluations, facts, [] if replay is None else [replay]))
    written = [out / name for name in ("table.md", "episodes.csv", RESULTS, "report.html")]
    if arguments.video is not None:
        written.append(_film(arguments, task, policies[0], evaluations[0], settings))
    if arguments.json:
        print_json({**content, "files": [str(path) for path in written]})
        return
    cells = [[f"{cell.text} {cell.note}".strip() for cell in row] for row in table.rows]
    rows = [[column.name for column in table.columns], *cells]
    if len(evaluations) <= SIDE_BY_SIDE:
        rows = [list(column) for column in zip(*rows, strict=True)]
    print_table(rows[0], rows[1:], numbers=rows[0][1:])
    for evaluation in evaluations:
        if evaluation.failures:
            first = evaluation.failures[0]
            say(f"note: {evaluation.policy} failed in episode {first['episode']}: {first['failure']}")
    for path in written:
        show(str(path))


def _free(arguments: EvaluateArguments, task: str) -> Path:
    """The folder for the results; nothing is overwritten unasked."""
    if arguments.out is None:
        first = Path("runs") / f"evaluation-{task.replace('/', '-')}"
        others = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
        return next(place for place in itertools.chain([first], others) if not (place / RESULTS).exists())
    if (arguments.out / RESULTS).exists() and not arguments.overwrite:
        raise RobustBCError(f"'{arguments.out}' has results already; take another folder, or --overwrite.")
    return arguments.out


def _reference(arguments: EvaluateArguments) -> Reference | None:
    from robust_bc.evaluation.metrics import Reference

    expert, random = arguments.expert_return, arguments.random_return
    if (expert is None) != (random is None):
        raise RobustBCError("--expert-return and --random-return belong together; give both or none.")
    for option, value in (("--expert-return", expert), ("--random-return", random)):
        if value is not None and not math.isfinite(value):
            raise RobustBCError(f"{option} must be a finite number, but it is {value}.")
    return None if expert is None or random is None else Reference(random=random, expert=expert)


def _policies(task: Any, names: Sequence[str], settings: dict[str, Any], trust_pickle: bool) -> list[Any]:
    """Whoever has these names. A policy without memory goes as it is: it can act beside others in one batch."""
    from robust_bc_demos.teachers import PolicyTeacher, find_teacher
    from robust_bc_envs.batches import boxes, make_batch

    worlds = make_batch(task, 1, settings=settings)
    try:
        found = [find_teacher(task, name, *boxes(worlds), trust_pickle=trust_pickle) for name in names]
    finally:
        worlds.close()
    return [teacher.policy if isinstance(teacher, PolicyTeacher) else teacher for teacher in found]


def _facts(arguments: EvaluateArguments, command: str) -> dict[str, str]:
    from datetime import datetime

    from robust_bc.system.machine import machine

    about = machine()
    return {
        "command": command,
        "episodes": f"{arguments.episodes} for each policy, seed {arguments.seed}",
        "machine": f"{about['processor']}, {about['cores']} cores",
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
    }


def _check_video(arguments: EvaluateArguments) -> None:
    from robust_bc.evaluation.films import check_film
    from robust_bc_envs.filming import prepare_filming

    assert arguments.video is not None
    check_film(arguments.video)
    if not 0 <= arguments.video_episode < arguments.episodes:
        raise RobustBCError(
            f"--video-episode is {arguments.video_episode}, but the episodes are 0 to {arguments.episodes - 1}."
        )
    prepare_filming()


def _film(
    arguments: EvaluateArguments, task: Any, policy: Any, evaluation: Evaluation, settings: dict[str, Any]
) -> Path:
    from robust_bc.evaluation.evaluating import play
    from robust_bc.evaluation.films import write_film
    from robust_bc_envs.filming import Film

    assert arguments.video is not None
    row = evaluation.rows[arguments.video_episode]
    if row["failure"] is not None:
        raise RobustBCError(f"episode {arguments.video_episode} cannot be filmed, for it failed: {row['failure']}")
    (episode,) = play(policy, arguments.task, [int(row["seed"] or 0)], settings=settings)
    film = Film(task, settings, episode)
    return write_film(arguments.video, film.frames(), film.frames_per_second)
