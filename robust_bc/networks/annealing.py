"""A variance that falls while training goes on (graduated non-convexity), for every member at its own pace."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class AnnealedVariance(nn.Module):
    """τ⁻¹: geometrically from `start` to `end` over so many passes, or over a share of training where that is less."""

    def __init__(self, members: int, *, end: float, start: float, passes: float, share: float) -> None:
        super().__init__()
        self.end = end
        self.start = start
        self.passes = passes
        self.share = share
        # Share of training over which each member's variance falls. Not saved: afterwards it is at its end.
        self.anneal: Tensor
        self.register_buffer("anneal", torch.full((members, 1, 1, 1), share), persistent=False)

    def prepare(self, passes: Tensor) -> None:
        """Training is about to begin, and each member will see its pairs so many times, (M,)."""
        self.anneal = (self.passes / passes).clamp_max(self.share)[:, None, None, None]

    def forward(self, progress: float) -> Tensor:
        """The variance of each member after this share of training, (M, 1, 1, 1)."""
        left = torch.where(self.anneal > progress, 1 - progress / self.anneal, 0.0)
        return torch.exp(left * math.log(self.start) + (1 - left) * math.log(self.end))
