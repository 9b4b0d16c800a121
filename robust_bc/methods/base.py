"""What a method is: settings, a head and a loss. The training loop knows nothing else of it."""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from torch import Tensor

from robust_bc.errors import RobustBCError
from robust_bc.fleet.network import Activation, Fleet, Head, Trunk
from robust_bc.losses import LossTerms
from robust_bc.mixture import MixtureParameters
from robust_bc.normalisation import ActionScaling


@dataclass(frozen=True, kw_only=True)
class Settings:
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
    action_scaling: ActionScaling = "standard"
    """Actions are centred and scaled by mean and deviation, or robustly by median and MAD."""
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
        _check_types(self)
        _require(self, "hidden", all(width >= 1 for width in self.hidden), "widths of at least 1")
        for name in ("steps", "batch_size", "evaluate_every", "restarts"):
            _require(self, name, getattr(self, name) >= 1, "at least 1")
        _require(self, "patience", self.patience >= 0, "0 or more")
        self.require_positive("learning_rate")
        self.require_not_negative("weight_decay")
        _require(self, "held_out", 0 < self.held_out < 1, "between 0 and 1, both excluded")

    @property
    def needs_held_out(self) -> bool:
        return self.early_stopping or self.restarts > 1

    def require_positive(self, *names: str) -> None:
        for name in names:
            _require(self, name, getattr(self, name) > 0, "above 0")

    def require_not_negative(self, *names: str) -> None:
        for name in names:
            _require(self, name, getattr(self, name) >= 0, "0 or more")

    def require_share(self, *names: str) -> None:
        for name in names:
            _require(self, name, 0 <= getattr(self, name) <= 1, "between 0 and 1")


SettingsType = TypeVar("SettingsType", bound=Settings)


class Method(ABC, Generic[SettingsType]):
    """A way to learn: adding one takes a subclass in a file of its own and a line in the registry."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line: what it assumes and when to use it."""
    settings_type: ClassVar[type[Settings]]
    part_names: ClassVar[tuple[str, ...]]
    """The named parts of the loss, in the order in which the history shows them."""

    def settings(self, given: dict[str, Any]) -> SettingsType:
        """Settings with these values, checked; an unknown name is an error that lists the known ones."""
        known = [field.name for field in dataclasses.fields(self.settings_type)]
        for name in given:
            if name not in known:
                raise RobustBCError(f"method '{self.name}' has no setting '{name}'; it has: {', '.join(known)}.")
        return self.settings_type(**given)  # type: ignore[return-value]

    def fleet(self, settings: SettingsType, members: int, observations: int, actions: int) -> Fleet:
        """The networks, not yet initialised."""
        trunk = Trunk(members, observations, settings.hidden, settings.activation)
        return Fleet(trunk, self.head(settings, members, trunk.outputs, actions))

    @abstractmethod
    def head(self, settings: SettingsType, members: int, features: int, actions: int) -> Head:
        """The part after the trunk."""

    @abstractmethod
    def loss(
        self, settings: SettingsType, parameters: MixtureParameters, actions: Tensor, progress: float
    ) -> LossTerms:
        """What to minimise for normalised actions (M, D, B)."""

    @abstractmethod
    def held_out_score(self, parameters: MixtureParameters, actions: Tensor) -> Tensor:
        """How badly the finished mixture explains each held-out pair, (M, B): smaller is better."""


def _require(settings: Settings, name: str, holds: bool, expected: str) -> None:
    if not holds:
        raise RobustBCError(f"setting '{name}' must be {expected}, but it is {getattr(settings, name)!r}.")


def _check_types(settings: Settings) -> None:
    """Refuse a value of the wrong type by name, and make 1 a float and [64, 64] a tuple where that is meant."""
    hints = get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        value, expected = getattr(settings, field.name), hints[field.name]
        converted = _convert(value, expected)
        if converted is None:
            raise RobustBCError(f"setting '{field.name}' must be {_describe(expected)}, but it is {value!r}.")
        object.__setattr__(settings, field.name, converted)


def _convert(value: Any, expected: Any) -> Any:
    """The value as the expected type, or None if it is not one."""
    if get_origin(expected) is Literal:
        return value if value in get_args(expected) else None
    if get_origin(expected) is tuple:
        if not isinstance(value, list | tuple):
            return None
        items = [_convert(item, get_args(expected)[0]) for item in value]
        return None if None in items else tuple(items)
    if expected is bool or isinstance(value, bool):
        return value if expected is bool and isinstance(value, bool) else None
    if expected is float:
        return float(value) if isinstance(value, numbers.Real) and math.isfinite(value) else None
    return int(value) if isinstance(value, numbers.Integral) else None


def _describe(expected: Any) -> str:
    if get_origin(expected) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(expected))
    if get_origin(expected) is tuple:
        return "a sequence of whole numbers"
    return {int: "a whole number", float: "a finite number", bool: "true or false"}.get(expected, str(expected))
