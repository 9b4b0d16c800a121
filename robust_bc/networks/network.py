"""A fleet: a trunk of shared shape and a head, for M members at once."""

from __future__ import annotations

import dataclasses
import itertools
from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from robust_bc.networks.gates import Gate
from robust_bc.networks.linear import FleetLinear
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.model import Chooser, Model, Rows

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

    def by_row(self) -> Chooser:
        """Observations (M, B, S) to features (M, B, Q), each row on its own: see `RowMap`."""
        layers = [layer.by_row() for layer in self.layers if isinstance(layer, FleetLinear)]
        # NumPy's tanh, too, is the same wherever a number stands; torch's is not.
        activation = np.tanh if self.activation is torch.tanh else _relu

        def features(rows: Rows) -> Rows:
            for layer in layers:
                rows = activation(layer(rows))
            return rows

        return features


class Head(nn.Module, ABC):
    """Features to a mixture; what is learned sits in its layers, everything else comes with the call."""

    def noise_shape(self, batch: int) -> tuple[int, ...]:
        """Shape of the standard-normal noise that one member wants for a training batch; () for none."""
        return ()

    def prepare(self, passes: Tensor) -> None:
        """Training is about to begin, and each member will see its pairs so many times, (M,)."""

    def settle(self, weights: Tensor) -> Tensor:
        """Put the mixture of the largest weight in the target's place, where that is possible; weights (M, C, 1)."""
        return weights

    @abstractmethod
    def forward(self, features: Tensor, noise: Tensor | None, progress: float) -> MixtureParameters:
        """The mixture at features (M, Q, B); `progress` is the share of training done, 1 afterwards."""

    @abstractmethod
    def by_row(self) -> Chooser:
        """From features (M, B, Q) to the one action to take, (M, B, D), each row on its own: see `RowMap`."""


class Fleet(Model):
    """M networks of the same architecture."""

    def __init__(self, trunk: Trunk, head: Head, gate: Gate | None = None) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = head
        self.gate = gate
        self.live: Tensor | None = None
        """While training, which dimensions of each member's actions tell pairs apart, (M, D, 1); None if all do."""

    @property
    def members(self) -> int:
        return int(next(self.parameters()).shape[0])

    def forward(
        self,
        observations: Tensor,
        noise: Tensor | None = None,
        progress: float = 1.0,
        episodes: Tensor | None = None,
    ) -> MixtureParameters:
        """With a gate, `episodes` (M, B) says where the observations are from."""
        parameters: MixtureParameters = self.head(self.trunk(observations), noise, progress)
        if self.live is not None:
            parameters = dataclasses.replace(parameters, live=self.live)
        return parameters if self.gate is None else self.gate(parameters, episodes)

    def settle(self) -> None:
        """Training is over: the target is what owns most pairs."""
        if self.gate is not None:
            self.gate.weights = self.head.settle(self.gate.weights)

    def by_row(self) -> Chooser:
        features, choose = self.trunk.by_row(), self.head.by_row()
        return lambda observations: choose(features(observations))


def _relu(rows: Rows) -> Rows:
    return np.maximum(rows, 0)
