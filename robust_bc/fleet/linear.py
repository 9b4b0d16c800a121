"""The linear layer of a fleet, and its reproducible start."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from robust_bc.seeding import MemberSeed, Purpose


class FleetLinear(nn.Module):
    """M linear maps at once: (M, in, B) -> (M, out, B)."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, outputs, inputs))
        self.bias = nn.Parameter(torch.empty(members, outputs, 1))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] == 1 and self.weight.shape[0] > 1:  # the same batch for every member
            x = x.expand(self.weight.shape[0], -1, -1)
        return torch.baddbmm(self.bias, self.weight, x)


@torch.no_grad()
def initialise(network: nn.Module, seeds: list[MemberSeed]) -> None:
    """Uniform in ±1/√inputs, as torch's own linear layer; each member from its own stream."""
    layers = [module for module in network.modules() if isinstance(module, FleetLinear)]
    for member, seed in enumerate(seeds):
        stream = seed.stream(Purpose.INITIALISE)
        for layer in layers:
            bound = 1 / math.sqrt(layer.weight.shape[2])
            for parameter in (layer.weight, layer.bias):
                values = stream.uniform(-bound, bound, tuple(parameter.shape[1:])).astype(np.float32)
                parameter[member].copy_(torch.from_numpy(values))
