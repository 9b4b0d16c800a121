"""`robust-bc train`: fit a policy to a dataset and keep the run in a folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import tyro

from robust_bc.cli.arguments import Device, option, parse
from robust_bc.cli.console import print_json, progress_bar, say, show
from robust_bc.errors import RobustBCError
from robust_bc.methods import AUTO, check_method, get_method, method_names

if TYPE_CHECKING:
    from robust_bc.methods.base import Method
    from robust_bc.training.progress import Progress

FEWEST_PASSES = 5
"""Below this many passes over the data, whoever gave the steps is told that more may help."""
BY_PAIRS = "by the number of pairs"
UNKNOWN = "Unrecognized options"


@dataclasses.dataclass(frozen=True)
class TrainArguments:
    """What to fit and where to keep it."""

    dataset: str
    """Minari dataset: its id, or its folder."""
    out: Path
    """Folder of the run; it gets settings, learning curves, checkpoint and policy."""
    method: str = AUTO
    """Method to fit; `robust-bc methods` lists them, auto chooses. The settings below are those of this method."""
    members: int = 1
    """Members of the ensemble, whose actions are averaged; Gaussian processes learn from a bootstrap sample each."""
    seed: int = 0
    """The same seed gives the same policy, bit by bit."""
    clean: bool = False
    """Audit the demonstrations first, and learn from what the audit keeps."""
    device: Device = "auto"
    """Where to compute; auto takes CUDA, then MPS, then the CPU."""
    resume: bool = False
    """Go on with the run in the folder if it was interrupted."""
    checkpoint_seconds: float = 10.0
    """Time between two checkpoints: what a crash can cost. Ctrl-C costs nothing."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(args: Sequence[str]) -> None:
    """Parse with the settings of the chosen method, and go."""
    chosen = check_method(option(args, "method", AUTO))

    def train(arguments: TrainArguments, settings: Any) -> tuple[TrainArguments, Any]:
        return arguments, settings

    train.__annotations__ |= _annotations(get_method(chosen))
    description = (
        f"Fit a policy to demonstrations of mixed quality (settings shown for '{chosen}';"
        f" the methods are {', '.join(method_names())}). Example: robust-bc train --dataset mine/demos-v0"
        " --out runs/mine"
    )
    named = "" if chosen == AUTO else f" --method {chosen}"
    try:
        arguments, settings = parse(train, f"robust-bc train{named}", args, description)
    except RobustBCError as problem:
        if chosen == AUTO and UNKNOWN in str(problem):
            raise RobustBCError(f"{str(problem).rstrip('.')}; settings of a method need --method NAME.") from None
        raise
    execute(arguments, dataclasses.asdict(settings))


def _annotations(method: Method[Any]) -> dict[str, type]:
    """Arguments and settings of a method, whose help tells what holds where nothing is given."""
    hints = get_type_hints(method.settings_type)
    followed = []
    for field in dataclasses.fields(method.settings_type):
        if field.default is None:
            shown = "INT" if int in get_args(hints[field.name]) else "INT [INT ...]"
            told = tyro.conf.arg(metavar=shown, help_behavior_hint=f"(default: {BY_PAIRS})")
            followed.append((field.name, Annotated[hints[field.name], told], dataclasses.field(default=None)))
    cleans = [("clean", bool, dataclasses.field(default=method.cleans))]
    return {
        "arguments": _with_defaults(TrainArguments, cleans),
        "settings": _with_defaults(method.settings_type, followed),
    }


def _with_defaults(kind: type, changed: list[Any]) -> type:
    """The same class with other defaults or help."""
    return dataclasses.make_dataclass(
        kind.__name__, changed, bases=(kind,), namespace={"__doc__": kind.__doc__}, frozen=True, kw_only=True
    )


def execute(arguments: TrainArguments, settings: dict[str, Any]) -> None:
    """Load, fit, report."""
    from robust_bc.data.demonstrations import Demonstrations
    from robust_bc.training.curves import TensorBoardCurves
    from robust_bc.training.runs import POLICY_FOLDER, train_run

    demonstrations = Demonstrations.from_minari(arguments.dataset)
    _warn(settings, len(demonstrations))
    with progress_bar(f"{'cleaning, ' * arguments.clean}training {arguments.method}") as bar:

        def watch(state: Progress) -> None:
            if state.loss is not None and state.note:  # what training will take
                say(state.note)
            bar(state.done / state.total, state.note if state.loss is None else f"loss {state.loss:.4g}")

        try:
            policy = train_run(
                arguments.out,
                demonstrations,
                source=arguments.dataset,
                method=arguments.method,
                members=arguments.members,
                seed=arguments.seed,
                device=arguments.device,
                clean=arguments.clean,
                resume=arguments.resume,
                checkpoint_seconds=arguments.checkpoint_seconds,
                progress=watch,
                say=say,
                **settings,
            )
        except KeyboardInterrupt:
            say(f"stopped; go on with the same command and --resume (state is in {arguments.out}).")
            raise
    history = policy.history
    last = {} if history is None else dict(zip(history.names, history.values[-1].mean(1).tolist(), strict=True))
    folder = arguments.out / POLICY_FOLDER
    if arguments.json:
        finite = {name: value for name, value in last.items() if value == value}
        print_json(
            {
                "policy": str(folder),
                "pairs": len(demonstrations),
                "learned_from": policy.learned_from,
                "cleaning": None if policy.cleaning is None else dataclasses.asdict(policy.cleaning),
                "choice": None if policy.choice is None else dataclasses.asdict(policy.choice),
                "final_loss": finite,
            }
        )
        return
    losses = ", ".join(f"{name} {value:.4g}" for name, value in last.items() if value == value)
    if policy.choice is not None:
        for line in policy.choice.lines:
            show(line)
    elif policy.cleaning is not None:
        show(policy.cleaning.reason)
    everything = policy.learned_from == len(demonstrations)
    of_all = "" if everything else f"{policy.learned_from} of "
    show(f"fitted {policy.method.name} to {of_all}{len(demonstrations)} pairs" + f": {losses}" * bool(losses))
    show(f"policy: {folder}")
    if history is not None and TensorBoardCurves.possible():
        show(f"curves: tensorboard --logdir {arguments.out}")


def _warn(settings: dict[str, Any], pairs: int) -> None:
    """If steps were given that see each pair but a few times."""
    from robust_bc.training.budget import BATCH_SIZE

    steps, batch_size = settings.get("steps"), settings.get("batch_size") or BATCH_SIZE
    if steps is None or (passes := steps * batch_size / pairs) >= FEWEST_PASSES:
        return
    better = int(FEWEST_PASSES * pairs / batch_size) + 1
    say(f"note: {steps} steps see each pair {passes:.1f} times; --steps {better} would be better.")
