"""A teacher that is a network: normalised observations through ReLU layers, on disk as JSON and safetensors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from robust_bc.errors import RobustBCError
from robust_bc.files import as_json, write_all_whole

CARD_FILE = "teacher.json"
WEIGHTS_FILE = "model.safetensors"
FORMAT = "robust-bc teacher 1"
CLIP = 10.0
"""Normalised observations are clipped here, as they were in training."""

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class NetworkTeacher:
    """Acts without noise and without memory."""

    name: str
    mean: Array  # (S,)
    scale: Array  # (S,)
    weights: tuple[Array, ...]  # each (in, out)
    biases: tuple[Array, ...]  # each (out,)
    low: Array  # (A,)
    high: Array  # (A,)
    card: dict[str, Any] = field(default_factory=dict)
    """Where it comes from and what was measured."""

    def begin(self, count: int, slots: NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """Nothing to remember."""

    def act(self, observations: NDArray[Any]) -> Array:
        """(N, S) observations to (N, A) actions."""
        hidden = np.clip((observations - self.mean) / self.scale, -CLIP, CLIP).astype(np.float32)
        # A product for each row: one for all rows rounds by how many there are, and an episode would feel its company.
        hidden = hidden[:, None]  # (N, 1, S)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0)
        return np.asarray(np.clip(hidden @ self.weights[-1] + self.biases[-1], self.low, self.high)[:, 0])

    def label(self, observations: NDArray[Any], generator: np.random.Generator) -> Array:
        """The same: it has no memory."""
        return self.act(observations)

    def save(self, folder: Path) -> None:
        """Both files, or neither."""
        arrays = {"mean": self.mean, "scale": self.scale, "low": self.low, "high": self.high}
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight.{index}": weight, f"bias.{index}": bias}
        whole = {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}
        card = {"format": FORMAT, "name": self.name, **self.card}
        write_all_whole({folder / WEIGHTS_FILE: save(whole), folder / CARD_FILE: as_json(card)})


def read_card(folder: Path) -> dict[str, Any]:
    """The card alone: cheap, for tables."""
    try:
        card = json.loads((folder / CARD_FILE).read_text())
        known = card["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise RobustBCError(f"'{folder}' is not a teacher: its {CARD_FILE} cannot be read.") from problem
    if not known:
        raise RobustBCError(f"'{folder / CARD_FILE}' has the format {card['format']!r}, but '{FORMAT}' is known.")
    return dict(card)


def load_network_teacher(folder: Path) -> NetworkTeacher:
    """The teacher in a folder; nothing in it is executed."""
    card = read_card(folder)
    try:
        arrays = load((folder / WEIGHTS_FILE).read_bytes())
        layers = sum(name.startswith("weight.") for name in arrays)
        teacher = NetworkTeacher(
            name=str(card["name"]),
            **{name: arrays[name] for name in ("mean", "scale", "low", "high")},
            weights=tuple(arrays[f"weight.{index}"] for index in range(layers)),
            biases=tuple(arrays[f"bias.{index}"] for index in range(layers)),
            card=card,
        )
        shape = teacher.act(np.zeros((1, len(teacher.mean)))).shape
        if shape != (1, len(teacher.low)):
            raise ValueError(f"its action has the shape {shape}")
    except (OSError, SafetensorError, KeyError, ValueError, IndexError) as problem:
        raise RobustBCError(f"'{folder / WEIGHTS_FILE}' is not the network of a teacher: {problem}.") from problem
    return teacher
