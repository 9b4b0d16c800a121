"""A small good file of every kind, and what reads it."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from robust_bc import Demonstrations, RobustBCError, fit, load_policy
from robust_bc.auditing import audits, resuming
from robust_bc.auditing.audit import Audit, load_audit
from robust_bc.auditing.findings import Finding
from robust_bc.auditing.judging.pooling import Grouping
from robust_bc.auditing.judging.verdict import Judged
from robust_bc.auditing.settings import AuditSettings
from robust_bc.auditing.showing.page import audit_page
from robust_bc.cli.main import main
from robust_bc.data.minari_files import open_minari
from robust_bc.evaluation.results import Evaluation
from robust_bc.policies.choice import Choice
from robust_bc.policies.cleaning import Cleaning
from robust_bc.report import page_as_html
from robust_bc.training.runs import train_run
from robust_bc_benchmarks.core.cells import Cell, Cells, Key
from robust_bc_demos.collecting import collect
from robust_bc_demos.filtering import filter_dataset
from robust_bc_demos.mixing.datasets import MixRequest, make_mix, mix
from robust_bc_demos.teachers import SHIPPED
from robust_bc_demos.training.ppo import TeacherTraining
from robust_bc_envs.tasks import Task, find_task
from tests.robust_bc.auditing.audits import agreement_of, audit_of

NAME = "our/x-v0"
TINY: dict[str, Any] = {"steps": 25, "batch_size": 8, "hidden": (4,)}
TINY_OPTIONS = ["--steps", "25", "--batch-size", "8", "--hidden", "4", "--method", "mlp"]
SHORT = {"length": 40, "cars": 0}
KEY = Key("halfcheetah", "flip", 0.3, "mlp", 0)
MARK = {"plan": [1, 2], "word": "x"}

Reader = Callable[[Path], object]


def command_line(words: list[str]) -> tuple[int, str]:
    """Exit code of a command, and all that it printed."""
    said = io.StringIO()
    try:
        resuming.audit_in_folder = quick_audit
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            main(words)
    except SystemExit as ended:
        return int(ended.code or 0), said.getvalue()
    return 0, said.getvalue()


@contextmanager
def datasets_in(folder: Path) -> Iterator[None]:
    """Minari's datasets in this folder."""
    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["MINARI_DATASETS_PATH"]
        else:
            os.environ["MINARI_DATASETS_PATH"] = before


def small_task() -> Task:
    return find_task("lane-driving")


def make_dataset(folder: Path) -> None:
    with datasets_in(folder):
        collect("lane-driving", "safe", NAME, episodes=3, settings=SHORT)


def make_labelled(folder: Path) -> None:
    with datasets_in(folder):
        mix(MixRequest(small_task(), "flip", 0.3, pairs=20, episodes=1, settings=SHORT), NAME)


def within(reader: Callable[[str], object]) -> Reader:
    """A function of a dataset's id, with Minari's datasets in the folder."""

    def read(folder: Path) -> object:
        with datasets_in(folder):
            return reader(NAME)

    return read


def everything(name: str) -> object:
    dataset = open_minari(name)
    return list(dataset.episodes(about=True, infos=True)), dataset.about_episodes()


def mixed(name: str) -> object:
    """All that a mix does with a dataset, a rollout in its environment included."""
    return make_mix(MixRequest(small_task(), "rollout", 0.2, pairs=10, episodes=1, clean=name, bad="careless"))


def filtered(name: str) -> object:
    """All that a filter does with a dataset: what it says of itself and its infos go along."""
    audit = quick_audit(Demonstrations.from_minari(name), dataset=name)
    return filter_dataset(name, audit, "our/kept-v0", overwrite=True)


def make_policy(folder: Path) -> None:
    fit(pairs(), method="choicenet", seed=0, device="cpu", **TINY).save(folder / "network")
    process = fit(pairs(), method="lgpr", seed=0, device="cpu", metric="learned")
    process.cleaning = Cleaning(30, 24, 5, (2,), 0.2, "bad", "The audit left out 1 of 5 episodes.")
    process.choice = Choice("lgpr", "lgpr, for it is small.", "the audit dropped 1 of 5 episodes.")
    process.save(folder / "process")


def pairs() -> Demonstrations:
    generator = np.random.default_rng(0)
    observations = generator.normal(size=(24, 4))
    return Demonstrations.from_arrays(observations, observations[:, :1], episodes=np.arange(24) // 6)


def both(reader: Callable[[Path], object]) -> Reader:
    return lambda folder: [reader(folder / name) for name in ("network", "process")]


def acting(folder: Path) -> object:
    policy = load_policy(folder, "cpu")
    return policy.predict(np.zeros((2, 4))), policy.mixture(np.zeros((2, 4)))


def make_audit(folder: Path) -> None:
    """With the dataset that it is of beside it."""
    make_dataset(folder / "datasets")
    with datasets_in(folder / "datasets"):
        quick_audit(Demonstrations.from_minari(NAME), dataset=NAME).save(folder)


def quick_audit(demonstrations: Demonstrations, folder: Path | None = None, **given: Any) -> Audit:
    """In place of the real one, which takes seconds."""
    bad = (np.unique(demonstrations.episodes) == 1).tolist()
    about = {name: given[name] for name in ("sources", "seed") if name in given} | {"agreement": agreement_of(bad)}
    return audit_of(demonstrations, demonstrations.episodes == 1, given["dataset"], **about)


def using_audit(folder: Path) -> object:
    found = load_audit(folder)
    return found.episode_rows(), found.source_rows(), str(found), page_as_html(audit_page(found))


def make_unfinished(folder: Path) -> None:
    parts = resuming.Unfinished(folder, "x")
    parts.write_findings([Finding("frozen", 1, None, "action 0 stands still", True)])
    grouping = Grouping.of(pairs().episodes)
    of_episodes = np.linspace(0, 1, len(grouping.names))
    agreement = agreement_of([False, True, False, False])
    expected = np.asarray(pairs().actions, np.float64)
    conflict = np.zeros(len(expected))
    parts.write_judged(Judged(of_episodes, of_episodes, of_episodes, conflict, expected, agreement, "why"))


def unfinished(folder: Path) -> object:
    """What is damaged is computed anew; what is not makes an audit, or one sentence."""
    parts = resuming.Unfinished(folder, "x")
    findings, judged = parts.read_findings(), parts.read_judged(pairs())
    if judged is None:
        return None
    return audits.assemble(pairs(), judged, findings or [], AuditSettings(), 0).episode_rows()


def make_teacher(folder: Path) -> None:
    shutil.copytree(SHIPPED / "lane-driving-expert", folder, dirs_exist_ok=True)


def make_cells(folder: Path) -> None:
    Cells(folder).write([Cell(KEY, {"auroc": 0.5}, None, "01", "x")], [MARK])


def cells(folder: Path) -> object:
    kept = Cells(folder)
    found = kept.read(KEY, MARK)
    return found, found and sum(found.numbers.values()), kept.complaints()


def train(folder: Path, resume: bool = True) -> object:
    """A run; only what it begins with differs."""
    settings = {**TINY, "steps": 50, "early_stopping": True}
    return train_run(
        folder,
        pairs(),
        source="x",
        method="choicenet",
        seed=0,
        device="cpu",
        resume=resume,
        say=lambda sentence: None,
        **settings,
    )


def make_run(folder: Path) -> None:
    train(folder, resume=False)


def training(folder: Path) -> None:
    work = TeacherTraining(small_task(), "expert", 0, steps=1)
    try:
        work._restore(folder / "checkpoint.safetensors")
    finally:
        work.close()


def make_training(folder: Path) -> None:
    work = TeacherTraining(small_task(), "expert", 0, steps=1)
    work.run(folder / "checkpoint.safetensors", lambda share, note: None)
    work.close()


def make_evaluation(folder: Path) -> None:
    words = ["evaluate", "--task", "lane-driving", "--policy", "safe", "--episodes", "2", "--out", str(folder)]
    assert command_line(words)[0] == 0


def evaluation(folder: Path) -> object:
    from robust_bc.data.json_files import read_json

    content = read_json(folder / "evaluation.json")
    told = content.get("evaluations")
    if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
        raise RobustBCError("there are no evaluations.")
    return [Evaluation.from_json(each).summary for each in told]
