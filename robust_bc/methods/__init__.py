"""The registry of methods: one line each, and the command line, benchmarks and contract tests follow."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

from robust_bc.errors import RobustBCError

if TYPE_CHECKING:
    from robust_bc.methods.base import Method

AUTO = "auto"
"""The method that chooses among the others; what is fitted unless a method is named."""

# Named, not imported: whoever only lists or checks names does not wait for torch.
_REGISTRY = {
    AUTO: "robust_bc.methods.auto:Auto",
    "mlp": "robust_bc.methods.mlp:MLP",
    "mdn": "robust_bc.methods.mdn:MDN",
    "choicenet": "robust_bc.methods.choicenet:ChoiceNet",
    "l1": "robust_bc.methods.baselines.l1:L1",
    "tukey": "robust_bc.methods.baselines.tukey:Tukey",
    "tukey-pair": "robust_bc.methods.baselines.tukey_pair:TukeyPair",
    "trimmed": "robust_bc.methods.baselines.trimmed:Trimmed",
    "co-teaching": "robust_bc.methods.baselines.co_teaching:CoTeaching",
    "bcnd": "robust_bc.methods.baselines.bcnd:BCND",
    "density-power": "robust_bc.methods.baselines.density_power:DensityPower",
    "background": "robust_bc.methods.baselines.background:Background",
    "gpr": "robust_bc.methods.gpr:GPR",
    "lgpr": "robust_bc.methods.lgpr:LGPR",
    "rgpr": "robust_bc.methods.rgpr:RGPR",
}


def method_names() -> tuple[str, ...]:
    """All methods that can be fitted, in the order in which tables show them."""
    return tuple(_REGISTRY)


def check_method(name: str) -> str:
    """The name itself, or an error that lists the known ones."""
    if name not in _REGISTRY:
        close = difflib.get_close_matches(str(name), _REGISTRY, n=1)
        meant = f" (did you mean '{close[0]}'?)" if close else ""
        raise RobustBCError(f"there is no method '{name}'{meant}; the methods are: {', '.join(_REGISTRY)}.")
    return name


def get_method(name: str) -> Method[Any]:
    """The method of that name."""
    module, _, attribute = _REGISTRY[check_method(name)].partition(":")
    method: Method[Any] = getattr(importlib.import_module(module), attribute)()
    return method
