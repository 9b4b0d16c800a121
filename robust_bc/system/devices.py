"""Choosing where tensors live."""

from __future__ import annotations

import torch

from robust_bc.errors import RobustBCError


def resolve_device(device: str | torch.device) -> torch.device:
    """The device of that name; "auto" takes CUDA, then MPS, then the CPU."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise RobustBCError(f"device must be auto, cpu, cuda or mps, but it is '{device}'.") from None
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(chosen.type, False):
        raise RobustBCError(f"device '{device}' is not available on this machine; use auto or cpu.")
    return chosen
