"""Between two rounds of training: what the networks say about all pairs decides how often each will be shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.networks.network import Fleet
from robust_bc.training.data import FleetData, Odds, odds_of

LARGEST_LOOK = 2**16
"""Pairs times networks of one forward pass."""


def make_odds(method: NetworkMethod[Any], settings: NetworkSettings, fleet: Fleet, data: FleetData) -> list[Odds]:
    """For every network the odds of its training pairs in the round that begins."""
    peers = settings.peers
    groups = [np.arange(first, first + peers) for first in range(0, len(data.training), peers)]
    pairs = [np.unique(np.concatenate([data.training[network] for network in group])) for group in groups]
    odds = []
    for group, mine, scores in zip(groups, pairs, _pair_scores(method, fleet, data, pairs, peers), strict=True):
        weights = method.weights(settings, scores)  # (P, N)
        for network, of_all in zip(group, weights, strict=True):
            odds.append(odds_of(of_all[np.searchsorted(mine, data.training[network])]))
    return odds


@torch.no_grad()
def _pair_scores(
    method: NetworkMethod[Any], fleet: Fleet, data: FleetData, pairs: list[NDArray[np.int64]], peers: int
) -> list[NDArray[np.float64]]:
    """What each network of a group says about each pair of the group, one (P, N) per group."""
    longest = max(len(rows) for rows in pairs)
    padded = np.repeat(np.stack([np.resize(rows, longest) for rows in pairs]), peers, axis=0)  # (M, N)
    part = max(1, LARGEST_LOOK // len(padded))
    found = []
    for start in range(0, longest, part):
        rows = torch.from_numpy(padded[:, start : start + part]).to(data.observations.device)
        parameters = fleet(data.observations[rows].transpose(1, 2))
        said = method.pair_score(parameters, data.actions[rows].transpose(1, 2))  # (M, B)
        found.append(said.cpu().numpy().astype(np.float64))
    everything = np.concatenate(found, axis=1).reshape(len(pairs), peers, longest)
    return [everything[group, :, : len(rows)] for group, rows in enumerate(pairs)]
