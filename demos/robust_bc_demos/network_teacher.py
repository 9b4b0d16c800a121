"""A teacher that is a network: normalised observations through ReLU layers, on disk as JSON and safetensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from robust_bc.data.described_tensors import DescribedTensors
from robust_bc.data.json_files import as_typed
from robust_bc.data.tensor_files import Expected
from robust_bc.errors import DamagedFileError

CARD_FILE = "teacher.json"
FILES = DescribedTensors("teacher", 2, CARD_FILE, "model.safetensors")
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
        # A product for each row: one for all rows rounds by how many there are, and an episode would feel them.
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
        FILES.write(folder, {"name": self.name, **self.card}, save(whole))


@dataclass(frozen=True)
class TeacherCard:
    """What every card says, and what a trained teacher's says besides."""

    name: str
    task: str | None = None
    environment: str | None = None
    role: str | None = None
    rewarded_for: str | None = None
    training: dict[str, Any] | None = None
    measured: dict[str, Any] | None = None


def read_card(folder: Path) -> dict[str, Any]:
    """The card alone: cheap, for tables."""
    card = FILES.description(folder)
    card.pop("tensors_sha256", None)
    as_typed(TeacherCard, card, str(folder / CARD_FILE))
    return card


def load_network_teacher(folder: Path) -> NetworkTeacher:
    """The teacher in a folder; nothing in it is executed."""
    card, tensors = FILES.read(folder, TeacherCard)
    layers = sum(name.startswith("weight.") for name in tensors.arrays)
    expected = {name: Expected((-1,)) for name in ("mean", "scale", *(f"bias.{index}" for index in range(layers)))}
    expected |= {f"weight.{index}": Expected((-1, -1)) for index in range(layers)}
    expected |= {name: Expected((-1,), finite=False) for name in ("low", "high")}  # an action may have no bounds
    arrays = tensors.take(expected)
    weights = tuple(arrays[f"weight.{index}"] for index in range(layers))
    biases = tuple(arrays[f"bias.{index}"] for index in range(layers))
    sizes = [len(arrays["mean"]), *(len(bias) for bias in biases)]
    fits = layers > 0 and sizes[0] == len(arrays["scale"]) and sizes[-1] == len(arrays["low"]) == len(arrays["high"])
    for weight, size in zip(weights, itertools.pairwise(sizes), strict=True):
        fits &= weight.shape == size
    if not fits or not (arrays["scale"] > 0).all() or not (arrays["low"] <= arrays["high"]).all():
        raise DamagedFileError(f"'{tensors.path}' is not the network of a teacher: its tensors do not fit together.")
    about = {name: value for name, value in asdict(card).items() if name != "name" and value is not None}
    vectors = {name: arrays[name] for name in ("mean", "scale", "low", "high")}
    return NetworkTeacher(name=card.name, weights=weights, biases=biases, card=about, **vectors)
