"""A training run in a folder: settings, TensorBoard log, history, checkpoint and policy, and going on after a stop."""

from __future__ import annotations

import contextlib
import json
import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.fingerprints import pairs_digest
from robust_bc.data.json_files import as_typed, read_json
from robust_bc.errors import DamagedFileError, RobustBCError
from robust_bc.methods import AUTO
from robust_bc.methods.direct import DirectMethod
from robust_bc.methods.settings import Settings
from robust_bc.policies.policy import Policy
from robust_bc.system.files import is_aside_of, make_folder, remove_asides, write_json, write_whole
from robust_bc.system.interrupts import stop_requests
from robust_bc.training.checkpoint import fingerprint, read_checkpoint, write_checkpoint
from robust_bc.training.curves import TensorBoardCurves
from robust_bc.training.plan import FitPlan
from robust_bc.training.progress import Progress, ProgressCallback, TrainingProgress
from robust_bc.training.trainer import Trainer
from robust_bc.version import __version__

RUN_FILE = "run.json"
CHECKPOINT_FILE = "checkpoints/latest.safetensors"
HISTORY_FILE = "history.csv"
POLICY_FOLDER = "policy"
TENSORBOARD_FOLDER = "tensorboard"


def train_run(
    folder: Path,
    demonstrations: Demonstrations,
    *,
    source: str,
    method: str = AUTO,
    members: int = 1,
    seed: int = 0,
    device: str = "auto",
    clean: bool | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 10.0,
    progress: ProgressCallback | None = None,
    say: Callable[[str], None] = warnings.warn,
    **settings: Any,
) -> Policy:
    """Fit a policy and keep everything about it in `folder`.

    A run that was interrupted or killed goes on from its last checkpoint with `resume`, to the same bits as one that
    was never stopped; when checkpoints were written makes no difference. From a damaged checkpoint it begins anew, and
    `say` is told so. Without `resume`, a folder that already has a run is left alone. With `clean`, an audit comes
    first, also of a run that goes on: the same seed keeps the same pairs, and the budget follows from these.
    """
    if not checkpoint_seconds >= 0:
        raise RobustBCError(f"checkpoint_seconds must be 0 or more, but it is {checkpoint_seconds}.")
    plan = FitPlan.make([demonstrations], method, members, [seed], device, settings, clean)
    before = _claim(folder, _describe(plan, demonstrations, source, plan.settings), resume)
    tell = progress or (lambda state: None)
    plan = plan.cleaned(plan.audit_steps + plan.steps([0]), tell)
    learner, total = plan.learners[0], plan.audit_steps + plan.steps([0])
    about = {**_describe(plan, demonstrations, source, learner.settings), **_found(plan)}
    _check_same(folder, before, about)
    if learner.choice is not None:
        tell(Progress(plan.audit_steps, total, None, " ".join(learner.choice.lines)))
    if isinstance(learner.method, DirectMethod):  # done in one go: there is nothing to go on from
        write_json(folder / RUN_FILE, {**about, "finished": False})
        policy = plan.computed(0)
        tell(Progress(total, total, None))
    else:
        policy = _train(folder, plan, about, resume, checkpoint_seconds, tell, say)
    policy.save(folder / POLICY_FOLDER)
    write_json(folder / RUN_FILE, {**about, "finished": True})
    return policy


def _train(
    folder: Path,
    plan: FitPlan,
    about: dict[str, Any],
    resume: bool,
    checkpoint_seconds: float,
    progress: ProgressCallback,
    say: Callable[[str], None],
) -> Policy:
    """Train networks with checkpoints, from the last one with `resume`."""
    trainer = plan.trainer([0])
    mark = fingerprint(plan.demonstrations, trainer)
    checkpoint = folder / CHECKPOINT_FILE
    if resume and checkpoint.exists():
        try:
            read_checkpoint(checkpoint, trainer, mark)
        except DamagedFileError as problem:
            say(f"note: {str(problem).rstrip('.')}; the run begins anew.")
    write_json(folder / RUN_FILE, {**about, "finished": False})

    def save_all() -> None:
        write_checkpoint(checkpoint, trainer, mark)
        write_whole(folder / HISTORY_FILE, trainer.history.to_csv())

    with contextlib.ExitStack() as stack, stop_requests() as stop:
        curves = None
        if TensorBoardCurves.possible():
            curves = stack.enter_context(TensorBoardCurves(folder / TENSORBOARD_FOLDER))
        else:
            say("note: there will be no curves, for tensorboard is not installed: pip install 'robust-bc[report]'.")
        saved_at = time.monotonic()
        total = plan.audit_steps + plan.steps([0])
        report = TrainingProgress(trainer, plan.audit_steps, total, progress)

        def after_block(trainer: Trainer) -> None:
            nonlocal saved_at
            if curves is not None:
                curves.update(trainer.history)
            if time.monotonic() - saved_at >= checkpoint_seconds:
                write_checkpoint(checkpoint, trainer, mark)
                saved_at = time.monotonic()
            report(trainer)
            if stop.is_set():  # nothing is lost on Ctrl-C
                save_all()
                raise KeyboardInterrupt

        trainer.run(after_block)
        save_all()
    return plan.policies([0], trainer)[0]


def _describe(plan: FitPlan, demonstrations: Demonstrations, source: str, settings: Settings) -> dict[str, Any]:
    """The run: enough to repeat it."""
    return {
        "format": "robust-bc run",
        "dataset": source,
        "pairs": len(demonstrations),
        "pairs_sha256": pairs_digest([demonstrations]),
        "episodes": len(np.unique(demonstrations.episodes)),
        "method": plan.method.name,
        "settings": asdict(settings),
        "members": plan.members,
        "seed": plan.seeds[0],
        "clean": plan.clean,
        "device": str(plan.device),
        "versions": {
            "robust_bc": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def _found(plan: FitPlan) -> dict[str, Any]:
    """What an audit left out and what `auto` chose."""
    cleaning, choice = None if plan.cleanings is None else plan.cleanings[0], plan.learners[0].choice
    return {
        "learned_from": len(plan.demonstrations[0]),
        "cleaning": None if cleaning is None else asdict(cleaning),
        "choice": None if choice is None else asdict(choice),
    }


def _claim(folder: Path, about: dict[str, Any], resume: bool) -> RunDescription | None:
    """Make sure that the folder is ours to write: empty, or with `resume` a run of just these settings, which it has
    described."""
    make_folder(folder)
    run_file = folder / RUN_FILE
    if not run_file.exists():
        if not all(is_aside_of(run_file, path) for path in folder.iterdir()):
            raise RobustBCError(f"'{folder}' has other files in it; name a new folder.")
        remove_asides(folder)
        return None
    if not resume:
        raise RobustBCError(f"'{folder}' already has a run; go on with it by --resume, or name a new folder.")
    try:
        before = as_typed(RunDescription, read_json(run_file), str(run_file), others=True)
    except DamagedFileError as problem:
        raise RobustBCError(f"{str(problem).rstrip('.')}; it does not describe a run, so name a new folder.") from None
    _check_same(folder, before, about)
    remove_asides(folder)
    return before


def _check_same(folder: Path, before: RunDescription | None, about: dict[str, Any]) -> None:
    """An error that names what differs from the run before; what still is open does not."""
    if before is None:
        return
    different = [label for name, label in _IDENTITY.items() if getattr(before, name) != about[name]]
    different += [
        f"settings.{name}"
        for name, value in _plain(about["settings"]).items()
        if value is not None and before.settings.get(name) != value
    ]
    if different:
        raise RobustBCError(
            f"'{folder}' was started with another {_listed(different)}; resume with the same, or name a new folder."
        )


@dataclass(frozen=True)
class RunDescription:
    """What of run.json decides whether a run may go on; the rest is for people."""

    pairs: int
    pairs_sha256: str
    method: str
    members: int
    seed: int
    settings: dict[str, Any]
    clean: bool = False


_IDENTITY = {
    "pairs": "number of pairs",
    "pairs_sha256": "set of pairs",
    "method": "method",
    "members": "number of members",
    "seed": "seed",
    "clean": "choice of clean",
}


def _plain(value: Any) -> Any:
    """As it looks after a trip through JSON: tuples are lists."""
    return json.loads(json.dumps(value))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
