"""What a method is: settings, and a model that a policy holds."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from torch import Tensor

from robust_bc.errors import RobustBCError
from robust_bc.methods.settings import Settings
from robust_bc.networks.model import Model

SettingsType = TypeVar("SettingsType", bound=Settings)


class Method(ABC, Generic[SettingsType]):
    """A way to learn: adding one takes a subclass in a file of its own and a line in the registry.

    Networks that are trained step by step are a `NetworkMethod`; what is computed in one go is a `DirectMethod`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line: what it is and what it assumes."""
    when: ClassVar[str]
    """When to use it."""
    settings_type: ClassVar[type[Settings]]
    revision: ClassVar[int] = 0
    """Counted up when what it learns changes by code that no setting tells of; benchmarks then compute it anew."""
    robust: ClassVar[bool] = True
    """Whether it claims to stand bad demonstrations; whoever does is held to it by the contract tests."""
    cleans: ClassVar[bool] = False
    """Whether an audit cleans the demonstrations before, unless that is refused."""
    elsewhere: ClassVar[str] = ""
    """Where there are more settings, for whoever asks for one that there is not."""

    def settings(self, given: dict[str, Any]) -> SettingsType:
        """Settings with these values, checked; an unknown name is an error that lists the known ones."""
        known = [field.name for field in dataclasses.fields(self.settings_type)]
        for name in given:
            if name not in known:
                listed = ", ".join(known) + self.elsewhere
                raise RobustBCError(f"method '{self.name}' has no setting '{name}'; it has: {listed}.")
        return self.settings_type(**given)  # type: ignore[return-value]

    def check(self, settings: SettingsType, pairs: int) -> None:
        """An error in one sentence if so many pairs cannot be learned from; asked before anything is written."""

    @abstractmethod
    def empty(
        self, settings: SettingsType, members: int, observations: int, actions: int, tensors: Mapping[str, Tensor]
    ) -> Model:
        """A model into which these tensors of a saved one can be loaded; `members` is its own number of them."""
