"""A fleet: a trunk of shared shape and a head, for M members at once."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn

from robust_bc.fleet.linear import FleetLinear
from robust_bc.mixture import MixtureParameters

Activation = Literal["relu", "tanh"]


class Trunk(nn.Module):
    """Observations (M, S, B) to features (M, Q, B)."""

    def __init__(self, members: int, inputs: int, hidden: tuple[int, ...], activation: Activation) -> None:
        super().__init__()
        widths = (inputs, *hidden)
        self.layers = nn.ModuleList(FleetLinear(members, width, after) for width, after in itertools.pairwise(widths))
        self.activation = torch.relu if activation == "relu" else torch.tanh
        self.outputs = widths[-1]

    def forward(self, observations: Tensor) -> Tensor:
        features = observations
        for layer in self.layers:
            features = self.activation(layer(features))
        return features


class Head(nn.Module, ABC):
    """Features to a mixture; what is learned sits in its layers, everything else comes with the call."""

    def noise_shape(self, batch: int) -> tuple[int, ...]:
        """Shape of the standard-normal noise that one member wants for a training batch; () for none."""
        return ()

    @abstractmethod
    def forward(self, features: Tensor, noise: Tensor | None, progress: float) -> MixtureParameters:
        """The mixture at features (M, Q, B); `progress` is the share of training done, 1 afterwards."""

    @abstractmethod
    def act(self, parameters: MixtureParameters) -> Tensor:
        """The one action to take, (M, D, B)."""


class Fleet(nn.Module):
    """M policies of the same architecture."""

    def __init__(self, trunk: Trunk, head: Head) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = head

    def forward(self, observations: Tensor, noise: Tensor | None = None, progress: float = 1.0) -> MixtureParameters:
        """Mixtures for observations (M, S, B), or (1, S, B) for the same batch in every member."""
        parameters: MixtureParameters = self.head(self.trunk(observations), noise, progress)
        return parameters
