"""Every kind of file that is loaded: a small good one, how its checksums are made right, and all that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from robust_bc import Demonstrations
from robust_bc.auditing import resuming
from robust_bc_demos.network_teacher import load_network_teacher, read_card
from robust_bc_demos.summary import summarise
from tests.hostile.samples import (
    KEY,
    NAME,
    TINY_OPTIONS,
    Reader,
    acting,
    both,
    cells,
    evaluation,
    everything,
    filtered,
    make_audit,
    make_cells,
    make_dataset,
    make_evaluation,
    make_labelled,
    make_policy,
    make_run,
    make_teacher,
    make_training,
    make_unfinished,
    mixed,
    train,
    training,
    unfinished,
    using_audit,
    within,
)
from tests.hostile.sealing import reseal_all_json, reseal_pair, reseal_tensors, reseal_unfinished


@dataclass(frozen=True)
class Kind:
    """One kind of file, or of files that belong together, in a folder of its own."""

    make: Callable[[Path], None]
    files: tuple[str, ...]
    """What may be damaged."""
    functions: dict[str, Reader]
    """Python functions that load it."""
    commands: dict[str, Callable[[Path], list[str]]]
    """Commands that load it; whatever they write goes into the folder `out` of the working directory."""
    reseal: Callable[[Path], None] = lambda folder: None
    """Makes checksums right, as somebody would who means harm."""


ARRAYS, METADATA = f"{NAME}/data/main_data.hdf5", f"{NAME}/data/metadata.json"
KINDS = {
    "dataset": Kind(
        make_dataset,
        (METADATA, ARRAYS),
        {
            "Demonstrations.from_minari": within(Demonstrations.from_minari),
            "episodes": within(everything),
            "summarise": within(summarise),
            "make_mix": within(mixed),
            "filter_dataset": within(filtered),
        },
        {
            "show": lambda folder: ["show", NAME],
            "show a folder": lambda folder: ["show", str(folder / NAME)],
            "datasets": lambda folder: ["datasets"],
            "train": lambda folder: ["train", "--dataset", NAME, "--out", "out/run", *TINY_OPTIONS],
            "audit": lambda folder: ["audit", "--dataset", NAME, "--out", "out/audit"],
            "mix": lambda folder: (
                [
                    "mix",
                    "--task",
                    "lane-driving",
                    "--clean",
                    NAME,
                    "--kind",
                    "rollout",
                    "--bad",
                    "careless",
                    "--episodes",
                    "1",
                    "--pairs",
                    "10",
                    "--rate",
                    "0.2",
                    "--dataset",
                    "our/mixed-v0",
                ]
            ),
        },
    ),
    "labels": Kind(
        make_labelled,
        (f"{NAME}/hidden_labels.safetensors",),
        {"labels": within(lambda name: Demonstrations.from_minari(name, labels=True))},
        {"show": lambda folder: ["show", NAME]},
    ),
    "policy": Kind(
        make_policy,
        tuple(f"{name}/{part}" for name in ("network", "process") for part in ("config.json", "model.safetensors")),
        {"load_policy": both(acting)},
        {
            "evaluate": lambda folder: [
                *("evaluate", "--task", "lane-driving", "--policy", f"{folder}/network,{folder}/process"),
                *("--episodes", "1", "--env", "length=40,cars=0", "--out", "out/evaluation"),
            ],
            "collect": lambda folder: [
                *("collect", "--task", "lane-driving", "--teacher", f"{folder}/network", "--episodes", "1"),
                *("--env", "length=40,cars=0", "--dataset", "our/collected-v0"),
            ],
            "show": lambda folder: ["show", f"{folder}/process"],
        },
        reseal_pair("config.json", "model.safetensors"),
    ),
    "audit": Kind(
        make_audit,
        ("audit.json", "pairs.safetensors"),
        {"load_audit": using_audit},
        {
            "filter": lambda folder: (
                [
                    "filter",
                    "--dataset",
                    str(folder / "datasets" / NAME),
                    "--audit",
                    str(folder),
                    "--out",
                    "our/kept-v0",
                ]
            )
        },
        reseal_pair("audit.json", "pairs.safetensors"),
    ),
    "unfinished audit": Kind(
        make_unfinished,
        (resuming.CHECKS_FILE, resuming.JUDGED_FILE),
        {"Unfinished": unfinished},
        {},
        reseal_unfinished,
    ),
    "teacher": Kind(
        make_teacher,
        ("teacher.json", "model.safetensors"),
        {"load_network_teacher": load_network_teacher, "read_card": read_card},
        {
            "collect": lambda folder: [
                *("collect", "--task", "lane-driving", "--teacher", str(folder), "--episodes", "1"),
                *("--env", "length=40,cars=0", "--dataset", "our/collected-v0"),
            ]
        },
        reseal_pair("teacher.json", "model.safetensors"),
    ),
    "cells": Kind(
        make_cells,
        (str(KEY.path),),
        {"Cells.read": cells},
        {},
        reseal_all_json,
    ),
    "run": Kind(
        make_run,
        ("run.json", "checkpoints/latest.safetensors"),
        {"train_run": train},
        {},
        reseal_tensors,
    ),
    "training of a teacher": Kind(
        make_training, ("checkpoint.safetensors",), {"TeacherTraining": training}, {}, reseal_tensors
    ),
    "evaluation": Kind(make_evaluation, ("evaluation.json",), {"Evaluation.from_json": evaluation}, {}),
}
