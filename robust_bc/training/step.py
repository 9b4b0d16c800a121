"""One training step of a whole fleet: nothing in it waits for the device."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.network import Fleet

FUSED_DEVICES = ("cpu", "cuda", "mps")


def make_optimiser(
    parameters: list[nn.Parameter], settings: NetworkSettings, device: torch.device
) -> torch.optim.AdamW:
    """AdamW works element by element, so members of a fleet cannot disturb each other through it."""
    return torch.optim.AdamW(
        parameters,
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=device.type in FUSED_DEVICES,
    )


def learning_rate_at(settings: NetworkSettings, progress: float) -> float:
    """A cosine from the full rate to zero."""
    return 0.5 * settings.learning_rate * (1 + math.cos(math.pi * progress))


def training_step(
    fleet: Fleet,
    method: NetworkMethod[Any],
    settings: NetworkSettings,
    optimiser: torch.optim.Optimizer,
    observations: Tensor,  # (M, S, B)
    actions: Tensor,  # (M, D, B)
    noise: Tensor | None,
    progress: float,
    episodes: Tensor | None = None,  # (M, B), for a gate
) -> LossTerms:
    """Forward, backward, update. Losses are summed over members, so that each gets the gradient it gets alone."""
    for group in optimiser.param_groups:
        group["lr"] = learning_rate_at(settings, progress)
    parameters = fleet(observations, noise, progress, episodes)
    terms = method.loss(settings, parameters, actions, progress)
    optimiser.zero_grad(set_to_none=True)
    terms.total.sum().backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    if fleet.gate is not None and episodes is not None:
        fleet.gate.update(parameters, actions, episodes)
    return terms
