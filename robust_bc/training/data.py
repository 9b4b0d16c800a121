"""The data of a fleet: one pool of normalised pairs, and for every member which of them it trains on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.normalisation import Normalisation
from robust_bc.errors import RobustBCError
from robust_bc.system.seeding import Index, MemberSeed, Purpose

ShareOut = Callable[[Index, MemberSeed], Sequence[Index]]
"""Which of a member's training rows each of its peers learns from."""
Odds = NDArray[np.float64]
"""(N,) rising to 1: where a uniform number falls tells which training row of a network is drawn."""

HELD_OUT_LIMIT = 5000
"""More held-out pairs than this would make evaluation slow without making it better."""
FEWEST_EPISODES_TO_SPLIT = 5
"""With fewer episodes than this, single pairs are held out instead of whole episodes."""


@dataclass(frozen=True, eq=False)
class FleetData:
    """Pairs of all demonstrations side by side; members index into them, so ensembles copy nothing."""

    observations: Tensor  # (ΣN, S) on the device
    actions: Tensor  # (ΣN, D)
    episodes: Index  # (ΣN,), counted from 0 in each demonstrations
    training: list[Index]  # per network, rows of the pool
    held_out: Tensor | None  # (M, V) rows of the pool on the device, short members filled up by repetition
    held_out_share: Tensor | None  # (M, V) weight of each in its member's mean; 0 for the filling
    live: Tensor | None = None  # (M, D, 1), which dimensions of a member's actions are not constant; None if none is

    def for_gate(self, by_episode: bool) -> tuple[Tensor, Tensor]:
        """For each pair of the pool the episode that it is of, and how many training pairs each network has of each.

        (ΣN,) and (M, E); a held-out episode has none. For a gate that is for all pairs together, all are of one.
        """
        episodes = self.episodes if by_episode else np.zeros_like(self.episodes)
        count = int(episodes.max()) + 1
        sizes = np.stack([np.bincount(episodes[rows], minlength=count) for rows in self.training])
        device = self.observations.device
        return torch.from_numpy(episodes).to(device), torch.from_numpy(sizes.astype(np.float32)).to(device)


@dataclass(frozen=True, eq=False)
class Block:
    """The random part of some consecutive steps, drawn at once and moved to the device in one copy."""

    rows: Tensor  # (C, M, B) rows of the pool
    noise: Tensor | None  # (C, M, ...) standard normal


def make_fleet_data(
    demonstrations: Sequence[Demonstrations],
    normalisations: Sequence[Normalisation],
    members: Sequence[tuple[int, MemberSeed]],
    held_out_share: float | None,
    share_out: ShareOut,
    device: torch.device,
) -> FleetData:
    """The pool and the splits; a network is (which demonstrations, its seed)."""
    observations = [n.observations.forward(d.observations) for d, n in zip(demonstrations, normalisations, strict=True)]
    actions = [n.actions.forward(d.actions) for d, n in zip(demonstrations, normalisations, strict=True)]
    episodes = [np.unique(d.episodes, return_inverse=True)[1] for d in demonstrations]
    starts = np.cumsum([0, *(len(d) for d in demonstrations)])
    splits: dict[tuple[int, ...], tuple[Index, Index]] = {}  # restarts share theirs, and without a share all do
    training: list[Index] = []
    held_out: list[Index] = []
    for which, seed in members:
        key = (which,) if held_out_share is None else (which, seed.seed, seed.member)
        if key not in splits:
            kept, out = split(demonstrations[which].episodes, held_out_share, seed)
            splits[key] = starts[which] + kept, starts[which] + out
        training.append(share_out(splits[key][0], seed)[seed.peer])
        held_out.append(splits[key][1])
    live = np.stack([normalisations[which].actions.scale > 0 for which, _ in members])[:, :, None]
    rows, share = _pad(held_out) if held_out_share is not None else (None, None)
    return FleetData(
        observations=torch.from_numpy(np.concatenate(observations)).to(device),
        actions=torch.from_numpy(np.concatenate(actions)).to(device),
        episodes=np.concatenate(episodes),
        training=training,
        held_out=None if rows is None else rows.to(device),
        held_out_share=None if share is None else share.to(device),
        live=None if live.all() else torch.from_numpy(live).to(device),
    )


def split(episodes: Index, share: float | None, seed: MemberSeed) -> tuple[Index, Index]:
    """Rows to train on and rows to hold out.

    Whole episodes go together where there are enough of them: neighbours in an episode are alike, and a held-out
    pair whose neighbour was trained on would not tell memory from learning.
    """
    pairs = len(episodes)
    everything = np.arange(pairs)
    if share is None:
        return everything, everything[:0]
    wanted = min(round(share * pairs), pairs - 1)
    if wanted < 1:
        raise RobustBCError(
            f"held_out={share} of {pairs} pairs leaves nothing to judge by;"
            " give more demonstrations, or use neither restarts nor early_stopping."
        )
    stream = seed.stream(Purpose.SPLIT)
    names, unit, sizes = np.unique(episodes, return_inverse=True, return_counts=True)
    if FEWEST_EPISODES_TO_SPLIT <= len(names) < pairs:
        order = stream.permutation(len(names))
        # As many whole episodes as come closest to the share, but at least one and never all.
        count = int(np.argmin(np.abs(np.cumsum(sizes[order])[:-1] - wanted))) + 1
        out = np.isin(unit, order[:count])
        judges = stream.permutation(everything[out])[:HELD_OUT_LIMIT]  # of all these episodes, not of the first
        return everything[~out], np.sort(judges)
    out = np.isin(everything, stream.permutation(pairs)[: min(wanted, HELD_OUT_LIMIT)])
    return everything[~out], everything[out]


def odds_of(weights: NDArray[np.float64]) -> Odds:
    """Cumulative shares of weights (N,); where nothing is left to choose by, all pairs count alike."""
    total = weights.sum()
    if not (np.isfinite(total) and total > 0):
        weights, total = np.ones_like(weights), float(len(weights))
    return np.asarray(np.cumsum(weights) / total)


def draw_block(
    data: FleetData,
    seeds: Sequence[MemberSeed],
    index: int,
    steps: int,
    batch: int,
    noise_shape: tuple[int, ...],
    device: torch.device,
    odds: Sequence[Odds] | None = None,
) -> Block:
    """Batches and noise of block `index`; each network draws from its own stream, all its pairs alike or by `odds`."""
    rows = np.empty((steps, len(seeds), batch), dtype=np.int64)
    noise = np.empty((steps, len(seeds), *noise_shape), dtype=np.float32) if noise_shape else None
    for member, (seed, mine) in enumerate(zip(seeds, data.training, strict=True)):
        stream = seed.stream(Purpose.TRAIN, index)
        if odds is None:
            rows[:, member] = mine[stream.integers(len(mine), size=(steps, batch))]
        else:
            drawn = np.searchsorted(odds[member], stream.random((steps, batch)), side="right")
            rows[:, member] = mine[np.minimum(drawn, len(mine) - 1)]
        if noise is not None:
            noise[:, member] = stream.standard_normal((steps, *noise_shape), dtype=np.float32)
    return Block(
        rows=_to_device(rows, device),
        noise=None if noise is None else _to_device(noise, device),
    )


def _to_device(values: NDArray[Any], device: torch.device) -> Tensor:
    """Without waiting only from pinned memory: an ordinary array may be gone before the device has read it."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def _pad(held_out: Sequence[Index]) -> tuple[Tensor, Tensor]:
    """Rows of unequal number as one array, with weights that make a plain weighted sum the mean."""
    longest = max(len(rows) for rows in held_out)
    padded = np.stack([np.resize(rows, longest) for rows in held_out])
    share = np.stack([(np.arange(longest) < len(rows)) / len(rows) for rows in held_out])
    return torch.from_numpy(padded), torch.from_numpy(share.astype(np.float32))
