"""Methods that train networks: a head and a loss. The training loop knows nothing else of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.errors import RobustBCError
from robust_bc.methods.base import Method
from robust_bc.methods.settings import Settings
from robust_bc.networks.gates import Gate
from robust_bc.networks.losses import LossTerms
from robust_bc.networks.mixture import MixtureParameters
from robust_bc.networks.network import Activation, Fleet, Head, Trunk
from robust_bc.system.seeding import Index, MemberSeed


@dataclass(frozen=True)
class Budget:
    """How wide a network is, and how long it trains."""

    hidden: tuple[int, ...]
    steps: int
    batch_size: int


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(Settings):
    """What every neural method can be told; each has the same defaults, so that comparisons are fair.

    Where `hidden`, `steps` or `batch_size` is None, it follows from the number of pairs.
    """

    hidden: tuple[int, ...] | None = None
    """Widths of the trunk's hidden layers."""
    activation: Activation = "relu"
    """Non-linearity of the trunk."""
    steps: int | None = None
    """Optimiser steps; steps x batch_size / pairs is the number of passes over the data."""
    batch_size: int | None = None
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
        self.require("hidden", all(width >= 1 for width in self.hidden or ()), "widths of at least 1")
        given = [name for name in ("steps", "batch_size") if getattr(self, name) is not None]
        self.require_at_least(1, *given, "evaluate_every", "restarts")
        self.require_not_negative("patience", "weight_decay")
        self.require_positive("learning_rate")
        self.require("held_out", 0 < self.held_out < 1, "between 0 and 1, both excluded")

    @property
    def budget(self) -> Budget:
        """Once the number of pairs is known, or all three are given."""
        if self.hidden is None or self.steps is None or self.batch_size is None:
            raise RobustBCError("the settings 'hidden', 'steps' and 'batch_size' are not all given.")
        return Budget(self.hidden, self.steps, self.batch_size)

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
        if settings.hidden is None:
            raise RobustBCError("setting 'hidden' is not given.")
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
