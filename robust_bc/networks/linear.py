"""The linear layer of a fleet, and its reproducible start."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robust_bc.system.seeding import MemberSeed, Purpose


@dataclass(frozen=True, eq=False)
class RowMap:
    """M linear maps for rows, (M, B, in) or (1, B, in) -> (M, B, out), with NumPy on the host.

    A row's result is the same to the bit whatever the other rows are, and how many: there is a product for each row,
    where a single product for all would round by their number.
    """

    weight: NDArray[np.float32]  # (M, 1, in, out)
    bias: NDArray[np.float32]  # (M, 1, out)

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        products: NDArray[np.float32] = (x[:, :, None] @ self.weight)[:, :, 0]
        products += self.bias
        return products


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

    def by_row(self, outputs: int | None = None) -> RowMap:
        """The first `outputs` of the maps as they are now, for acting."""
        weight, bias = self.weight[:, :outputs].detach().cpu(), self.bias[:, :outputs].detach().cpu()
        return RowMap(weight.mT.unsqueeze(1).contiguous().numpy(), bias.mT.contiguous().numpy())


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
