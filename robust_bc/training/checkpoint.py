"""Saving a trainer's whole state as one safetensors file, and going on from it to the same bits."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.fingerprints import pairs_digest
from robust_bc.data.tensor_files import Expected, read_sealed_tensors, sealed_tensors
from robust_bc.errors import DamagedFileError, RobustBCError
from robust_bc.system.files import write_whole
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


def write_checkpoint(path: Path, trainer: Trainer, mark: str) -> None:
    """All that training needs to go on; random streams need nothing, they are made from the step."""
    tensors: dict[str, Tensor] = {"step": torch.tensor(trainer.step), "score": trainer.score, "stale": trainer.stale}
    tensors["fingerprint"] = torch.tensor(list(bytes.fromhex(mark)), dtype=torch.uint8)
    for index, parameter in enumerate(trainer.parameters):
        tensors[f"parameter.{index}"] = parameter.detach()
        tensors[f"best.{index}"] = trainer.best[index]
        for name in ADAM_STATE:
            tensors[f"adam.{index}.{name}"] = trainer.optimiser.state[parameter][name]
    if trainer.fleet.gate is not None:
        tensors |= {f"gate.{name}": values for name, values in trainer.fleet.gate.memory().items()}
    for network, odds in enumerate(trainer.odds or ()):
        tensors[f"odds.{network}"] = torch.from_numpy(odds)
    history = trainer.history
    tensors["history.steps"] = torch.tensor(history.steps)
    tensors["history.values"] = torch.from_numpy(np.stack(history.values))
    if history.held_out:
        tensors["history.held_out_steps"] = torch.tensor(history.held_out_steps)
        tensors["history.held_out"] = torch.from_numpy(np.stack(history.held_out))
    write_whole(path, sealed_tensors({name: tensor.cpu().numpy() for name, tensor in tensors.items()}))


def read_checkpoint(path: Path, trainer: Trainer, mark: str) -> None:
    """Bring a fresh trainer to the state in the file, or say why that cannot be; the trainer is changed last."""
    found = read_sealed_tensors(path)
    given = found.take({"fingerprint": Expected((32,), np.uint8)}, others=True)["fingerprint"]
    if given.tobytes().hex() != mark:
        raise RobustBCError(
            f"'{path}' was made from other demonstrations, settings or seeds; resume with the same ones."
        )
    tensors = found.take(_expected(trainer, found.arrays))
    _check(path, trainer, tensors)
    _restore(trainer, tensors)


def _expected(trainer: Trainer, given: Mapping[str, NDArray[Any]]) -> dict[str, Expected]:
    """What a checkpoint of this trainer holds; odds and held-out scores only where it has them."""
    networks, names = len(trainer.seeds), len(trainer.history.names)
    expected = {
        "fingerprint": Expected((32,), np.uint8),
        "step": Expected((), np.int64),
        "score": Expected((networks,), finite=False),
        "stale": Expected((networks,), np.int64),
        "history.steps": Expected((-1,), np.int64),
        "history.values": Expected((-1, names, networks), finite=False),
    }
    for index, parameter in enumerate(trainer.parameters):
        shape = tuple(parameter.shape)
        for name in (f"parameter.{index}", f"best.{index}", *(f"adam.{index}.{part}" for part in ADAM_STATE[1:])):
            expected[name] = Expected(shape, finite=False)  # of a member that went astray
        expected[f"adam.{index}.step"] = Expected(())
    if trainer.fleet.gate is not None:
        memory = trainer.fleet.gate.memory()
        expected |= {f"gate.{name}": Expected(tuple(values.shape)) for name, values in memory.items()}
    if "odds.0" in given:
        rows = trainer.data.training
        expected |= {f"odds.{network}": Expected((len(rows[network]),), np.float64) for network in range(networks)}
    if "history.held_out" in given:
        expected["history.held_out_steps"] = Expected((-1,), np.int64)
        expected["history.held_out"] = Expected((-1, networks), finite=False)
    return expected


def _check(path: Path, trainer: Trainer, tensors: Mapping[str, NDArray[Any]]) -> None:
    """What shapes and types do not tell."""
    step, last = int(tensors["step"]), trainer.budget.steps
    right = 0 < step <= last and (step % BLOCK_STEPS == 0 or step == last)
    for steps, values in (("steps", "values"), ("held_out_steps", "held_out")):
        if f"history.{values}" in tensors:
            right &= len(tensors[f"history.{steps}"]) == len(tensors[f"history.{values}"]) > 0
    for name, odds in tensors.items():
        if name.startswith("odds."):
            right &= bool((np.diff(odds, prepend=0) >= 0).all() and math.isclose(odds[-1], 1))
    if not right:
        raise DamagedFileError(f"'{path}' is not a checkpoint of this run: its numbers do not fit together.")


@torch.no_grad()
def _restore(trainer: Trainer, tensors: Mapping[str, NDArray[Any]]) -> None:
    def tensor(name: str) -> Tensor:
        return torch.from_numpy(tensors[name]).to(trainer.device)

    for index, parameter in enumerate(trainer.parameters):
        parameter.copy_(tensor(f"parameter.{index}"))
        trainer.best[index].copy_(tensor(f"best.{index}"))
        trainer.optimiser.state[parameter] = {name: tensor(f"adam.{index}.{name}") for name in ADAM_STATE}
    if trainer.fleet.gate is not None:
        for name in trainer.fleet.gate.memory():
            setattr(trainer.fleet.gate, name, tensor(f"gate.{name}"))
    trainer.score, trainer.stale = tensor("score"), tensor("stale")
    drawn_alike = "odds.0" not in tensors
    trainer.odds = None if drawn_alike else [tensors[f"odds.{n}"] for n in range(len(trainer.seeds))]
    history = trainer.history
    history.steps = tensors["history.steps"].tolist()
    history.values = list(tensors["history.values"])
    if "history.held_out" in tensors:
        history.held_out_steps = tensors["history.held_out_steps"].tolist()
        history.held_out = list(tensors["history.held_out"])
    trainer.step = int(tensors["step"])
