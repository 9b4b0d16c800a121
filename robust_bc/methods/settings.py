"""What a method can be told: settings that refuse a wrong value by name."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import get_type_hints

from robust_bc.data.normalisation import ActionScaling
from robust_bc.data.typed import MisfitError, converted
from robust_bc.errors import RobustBCError

LARGEST = 1e30
"""Of a setting that is a float: its square, and that times another's, are still numbers."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every method can be told."""

    action_scaling: ActionScaling = "standard"
    """Actions are centred and scaled by mean and deviation, or robustly by median and MAD."""

    def __post_init__(self) -> None:
        _check_types(self)

    @property
    def peers(self) -> int:
        """Networks that make up one member; they stand side by side in the fleet and their actions are averaged."""
        return 1

    def require(self, name: str, holds: bool, expected: str) -> None:
        """An error that names the setting unless the condition holds."""
        if not holds:
            raise RobustBCError(f"setting '{name}' must be {expected}, but it is {getattr(self, name)!r}.")

    def require_at_least(self, least: int, *names: str) -> None:
        for name in names:
            self.require(name, getattr(self, name) >= least, f"at least {least}")

    def require_positive(self, *names: str) -> None:
        for name in names:
            self.require(name, getattr(self, name) > 0, "above 0")

    def require_not_negative(self, *names: str) -> None:
        for name in names:
            self.require(name, getattr(self, name) >= 0, "0 or more")

    def require_share(self, *names: str) -> None:
        for name in names:
            self.require(name, 0 <= getattr(self, name) <= 1, "between 0 and 1")


def _check_types(settings: Settings) -> None:
    """Refuse a value of the wrong type by name, and make 1 a float and [64, 64] a tuple where that is meant."""
    hints = get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        try:
            value = converted(hints[field.name], getattr(settings, field.name), field.name)
        except MisfitError as problem:
            raise RobustBCError(f"setting {problem}.") from None
        object.__setattr__(settings, field.name, value)
        if isinstance(value, float):
            settings.require(field.name, abs(value) <= LARGEST, f"at most {LARGEST:g} in size")
