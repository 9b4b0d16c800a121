"""The variants of an ablation: ChoiceNet with one setting changed, its relatives, and the oracle."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from robust_bc.methods import get_method
from robust_bc_benchmarks.contenders import ORACLE, find_contender

CHOICENET = "choicenet"
DEFAULT = "choicenet, defaults"
"""What every variant is compared with."""


@dataclass(frozen=True)
class Variant:
    """A line of the table: who is fitted, and with which settings beside the defaults."""

    label: str
    settings: dict[str, Any] = field(default_factory=dict)
    method: str = CHOICENET


VARIANTS = (
    Variant(DEFAULT),
    # λ_KL; the authors' value is the first.
    Variant("λ_KL = 1e-6", {"kl_weight": 1e-6}),
    Variant("λ_KL = 0.1", {"kl_weight": 0.1}),
    Variant("λ_KL = 1", {"kl_weight": 1.0}),
    Variant("λ_KL = 5", {"kl_weight": 5.0}),
    # τ⁻¹: its value, how it falls, and whether.
    Variant("τ⁻¹ = 0.001", {"tau_inverse": 1e-3}),
    Variant("τ⁻¹ = 0.003", {"tau_inverse": 3e-3}),
    Variant("τ⁻¹ = 0.03", {"tau_inverse": 3e-2}),
    Variant("τ⁻¹ = 0.1", {"tau_inverse": 0.1}),
    Variant("τ⁻¹ falling over 30 passes", {"tau_passes": 30.0}),
    Variant("τ⁻¹ falling over 300 passes", {"tau_passes": 300.0}),
    Variant("τ⁻¹ not annealed", {"tau_passes": 0.0}),
    Variant("K = 2", {"mixtures": 2}),
    Variant("K = 10", {"mixtures": 10}),
    # λ_L2 and its schedule.
    Variant("λ_L2 = 0", {"l2_weight": 0.0}),
    Variant("λ_L2 = 1", {"l2_weight": 1.0}),
    Variant("λ_L2 = 0.1 falling over half of training", {"l2_anneal": 0.5}),
    Variant("λ_L2 = 1 falling over half of training", {"l2_weight": 1.0, "l2_anneal": 0.5}),
    Variant("λ_L2 = 0.1 constant", {"l2_weight_end": 0.1}),
    Variant("σ_Z² = 1/e", {"sigma_z": math.exp(-0.5)}),
    Variant("σ_Z = 3", {"sigma_z": 3.0}),
    # The authors' code: no negative ρ, and a target that goes through the block.
    Variant("ρ by sigmoid", {"correlation": "sigmoid"}),
    Variant("ρ_1 = 0.95", {"target_correlation": 0.95}),
    Variant("ρ by sigmoid, ρ_1 = 0.95", {"correlation": "sigmoid", "target_correlation": 0.95}),
    Variant("no ρ: background", method="background"),
    Variant("noise=local", {"noise": "local"}),
    Variant("noise=shared", {"noise": "shared"}),
    Variant("early stopping", {"early_stopping": True}),
    Variant("restarts=4", {"restarts": 4}),
    Variant("action_scaling=robust", {"action_scaling": "robust"}),
    # What stopping does for the others.
    Variant("mlp", method="mlp"),
    Variant("mlp, early stopping", {"early_stopping": True}, "mlp"),
    Variant("mdn", method="mdn"),
    Variant("mdn, early stopping", {"early_stopping": True}, "mdn"),
    Variant("oracle (mlp on clean pairs)", method=ORACLE),
    Variant("oracle, early stopping", {"early_stopping": True}, ORACLE),
)


def settings_of_variants(variants: Sequence[Variant]) -> dict[str, Any]:
    """Everything that each line is fitted with, as plain objects."""
    found = {}
    for variant in variants:
        resolved = get_method(find_contender(variant.method).method).settings(variant.settings)
        found[variant.label] = json.loads(json.dumps(dataclasses.asdict(resolved)))
    return found
