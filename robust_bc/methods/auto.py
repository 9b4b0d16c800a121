"""`auto`: an audit, and then the method that suits what is left; `training/choosing.py` has the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from robust_bc.errors import RobustBCError
from robust_bc.methods.base import Method
from robust_bc.methods.settings import Settings
from robust_bc.networks.model import Model


@dataclass(frozen=True, kw_only=True)
class AutoSettings(Settings):
    """What all methods have, and nothing else."""


class Auto(Method[AutoSettings]):
    """Chooses for each set of demonstrations; the policy is one of the method that was chosen."""

    name = "auto"
    summary = "an audit, and then the method that suits what is left; assumes that most demonstrations are good"
    when = "for a start, and when you do not know which method to take"
    settings_type = AutoSettings
    cleans = True
    elsewhere = "; name a method to set more"

    def empty(
        self, settings: AutoSettings, members: int, observations: int, actions: int, tensors: Mapping[str, Tensor]
    ) -> Model:
        raise RobustBCError(f"'{self.name}' has no policies of its own; they are of the method that it chose.")
