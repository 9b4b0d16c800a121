"""What the files of a policy hold: `config.json` and `model.safetensors`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robust_bc.data.described_tensors import DescribedTensors
from robust_bc.policies.choice import Choice
from robust_bc.policies.cleaning import Cleaning

FILES = DescribedTensors("policy", 2, "config.json", "model.safetensors")
MODEL = "model."
"""How the names of the model's own tensors begin."""
ActionType = Literal["float16", "float32", "float64"]


@dataclass(frozen=True)
class PolicyConfig:
    """What stands in the description of a policy."""

    method: str
    settings: dict[str, Any]
    members: int
    observation_size: int
    action_size: int
    action_low: tuple[float | None, ...] | None
    """None for a side without a bound, and for a policy that knows no action space."""
    action_high: tuple[float | None, ...] | None
    action_type: ActionType | None
    cleaning: Cleaning | None = None
    choice: Choice | None = None


def bounds(values: NDArray[Any]) -> list[float | None]:
    """Infinity is no JSON number, so an unbounded side is null."""
    return [float(value) if np.isfinite(value) else None for value in values]
