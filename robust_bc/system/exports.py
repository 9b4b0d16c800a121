"""Public names that are imported the first time they are asked for: nobody waits for what he does not use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from robust_bc.system.extras import extras_named


def public(package: str, exports: Mapping[str, str], others: tuple[str, ...] = ()) -> Callable[[str], Any]:
    """A package's `__getattr__`, from each name to the module that has it."""

    def get(name: str) -> Any:
        if name not in exports:
            known = ", ".join(sorted([*exports, *others]))
            raise AttributeError(f"module '{package}' has no attribute '{name}'; it has: {known}")
        with extras_named():
            return getattr(importlib.import_module(exports[name]), name)

    return get
