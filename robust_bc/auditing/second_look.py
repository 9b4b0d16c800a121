"""A second look at single pairs by two Gaussian processes, which know how little they know of rare states.

The networks' verdicts are right nearly everywhere, but where few pairs are, such as in the first steps of a walk, they
forgive what they cannot tell, and a few bad pairs there are enough to make a walker fall. So two Gaussian processes,
one of the pairs that are trusted and one of those that are not, are asked about each pair without that pair itself
(`duel` has the equations), and what they say is taken up for some steps of expectation maximisation. A pair that one of
them explains belongs to it; of what neither explains, those are good that the networks are sure of:

    quality = P(trusted) + P(neither)·[quality of the networks > SURE]

Where strangers have states of their own, nothing holds the two functions apart there, so that they drift: there are few
steps then. The kernel is a squared exponential and a line, for policies go on beyond what was seen more like a line
than like a constant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from robust_bc.auditing.duel import FEWEST, maximise
from robust_bc.demonstrations import Demonstrations
from robust_bc.normalisation import Affine

Floats = NDArray[np.float64]

MOST = 1500
"""Pairs above which there is no second look: its work grows with their cube, and the networks have seen more of rare
states."""
WIDTH, LINE = 0.7, 0.3
"""Of the kernel: its width in medians of the distance of two states, and the weight of the line."""
NEITHER = 0.02
"""Share of each pair that neither function owns at first."""
NOISE = 0.05
SURE = 0.95
"""Random actions in rare states are forgiven by the networks, and explained by neither function."""
STEPS, STEPS_WITH_STRANGERS = 15, 2


def look_again(pairs: Demonstrations, quality: Floats, strangers: bool) -> Floats:
    """(N,) the quality of single pairs anew, from what the networks say, (N,)."""
    actions = Affine.of(pairs.actions).forward(pairs.actions)
    live = np.ptp(actions, axis=0) > 0
    suspects = float((1 - quality).sum())
    if not FEWEST <= len(pairs) <= MOST or not live.any() or suspects < 1 or suspects > len(pairs) / 2:
        return quality
    states = Affine.of(pairs.observations).forward(pairs.observations)
    squared = cdist(states, states, "sqeuclidean")
    width = WIDTH**2 * float(np.median(squared))
    if width <= 0:
        return quality
    kernel = np.exp(-squared / (2 * width)) + LINE * (states @ states.T) / states.shape[1]
    owners = np.stack([quality * (1 - NEITHER), (1 - quality) * (1 - NEITHER), np.full(len(quality), NEITHER)])
    steps = STEPS_WITH_STRANGERS if strangers else STEPS
    stand = maximise(kernel.astype(np.float32), actions[:, live].astype(np.float32), owners, NOISE, steps, power=1.0)
    return np.asarray(np.clip(stand.owners[0] + stand.owners[2] * (quality > SURE), 0, 1), np.float64)
