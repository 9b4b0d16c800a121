"""Methods that train networks: a head and a loss. The training loop knows nothing else of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.methods.base import Method
from robust_bc.methods.settings import Settings
from robust_bc.networks.gates import Gate
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.network import Activation, Fleet, Head, Trunk
from robust_bc.system.seeding import Index, MemberSeed


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(Settings):
    """What every neural method can be told; each has the same defaults, so that comparisons are fair."""

    hidden: tuple[int, ...] = (64, 64)
    """Widths of the trunk's hidden layers."""
    activation: Activation = "relu"
    """Non-linearity of the trunk."""
    steps: int = 2000
    """Optimiser steps; for large data think of steps x batch_size / pairs as the number of passes."""
    batch_size: int = 128
    """Pairs per step, drawn with replacement."""
    learning_rate: float = 1e-3
    """Adam's learning rate at the start; it falls to zero along a cosine."""
    weight_decay: float = 0.0
    """Decoupled weight decay (AdamW)."""
    held_out: float = 0.2
    """Share of the (corrupt) demonstrations that is kept from training to judge restarts and stopping, whole episodes
    where there are enough; used only when one of the two is on. At most 5,000 of these pairs are looked at."""
    early_stopping: bool = False
    """Keep the weights that were best on the held-out pairs, instead of the last ones."""
    patience: int = 0
    """With early stopping: give a member up after this many evaluations without progress; 0 never does."""
    evaluate_every: int = 50
    """Steps between two looks at the held-out pairs."""
    restarts: int = 1
    """Networks trained per member from different starts; the one that explains the held-out pairs best is kept."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("hidden", all(width >= 1 for width in self.hidden), "widths of at least 1")
        self.require_at_least(1, "steps", "batch_size", "evaluate_every", "restarts")
        self.require_not_negative("patience", "weight_decay")
        self.require_positive("learning_rate")
        self.require("held_out", 0 < self.held_out < 1, "between 0 and 1, both excluded")

    @property
    def needs_held_out(self) -> bool:
        return self.early_stopping or self.restarts > 1

    @property
    def rounds(self) -> int:
        """Parts of training, all of the same length; before each but the first, pairs are weighed anew."""
        return 1


NetworkSettingsType = TypeVar("NetworkSettingsType", bound=NetworkSettings)


class NetworkMethod(Method[NetworkSettingsType]):
    """A trunk that all methods share, a head and a loss; where needed, peers and a rule that weighs pairs."""

    part_names: ClassVar[tuple[str, ...]]
    """The named parts of the loss, in the order in which the history shows them."""

    def fleet(self, settings: NetworkSettingsType, members: int, observations: int, actions: int) -> Fleet:
        """The networks, not yet initialised."""
        trunk = Trunk(members, observations, settings.hidden, settings.activation)
        return Fleet(trunk, self.head(settings, members, trunk.outputs, actions), self.gate(settings, members))

    def empty(
        self,
        settings: NetworkSettingsType,
        members: int,
        observations: int,
        actions: int,
        tensors: Mapping[str, Tensor],
    ) -> Fleet:
        return self.fleet(settings, members, observations, actions)

    @abstractmethod
    def head(self, settings: NetworkSettingsType, members: int, features: int, actions: int) -> Head:
        """The part after the trunk."""

    def gate(self, settings: NetworkSettingsType, members: int) -> Gate | None:
        """What weighs the mixtures, where that is not the head itself."""
        return None

    def gate_by_episode(self, settings: NetworkSettingsType) -> bool:
        """Whether the gate has weights for each episode, or one set for all."""
        return False

    @abstractmethod
    def loss(
        self, settings: NetworkSettingsType, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        """What to minimise for normalised actions (M, D, B)."""

    @abstractmethod
    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        """How badly the finished mixture explains each held-out pair, (M, B): smaller is better."""

    def share_out(self, settings: NetworkSettingsType, rows: Index, seed: MemberSeed) -> Sequence[Index]:
        """Which of a member's training rows each of its peers learns from; all of them, unless said otherwise."""
        return [rows] * settings.peers

    def pair_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        """What a network says about each pair before a new round, (M, B); for methods with rounds."""
        raise NotImplementedError(f"method '{self.name}' has no rounds")

    def weights(self, settings: NetworkSettingsType, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """How often each pair of a member is shown to each of its peers in the next round, (P, N), from (P, N)."""
        raise NotImplementedError(f"method '{self.name}' has no rounds")
