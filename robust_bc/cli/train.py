"""`robust-bc train`: fit a policy to a dataset and keep the run in a folder."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robust_bc.cli.arguments import Device, option, parse
from robust_bc.cli.console import print_json, progress_bar, say, show
from robust_bc.methods import check_method, get_method, method_names

FEWEST_PASSES = 5
"""Below this many passes over the data, the person is told that more steps may help."""


@dataclasses.dataclass(frozen=True)
class TrainArguments:
    """What to fit and where to keep it."""

    dataset: str
    """Minari dataset: its id, or its folder."""
    out: Path
    """Folder of the run; it gets settings, learning curves, checkpoint and policy."""
    method: str = "choicenet"
    """Method to fit; `robust-bc methods` lists them. The settings below are those of this method."""
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
    chosen = check_method(option(args, "method", "choicenet"))

    def train(arguments: TrainArguments, settings: Any) -> tuple[TrainArguments, Any]:
        return arguments, settings

    train.__annotations__["settings"] = get_method(chosen).settings_type
    description = (
        f"Fit a policy to demonstrations of mixed quality (settings shown for '{chosen}';"
        f" the methods are {', '.join(method_names())}). Example: robust-bc train --dataset mine/demos-v0"
        " --method choicenet --clean --out runs/mine"
    )
    named = "" if chosen == "choicenet" else f" --method {chosen}"
    arguments, settings = parse(train, f"robust-bc train{named}", args, description)
    execute(arguments, dataclasses.asdict(settings))


def execute(arguments: TrainArguments, settings: dict[str, Any]) -> None:
    """Load, fit, report."""
    from robust_bc.data.demonstrations import Demonstrations
    from robust_bc.training.curves import TensorBoardCurves
    from robust_bc.training.runs import POLICY_FOLDER, train_run

    demonstrations = Demonstrations.from_minari(arguments.dataset)
    passes = settings.get("steps", math.inf) * settings.get("batch_size", 1) / len(demonstrations)
    if passes < FEWEST_PASSES:
        better = int(FEWEST_PASSES * len(demonstrations) / settings["batch_size"]) + 1
        say(f"note: {settings['steps']} steps see each pair {passes:.1f} times; --steps {better} would be better.")
    with progress_bar(f"{'cleaning, ' * arguments.clean}training {arguments.method}") as bar:
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
                progress=lambda state: bar(
                    state.done / state.total, state.note if state.loss is None else f"loss {state.loss:.4g}"
                ),
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
                "final_loss": finite,
            }
        )
        return
    losses = ", ".join(f"{name} {value:.4g}" for name, value in last.items() if value == value)
    if policy.cleaning is not None:
        show(policy.cleaning.reason)
    everything = policy.learned_from == len(demonstrations)
    of_all = "" if everything else f"{policy.learned_from} of "
    show(f"fitted {arguments.method} to {of_all}{len(demonstrations)} pairs" + f": {losses}" * bool(losses))
    show(f"policy: {folder}")
    if history is not None and TensorBoardCurves.possible():
        show(f"curves: tensorboard --logdir {arguments.out}")
