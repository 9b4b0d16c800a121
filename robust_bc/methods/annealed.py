"""Settings of methods with a target whose variance τ⁻¹ falls while training goes on."""

from __future__ import annotations

from dataclasses import dataclass

from robust_bc.methods.network import NetworkSettings
from robust_bc.networks.annealing import AnnealedVariance


@dataclass(frozen=True, kw_only=True)
class AnnealedSettings(NetworkSettings):
    """What they can be told of τ⁻¹; each has the same defaults, so that comparisons are fair."""

    tau_inverse: float = 1e-2
    """τ⁻¹, variance of the target in units of the normalised actions."""
    tau_inverse_start: float = 1.0
    """τ⁻¹ at the start of training; equal to `tau_inverse`, it is not annealed."""
    tau_passes: float = 100.0
    """Passes over the pairs during which τ⁻¹ falls geometrically from its start (graduated non-convexity). After too
    few the target has not yet found what most pairs say; after too many it knows the bad ones by heart."""
    tau_anneal: float = 0.6
    """τ⁻¹ reaches its end after this share of training at the latest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("tau_inverse", "tau_inverse_start")
        self.require_not_negative("tau_passes")
        self.require_share("tau_anneal")

    def annealed_variance(self, members: int) -> AnnealedVariance:
        """τ⁻¹ of so many members."""
        return AnnealedVariance(
            members,
            end=self.tau_inverse,
            start=self.tau_inverse_start,
            passes=self.tau_passes,
            share=self.tau_anneal,
        )
