"""Saving a trainer's whole state as one safetensors file, and going on from it to the same bits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from robust_bc.demonstrations import Demonstrations
from robust_bc.errors import RobustBCError
from robust_bc.files import write_whole
from robust_bc.training.trainer import BLOCK_STEPS, Trainer

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


def fingerprint(demonstrations: Sequence[Demonstrations], trainer: Trainer) -> str:
    """Tells whether a checkpoint belongs to these data, this method, these settings and seeds."""
    about = {
        "pairs": pairs_digest(demonstrations),
        "method": trainer.method.name,
        "settings": asdict(trainer.settings),
        "seeds": [asdict(seed) for seed in trainer.seeds],
        "block_steps": BLOCK_STEPS,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def pairs_digest(demonstrations: Sequence[Demonstrations]) -> str:
    """Tells whether demonstrations are the same, to the bit."""
    digest = hashlib.sha256()
    for pairs in demonstrations:
        for array in (pairs.observations, pairs.actions, pairs.episodes):
            digest.update(str((array.dtype, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def write_checkpoint(path: Path, trainer: Trainer, mark: str) -> None:
    """All that training needs to go on; random streams need nothing, they are made from the step."""
    tensors: dict[str, Tensor] = {"score": trainer.score, "stale": trainer.stale}
    for index, parameter in enumerate(trainer.parameters):
        tensors[f"parameter.{index}"] = parameter.detach()
        tensors[f"best.{index}"] = trainer.best[index]
        for name in ADAM_STATE:
            tensors[f"adam.{index}.{name}"] = trainer.optimiser.state[parameter][name]
    for network, odds in enumerate(trainer.odds or ()):
        tensors[f"odds.{network}"] = torch.from_numpy(odds)
    history = trainer.history
    tensors["history.steps"] = torch.tensor(history.steps)
    tensors["history.values"] = torch.from_numpy(np.stack(history.values))
    if history.held_out:
        tensors["history.held_out_steps"] = torch.tensor(history.held_out_steps)
        tensors["history.held_out"] = torch.from_numpy(np.stack(history.held_out))
    whole = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(path, save(whole, metadata={"step": str(trainer.step), "fingerprint": mark}))


def read_checkpoint(path: Path, trainer: Trainer, mark: str) -> None:
    """Bring a fresh trainer to the state in the file, or say why that cannot be."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        step = int(metadata["step"])
        same = metadata["fingerprint"] == mark
    except (SafetensorError, OSError, KeyError, ValueError) as problem:
        raise RobustBCError(f"'{path}' is not a whole checkpoint of robust-bc; start the run anew.") from problem
    if not same:
        raise RobustBCError(
            f"'{path}' was made from other demonstrations, settings or seeds; resume with the same ones."
        )
    _restore(trainer, tensors, step)


@torch.no_grad()
def _restore(trainer: Trainer, tensors: dict[str, Tensor], step: int) -> None:
    for index, parameter in enumerate(trainer.parameters):
        parameter.copy_(tensors[f"parameter.{index}"])
        trainer.best[index].copy_(tensors[f"best.{index}"])
        trainer.optimiser.state[parameter] = {
            name: tensors[f"adam.{index}.{name}"].to(trainer.device) for name in ADAM_STATE
        }
    trainer.score = tensors["score"].to(trainer.device)
    trainer.stale = tensors["stale"].to(trainer.device)
    drawn_alike = "odds.0" not in tensors
    trainer.odds = None if drawn_alike else [tensors[f"odds.{n}"].numpy() for n in range(len(trainer.seeds))]
    history = trainer.history
    history.steps = tensors["history.steps"].tolist()
    history.values = list(tensors["history.values"].numpy())
    if "history.held_out" in tensors:
        history.held_out_steps = tensors["history.held_out_steps"].tolist()
        history.held_out = list(tensors["history.held_out"].numpy())
    trainer.step = step
